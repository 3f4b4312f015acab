// Totals that never fall, the log's bound, and lines of metrics.
#include <gtest/gtest.h>

#include <string>

#include "base/log.h"
#include "base/metric_lines.h"
#include "base/monotonic_totals.h"

namespace ioc_exporter {
namespace {

using Totals = MonotonicTotals<std::string, 2, int>;
using Values = Totals::Values;

TEST(CounterGrowth, IsTheGrowthSinceTheLastLookOrAllOfACounterThatBeganAnew) {
  CounterGrowth<2> source;
  EXPECT_EQ(source.advance({5, 7}), (Values{5, 7}));
  EXPECT_EQ(source.advance({5, 7}), (Values{0, 0}));
  EXPECT_EQ(source.advance({5, 30}), (Values{0, 23}));
  EXPECT_EQ(source.last(), (Values{5, 30}));
  EXPECT_EQ(source.advance({4, 53}), (Values{4, 53}));
  EXPECT_EQ(source.advance({5, 53}), (Values{1, 0}));
  source.restart_at({3, 7});
  EXPECT_EQ(source.advance({26, 8}), (Values{23, 1}));
}

TEST(MonotonicTotals, SourcesOfOneKeyAddUpModulo64Bits) {
  Totals totals;
  totals.observe(1, "a", {5, 0});
  totals.observe(2, "a", {7, 1});
  totals.observe(1, "a", {6, 0});
  totals.observe(3, "b", {~std::uint64_t{0}, 0});
  totals.observe(4, "b", {24, 0});
  EXPECT_EQ(totals.totals(), (Totals::Totals{{"a", {13, 1}}, {"b", {23, 0}}}));
}

TEST(MonotonicTotals, ASourceOfAnotherKeyLeavesItsCountsBehind) {
  Totals totals;
  totals.observe(1, "a", {5, 0});
  totals.observe(1, "b", {28, 0});
  EXPECT_EQ(totals.totals(), (Totals::Totals{{"a", {5, 0}}, {"b", {23, 0}}}));
}

TEST(MonotonicTotals, SumsOnlyGrowWhenSourcesBeginAnewOrGo) {
  Totals totals;
  totals.observe(1, "a", {5, 2});
  totals.observe(1, "a", {3, 2});  // began anew
  EXPECT_EQ(totals.totals().at("a"), (Values{8, 4}));
  totals.close(1);
  EXPECT_TRUE(totals.sources().empty());
  EXPECT_EQ(totals.totals().at("a"), (Values{8, 4}));
  totals.observe(1, "a", {4, 2});  // another one
  EXPECT_EQ(totals.totals().at("a"), (Values{12, 6}));
  totals.observe(2, "a", {1, 0});
  totals.close(1);
  EXPECT_EQ(totals.sources().size(), 1u);
  EXPECT_EQ(totals.totals().at("a"), (Values{13, 6}));
}

TEST(MonotonicTotals, AKeyIsThereFromItsFirstGrowthOn) {
  Totals totals;
  totals.observe(1, "a", {0, 0});
  EXPECT_TRUE(totals.totals().empty());
  EXPECT_EQ(totals.sources().size(), 1u);
  totals.observe(1, "a", {0, 1});
  EXPECT_EQ(totals.totals().at("a"), (Values{0, 1}));
}

TEST(MonotonicTotals, SkippedValuesBelongToNoKey) {
  Totals totals;
  totals.pass_over(1, {5, 7});
  EXPECT_TRUE(totals.totals().empty());
  totals.observe(1, "a", {28, 7});
  EXPECT_EQ(totals.totals().at("a"), (Values{23, 0}));
}

TEST(MonotonicTotals, OverTheLimitOnlyExistingSeriesGrow) {
  Totals totals(1);
  totals.observe(1, "a", {5, 0});
  totals.observe(2, "b", {7, 1});
  totals.observe(2, "b", {8, 1});
  totals.observe(1, "a", {23, 0});
  EXPECT_EQ(totals.totals(), (Totals::Totals{{"a", {23, 0}}}));
  EXPECT_EQ(totals.overflowed(), (Values{8, 1}));
  totals.drop("a");
  totals.observe(2, "b", {10, 1});
  EXPECT_EQ(totals.totals(), (Totals::Totals{{"b", {2, 0}}}));
  EXPECT_EQ(totals.overflowed(), (Values{8, 1}));
}

TEST(MonotonicTotals, ADroppedKeyBeginsWithItsGrowth) {
  Totals totals;
  totals.observe(1, "a", {5, 0});
  totals.observe(2, "b", {7, 0});
  totals.drop_if([](const std::string& key) { return key == "a"; });
  EXPECT_EQ(totals.totals(), (Totals::Totals{{"b", {7, 0}}}));
  totals.observe(1, "a", {28, 0});
  EXPECT_EQ(totals.totals().at("a"), (Values{23, 0}));
}

TEST(LogBound, SaysHowManyWereLeftOut) {
  LogBound bound(3);
  const auto now = LogBound::Clock::now();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(bound.allows(now));
  for (int i = 0; i < 7; ++i) EXPECT_FALSE(bound.allows(now + LogBound::kWindow / 2));
  EXPECT_EQ(bound.take_left_out(), 0u) << "when it is over";
  EXPECT_TRUE(bound.allows(now + LogBound::kWindow));
  EXPECT_EQ(bound.take_left_out(), 7u);
  EXPECT_EQ(bound.take_left_out(), 0u);
}

// "name{label=value,...} value" of all that is taken, from two pieces.
std::vector<std::string> read(const std::string& text, std::size_t cut, std::string* problem) {
  std::vector<std::string> all;
  MetricLines lines({"a", "b_total"}, [&all](const MetricLine& series) {
    std::string one = series.name + "{";
    for (const auto& [name, value] : series.labels) one.append(name + "=" + value + ",");
    all.push_back(one + "} " + std::to_string(series.value));
  });
  (void)(lines.read(std::string_view(text).substr(0, cut)) &&
         lines.read(std::string_view(text).substr(cut)));
  *problem = lines.problem();
  return all;
}

TEST(MetricLines, AreReadHoweverTheyAreCut) {
  const std::string text =
      "# HELP a What.\n# TYPE a counter\n"
      "a 1\n"
      "a{} 2 1780000000000\n"
      "a{x=\"1\",y=\"}\\\\ \\\"q\\\" \\n, =\"} 3.5\r\n"
      "\n"
      "a_bucket{le=\"+Inf\"} nonsense that nobody wants\n"
      "b_total{x=\"\",} +Inf\n"
      "a\t-1e3\n";
  const std::vector<std::string> wanted = {"a{} 1.000000", "a{} 2.000000",
                                           "a{x=1,y=}\\ \"q\" \n, =,} 3.500000", "b_total{x=,} inf",
                                           "a{} -1000.000000"};
  std::string problem;
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    EXPECT_EQ(read(text, cut, &problem), wanted) << cut;
    EXPECT_EQ(problem, "") << cut;
  }
}

TEST(MetricLines, InvalidLinesAreReported) {
  std::string problem;
  for (const char* text :
       {"<html>\n", "a\n", "word\n", "a x\n", "a{x=1} 1\n", "a{x=\"1\n", "a{x=\"1\"y} 1\n",
        "a{=\"1\"} 1\n", "a{x=\"\\", "a 1 2\na{\n", "{x=\"1\"} 1\n"}) {
    (void)read(text, 0, &problem);
    EXPECT_FALSE(problem.empty()) << text;
  }
  (void)read("a 1\na 2", 3, &problem);
  EXPECT_EQ(problem, "a line is cut");
  (void)read("# nothing\n", 3, &problem);
  EXPECT_EQ(problem, "there are no metrics");
  (void)read("a{x=\"" + std::string(2 << 20, 'x'), 7, &problem);
  EXPECT_EQ(problem, "a line is longer than 1 MiB");
}

}  // namespace
}  // namespace ioc_exporter

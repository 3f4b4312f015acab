#include "exposition/exemplar_book.h"

#include <gtest/gtest.h>

#include <array>

#include "exposition/openmetrics_encoder.h"
#include "exposition/text_encoder.h"

namespace ioc_exporter::exposition {
namespace {

constexpr Family kSeconds{"x_seconds", FamilyType::histogram, "X."};
constexpr Family kTotal{"x_total", FamilyType::counter, "X."};

ExemplarBook::Note trace_of(std::string_view record, std::string_view trace, double seconds) {
  return {.family = kSeconds.name,
          .series = {{"ioc", "i"}, {"record", record}},
          .labels = {{"trace_id", trace}},
          .value = seconds,
          .time_seconds = 1790000300.25};
}

// The lines of one record's histogram, of those of A, B and so on.
template <class Format = OpenMetricsEncoder>
std::string encoded(const ExemplarBook& book) {
  Format encoder;
  encoder.use_exemplars(book.encoded(encoder));
  std::array<std::uint64_t, kPutHistogramSlots> buckets{};
  buckets[kPutScale.slot(0)] = 23;
  encoder.begin_histograms(kSeconds, *HistogramEdges::from({-4, 0, 4}, kPutScale));
  encoder.histogram(encoder.labels({{"ioc", "i"}, {"record", "A"}}), buckets, 23.5);
  encoder.histogram(encoder.labels({{"ioc", "i"}, {"record", "B"}}), buckets, 23.5);
  const std::string text = encoder.take();
  return text.substr(text.find("x_seconds_bucket"));
}

std::string lines_of(const std::string& record, const std::array<std::string, 4>& ends) {
  const std::string start = "x_seconds_bucket{ioc=\"i\",record=\"" + record + "\",le=\"";
  const std::string rest = "{ioc=\"i\",record=\"" + record + "\"} 23";
  return start + "0.5\"} 0" + ends[0] + "\n" + start + "1.0\"} 23" + ends[1] + "\n" + start +
         "2.0\"} 23" + ends[2] + "\n" + start + "+Inf\"} 23" + ends[3] + "\nx_seconds_sum" + rest +
         ".5\nx_seconds_count" + rest + "\n";
}

TEST(ExemplarBook, IsWrittenAtTheBucketThatCountedIt) {
  struct Case {
    double seconds;
    std::string text;
    std::size_t line;
  };
  for (const Case& one : {Case{0.1, "0.1", 0},
                          {0.5, "0.5", 0},
                          {0.75, "0.75", 1},
                          {1, "1", 1},
                          {1.5, "1.5", 2},
                          {2.5, "2.5", 3}}) {
    ExemplarBook book;
    book.note(trace_of("B", "0af7", one.seconds));
    std::array<std::string, 4> ends;
    ends[one.line] = " # {trace_id=\"0af7\"} " + one.text + " 1790000300.250000";
    EXPECT_EQ(encoded(book), lines_of("A", {}) + lines_of("B", ends) + "# EOF\n");
  }
}

TEST(ExemplarBook, HasTheLatestOfEachSeries) {
  ExemplarBook book;
  book.note(trace_of("B", "1", 0.1));
  book.note(trace_of("A", "2", 0.1));
  book.note(trace_of("B", "3", 1));
  const std::string text = encoded(book);
  EXPECT_EQ(text.find("trace_id=\"1\""), std::string::npos);
  EXPECT_EQ(text, lines_of("A", {" # {trace_id=\"2\"} 0.1 1790000300.250000"}) +
                      lines_of("B", {"", " # {trace_id=\"3\"} 1 1790000300.250000"}) + "# EOF\n");
}

TEST(ExemplarBook, FormatsWithoutExemplarsLeaveThemOut) {
  ExemplarBook book;
  const std::string without = encoded<TextEncoder>(book);
  book.note(trace_of("A", "1", 0.1));
  EXPECT_EQ(encoded<TextEncoder>(book), without);
}

TEST(ExemplarBook, ExemplarsFollowTheCounter) {
  ExemplarBook book;
  book.note({kTotal.name, {{"ioc", "i"}}, {{"seq", "77"}}, 1, 1790000300});
  OpenMetricsEncoder encoder;
  encoder.use_exemplars(book.encoded(encoder));
  encoder.begin_family(kTotal);
  encoder.count(encoder.labels({{"ioc", "i"}}), 23, CounterFacts{});
  encoder.count(encoder.labels({{"ioc", "j"}}), 5, CounterFacts{});
  EXPECT_EQ(encoder.take(),
            "# TYPE x counter\n# HELP x X.\n"
            "x_total{ioc=\"i\"} 23 # {seq=\"77\"} 1 1790000300.000000\n"
            "x_total{ioc=\"j\"} 5\n# EOF\n");
}

TEST(ExemplarBook, TheOldestOfAnIocGoFirst) {
  ExemplarBook book;
  for (std::size_t i = 0; i < ExemplarBook::kMostOfIoc; ++i)
    book.note(trace_of("R" + std::to_string(i), "1", 0.1));
  book.note(trace_of("R0", "2", 0.1));  // again
  book.note(trace_of("A", "3", 0.1));
  book.note({kSeconds.name, {{"ioc", "j"}, {"record", "R"}}, {{"trace_id", "4"}}, 1, 1});
  const TextEncoder encoder;
  const ExemplarTable table = book.encoded(encoder);
  const ExemplarsOfFamily& all = table.at(kSeconds.name);
  EXPECT_EQ(all.size(), ExemplarBook::kMostOfIoc + 1);
  EXPECT_TRUE(all.contains(R"(ioc="i",record="R0")"));
  EXPECT_FALSE(all.contains(R"(ioc="i",record="R1")"));
  EXPECT_TRUE(all.contains(R"(ioc="j",record="R")"));
}

TEST(ExemplarBook, ThoseOfAnIocGoWithIt) {
  ExemplarBook book;
  book.note(trace_of("A", "1", 0.1));
  book.note({kTotal.name, {{"ioc", "i"}}, {{"seq", "77"}}, 1, 1});
  book.note({kSeconds.name, {{"ioc", "j"}, {"record", "R"}}, {{"trace_id", "4"}}, 1, 1});
  book.keep({"j", "k"});
  const TextEncoder encoder;
  const ExemplarTable table = book.encoded(encoder);
  EXPECT_FALSE(table.contains(kTotal.name));
  ASSERT_TRUE(table.contains(kSeconds.name));
  EXPECT_EQ(table.at(kSeconds.name).size(), 1u);
  EXPECT_TRUE(table.at(kSeconds.name).contains(R"(ioc="j",record="R")"));
}

}  // namespace
}  // namespace ioc_exporter::exposition

#include "base/metric_lines.h"

#include <gtest/gtest.h>

namespace ioc_exporter {
namespace {

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

TEST(MetricLines, WhatIsNoneIsTold) {
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

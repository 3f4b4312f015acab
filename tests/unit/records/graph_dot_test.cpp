#include "records/graph_dot.h"

#include <gtest/gtest.h>

namespace ioc_exporter::records {
namespace {

TEST(Dot, DurationsHaveTheirUnit) {
  EXPECT_EQ(duration_text(0), "0 ns");
  EXPECT_EQ(duration_text(23e-9), "23 ns");
  EXPECT_EQ(duration_text(1.234e-6), "1.23 µs");
  EXPECT_EQ(duration_text(0.0455), "45.5 ms");
  EXPECT_EQ(duration_text(7), "7 s");
}

TEST(Dot, TextsMeanThemselves) {
  EXPECT_EQ(dot_text("SR:B1:Current-SP"), "SR:B1:Current-SP");
  EXPECT_EQ(dot_text("a\"b"), "a\\\"b");
  EXPECT_EQ(dot_text("a\\nb\\N"), "a\\\\nb\\\\N");
  EXPECT_EQ(dot_text("<b>&lt;"), "<b>&amp;lt;");
  EXPECT_EQ(dot_text("a\nb\x7f"), "a\\\\x0Ab\\\\x7F");
  EXPECT_EQ(dot_text("µ \xB5"), "µ \\\\xB5");
  EXPECT_EQ(dot_text("\xEF\xBF\xBF"), "\\\\xEF\\\\xBF\\\\xBF");
}

TEST(Dot, IsWhatGraphvizReads) {
  RecordGraph graph;
  graph.nodes = {{5, 0, false}, {3, 1, true}};
  graph.edges = {{0, 1, 23}};
  const std::vector<GraphRecord> records = {{"P:a", "calc", 23, 46'000'000}, {"P:b", "", 0, 0}};
  const std::string dot = to_dot(graph, records);
  EXPECT_TRUE(dot.starts_with("digraph records {\n")) << dot;
  EXPECT_TRUE(dot.ends_with(
      "  n0 [label=\"P:a\\ncalc\\n23 ×, self 2 ms each\\n46 ms in all\", fillcolor=\"#ffa740\", "
      "penwidth=2.5];\n"
      "  n1 [label=\"P:b\\n0 ×\", fillcolor=\"#ffffff\", style=\"filled,dashed\"];\n"
      "  n0 -> n1 [label=\"23\"];\n"
      "}\n"))
      << dot;
}

}  // namespace
}  // namespace ioc_exporter::records

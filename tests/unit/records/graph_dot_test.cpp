#include "records/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <sstream>

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

// The label of a line of DOT, as Graphviz shows it; nothing where the line is none of those that
// to_dot() may write. Strict: a quote that is not escaped ends the label, and then only attributes
// may follow.
std::optional<std::string> shown_label(const std::string& line) {
  const std::size_t open = line.find("[label=\"");
  if (open == std::string::npos) return std::nullopt;
  std::string shown;
  std::size_t at = open + 8;
  for (; at < line.size() && line[at] != '"'; ++at) {
    const auto byte = static_cast<unsigned char>(line[at]);
    if (byte < 0x20 || byte == 0x7f) return std::nullopt;
    if (line[at] == '&') {
      if (line.compare(at, 5, "&amp;") != 0) return std::nullopt;
      at += 4;
      shown += '&';
    } else if (line[at] == '\\') {
      if (++at == line.size()) return std::nullopt;
      if (line[at] != 'n' && line[at] != '\\' && line[at] != '"') return std::nullopt;
      shown += line[at] == 'n' ? '\n' : line[at];
    } else {
      shown += line[at];
    }
  }
  const std::string rest = line.substr(std::min(at, line.size()));
  const bool is_node = rest.starts_with("\", fillcolor=\"#") && rest.ends_with("];");
  if (!is_node && rest != "\"];") return std::nullopt;
  return shown;
}

// Every label, in order; fails where a line is not one that to_dot() may write.
std::vector<std::string> labels_of(const std::string& dot) {
  std::vector<std::string> labels;
  std::istringstream lines(dot);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  n") || line.starts_with("  node ")) continue;
    const auto label = shown_label(line);
    EXPECT_TRUE(label) << line;
    if (label) labels.push_back(*label);
  }
  return labels;
}

RecordGraph fan(std::size_t nodes) {
  RecordGraph graph;
  for (std::size_t i = 0; i < nodes; ++i) {
    graph.nodes.push_back({static_cast<std::uint32_t>(i), i > 0, false});
    if (i > 0) graph.edges.push_back({0, i, i * 23});
  }
  return graph;
}

std::string with_escapes(const std::string& name) {
  std::string shown;
  const std::string text = dot_text(name);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') ++i;
    shown += text[i];
    if (text.compare(i, 5, "&amp;") == 0) i += 4;
  }
  return shown;
}

// Names are whatever an IOC's memory holds: none may change the graph's structure.
TEST(Dot, AnyNameIsOnlyAName) {
  const std::string pieces[] = {"\"",   "\\", "\\n", "\\N", "<",       ">",     "&",  "]]>", "<!--",
                                "-->",  "\n", "'",   ";",   "}",       "{",     "|",  "%",   "#",
                                "\xB5", "µ",  "$(",  "\t",  "</text>", "<svg>", "->", "a",   "Z9"};
  std::mt19937 random(20260);  // NOLINT: the same names in each run
  for (int round = 0; round < 23; ++round) {
    const std::size_t count = 20;
    std::vector<GraphRecord> records(count);
    for (GraphRecord& record : records)
      while (record.name.size() < 3 || random() % 5 > 0)
        record.name += pieces[random() % std::size(pieces)];
    const auto labels = labels_of(to_dot(fan(count), records));
    ASSERT_EQ(labels.size(), 2 * count - 1);  // one for each node and each edge
    for (std::size_t i = 0; i < count; ++i)
      EXPECT_EQ(labels[i], with_escapes(records[i].name) + "\n0 ×");
  }
}

TEST(Dot, TheLargestGraphIsWhole) {
  const GraphLimits limits;
  std::vector<GraphLink> links;
  std::mt19937 random(20261);  // NOLINT: the same graph in each run
  for (std::uint32_t i = 0; i < 5000; ++i) {
    const auto source = static_cast<std::uint32_t>(random() % 400);
    links.push_back({source, static_cast<std::uint32_t>(random() % 400), random() % 997 + 1});
  }
  const RecordGraph graph = chain_of(links, 0, limits);
  ASSERT_EQ(graph.edges.size(), limits.edges);
  const std::vector<GraphRecord> records(graph.nodes.size(),
                                         {"SR:C01-MG:PS{Quad:A}I-SP", "calcout", 997, 1009});
  const auto labels = labels_of(to_dot(graph, records));
  EXPECT_EQ(labels.size(), graph.nodes.size() + graph.edges.size());
  EXPECT_EQ(labels.front(),
            "SR:C01-MG:PS{Quad:A}I-SP\ncalcout\n997 ×, self 1.01 ns each\n1.01 µs in all");
}

}  // namespace
}  // namespace ioc_exporter::records

// Graphs of records: nodes and edges, as a tree, for Graphviz.
#include <gmock/gmock.h>

#include <algorithm>
#include <optional>
#include <random>
#include <sstream>

#include "records/graph.h"

namespace ioc_exporter::records {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::vector<std::uint32_t> records_of(const RecordGraph& graph) {
  std::vector<std::uint32_t> records;
  for (const auto& node : graph.nodes) records.push_back(node.record);
  return records;
}

// "1>2:23", by the caller's numbers.
std::vector<std::string> edges_of(const RecordGraph& graph) {
  std::vector<std::string> edges;
  for (const auto& edge : graph.edges)
    edges.push_back(std::to_string(graph.nodes[edge.from].record) + ">" +
                    std::to_string(graph.nodes[edge.to].record) + ":" + std::to_string(edge.count));
  return edges;
}

std::vector<GraphLink> many_links() {
  std::vector<GraphLink> links;
  std::mt19937 random(20261);  // NOLINT: the same graph in each run
  for (std::uint32_t i = 0; i < 5000; ++i) {
    const auto source = static_cast<std::uint32_t>(random() % 400);
    links.push_back({source, static_cast<std::uint32_t>(random() % 400), random() % 997 + 1});
  }
  return links;
}

TEST(RecordGraph, ARecordWithoutLinksStandsAlone) {
  const RecordGraph graph = chain_of({{2, 3, 7}}, 1, {});
  EXPECT_THAT(records_of(graph), ElementsAre(1));
  EXPECT_TRUE(graph.edges.empty());
  EXPECT_FALSE(graph.nodes[0].goes_on);
}

TEST(RecordGraph, FollowsLinksDownOnly) {
  const RecordGraph graph =
      chain_of({{0, 1, 5}, {1, 2, 23}, {2, 4, 23}, {1, 3, 46}, {9, 8, 1}, {3, 7, 0}}, 1, {});
  EXPECT_THAT(records_of(graph), ElementsAre(1, 3, 2, 4));
  EXPECT_THAT(edges_of(graph), ElementsAre("1>3:46", "1>2:23", "2>4:23"));
  EXPECT_EQ(graph.nodes[3].depth, 2u);
}

TEST(RecordGraph, ShowsARecordOnceAndCyclesToo) {
  const RecordGraph graph =
      chain_of({{1, 2, 3}, {2, 3, 3}, {3, 1, 2}, {1, 3, 1}, {3, 3, 1}}, 1, {});
  EXPECT_THAT(records_of(graph), ElementsAre(1, 2, 3));
  EXPECT_THAT(edges_of(graph), ElementsAre("1>2:3", "1>3:1", "2>3:3", "3>1:2", "3>3:1"));
}

TEST(RecordGraph, EndsAtItsDepth) {
  const std::vector<GraphLink> chain = {{1, 2, 1}, {2, 3, 1}, {3, 4, 1}, {3, 1, 1}};
  const RecordGraph graph = chain_of(chain, 1, {.depth = 2});
  EXPECT_THAT(records_of(graph), ElementsAre(1, 2, 3));
  EXPECT_THAT(edges_of(graph), ElementsAre("1>2:1", "2>3:1", "3>1:1"));
  EXPECT_FALSE(graph.nodes[1].goes_on);
  EXPECT_TRUE(graph.nodes[2].goes_on);
  EXPECT_EQ(chain_of(chain, 1, {.depth = 0}).nodes.size(), 1u);
}

TEST(RecordGraph, KeepsTheMostFollowedLinksWhereThereAreTooMany) {
  std::vector<GraphLink> fan;
  for (std::uint32_t i = 1; i <= 1009; ++i) fan.push_back({0, i, i});
  RecordGraph graph = chain_of(fan, 0, {.depth = 10, .nodes = 4, .edges = 500});
  EXPECT_THAT(edges_of(graph), ElementsAre("0>1009:1009", "0>1008:1008", "0>1007:1007"));
  EXPECT_TRUE(graph.nodes[0].goes_on);
  graph = chain_of(fan, 0, {.depth = 10, .nodes = 250, .edges = 2});
  EXPECT_THAT(edges_of(graph), ElementsAre("0>1009:1009", "0>1008:1008"));
  EXPECT_EQ(chain_of(fan, 0, {}).nodes.size(), 250u);
}

// "  2:23 cycle": indent, the caller's number of the record, how often the link was followed.
std::vector<std::string> lines_of(const RecordGraph& graph) {
  std::vector<std::string> lines;
  for (const TreeLine& line : tree_of(graph)) {
    std::string text(line.indent, ' ');
    text += std::to_string(graph.nodes[line.node].record) + ":" + std::to_string(line.count);
    if (line.kind == TreeLine::Kind::cycle) text += " cycle";
    if (line.kind == TreeLine::Kind::shown_above) text += " above";
    lines.push_back(text);
  }
  return lines;
}

TEST(RecordTree, AnEmptyGraphIsAnEmptyTree) {
  EXPECT_TRUE(tree_of({}).empty());
  EXPECT_THAT(lines_of(chain_of({}, 7, {})), ElementsAre("7:0"));
}

TEST(RecordTree, GoesDownFirstAndTheMostFollowedLinkFirst) {
  EXPECT_THAT(lines_of(chain_of({{1, 2, 23}, {1, 3, 46}, {2, 4, 5}, {3, 5, 7}}, 1, {})),
              ElementsAre("1:0", " 3:46", "  5:7", " 2:23", "  4:5"));
}

TEST(RecordTree, MarksCyclesInsteadOfFollowingThem) {
  EXPECT_THAT(lines_of(chain_of({{1, 2, 3}, {2, 3, 3}, {3, 1, 2}, {2, 2, 1}}, 1, {})),
              ElementsAre("1:0", " 2:3", "  3:3", "   1:2 cycle", "  2:1 cycle"));
}

TEST(RecordTree, ShowsTheLinksOfARecordOnce) {
  EXPECT_THAT(lines_of(chain_of({{1, 2, 9}, {1, 3, 8}, {2, 3, 7}, {3, 4, 6}}, 1, {})),
              ElementsAre("1:0", " 2:9", "  3:7", "   4:6", " 3:8 above"));
}

TEST(RecordTree, HasOneLineForEachEdgeOfTheLargestGraph) {
  const GraphLimits limits;
  const RecordGraph graph = chain_of(many_links(), 0, limits);
  const auto lines = tree_of(graph);
  EXPECT_EQ(lines.size(), limits.edges + 1);
  EXPECT_EQ(std::ranges::count(lines, TreeLine::Kind::followed, &TreeLine::kind),
            static_cast<std::ptrdiff_t>(graph.nodes.size()));
}

TEST(RecordTree, InWords) {
  const GraphLimits limits = {.depth = 2, .nodes = 250, .edges = 500};
  const RecordGraph graph = chain_of({{0, 1, 23}, {1, 0, 7}, {1, 2, 5}, {2, 3, 5}}, 0, limits);
  const TreeTable table = tree_table(
      graph, {{"P:a", "calc", 23, 46'000}, {"P:b", "ao", 46, 138'000}, {"P:c", "", 0, 0}}, limits);
  EXPECT_EQ(tree_text(table),
            "RECORD   TYPE  LINK FOLLOWED  PROCESSED  SELF, EACH  SELF, IN ALL  SHARE\n"
            "P:a      calc  -              23         2 µs        46 µs         25.0 %\n"
            "  P:b    ao    23             46         3 µs        138 µs        75.0 %\n"
            "    P:a  -     7              -          -           -             -       cycle: not "
            "followed again\n"
            "    P:c  -     5              0          -           -             -       has links "
            "that are left out\n"
            "Links are left out: shown are at most 250 records and 500 links, the most followed "
            "ones, to depth 2.\n");
}

TEST(RecordTree, NoNameSteersTheTerminal) {
  const RecordGraph graph = chain_of({{0, 1, 23}}, 0, {});
  const std::string text =
      tree_text(tree_table(graph, {{"a\x1b[2J\nb\xB5", "t\x7f", 1, 1}, {" ", "", 0, 0}}, {}));
  EXPECT_EQ(std::ranges::count(text, '\n'), 3);
  EXPECT_THAT(text, HasSubstr("\na_[2J_b\\xB5  t_ "));
  EXPECT_THAT(text, HasSubstr("\n  -  "));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

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

TEST(Dot, IsReadByGraphviz) {
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
  const RecordGraph graph = chain_of(many_links(), 0, limits);
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

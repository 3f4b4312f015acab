#include "records/graph_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace ioc_exporter::records {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

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

TEST(RecordTree, OfNothingIsEmpty) {
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
  std::vector<GraphLink> links;
  std::mt19937 random(20261);  // NOLINT: the same graph in each run
  for (std::uint32_t i = 0; i < 5000; ++i) {
    const auto source = static_cast<std::uint32_t>(random() % 400);
    links.push_back({source, static_cast<std::uint32_t>(random() % 400), random() % 997 + 1});
  }
  const RecordGraph graph = chain_of(links, 0, limits);
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

}  // namespace
}  // namespace ioc_exporter::records

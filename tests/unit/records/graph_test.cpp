#include "records/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ioc_exporter::records {
namespace {

using testing::ElementsAre;

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

TEST(RecordGraph, OfARecordWithoutLinksIsTheRecord) {
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

}  // namespace
}  // namespace ioc_exporter::records

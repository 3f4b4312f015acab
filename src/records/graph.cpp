#include "records/graph.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

namespace ioc_exporter::records {
namespace {

// By source; of one source, the one that was followed most often first.
std::vector<GraphLink> sorted(const std::vector<GraphLink>& links) {
  std::vector<GraphLink> all;
  all.reserve(links.size());
  std::ranges::copy_if(links, std::back_inserter(all),
                       [](const GraphLink& link) { return link.count > 0; });
  std::ranges::sort(all, [](const GraphLink& a, const GraphLink& b) {
    return std::tuple(a.source, b.count, a.record) < std::tuple(b.source, a.count, b.record);
  });
  return all;
}

}  // namespace

RecordGraph chain_of(const std::vector<GraphLink>& links, std::uint32_t start,
                     const GraphLimits& limits) {
  const std::vector<GraphLink> all = sorted(links);
  RecordGraph graph;
  graph.nodes.push_back({start, 0, false});
  std::unordered_map<std::uint32_t, std::size_t> places{{start, 0}};
  // Breadth first: the list of nodes grows while it is walked.
  for (std::size_t from = 0; from < graph.nodes.size(); ++from) {
    const RecordGraph::Node node = graph.nodes[from];
    bool goes_on = false;
    for (auto at = std::ranges::lower_bound(all, node.record, {}, &GraphLink::source);
         at != all.end() && at->source == node.record; ++at) {
      const GraphLink& link = *at;
      auto place = places.find(link.record);
      const bool has_room = graph.edges.size() < limits.edges &&
                            (place != places.end() ||
                             (graph.nodes.size() < limits.nodes && node.depth < limits.depth));
      if (!has_room) {
        goes_on = true;
        continue;
      }
      if (place == places.end()) {
        place = places.emplace(link.record, graph.nodes.size()).first;
        graph.nodes.push_back({link.record, node.depth + 1, false});
      }
      graph.edges.push_back({from, place->second, link.count});
    }
    graph.nodes[from].goes_on = goes_on;
  }
  return graph;
}

}  // namespace ioc_exporter::records

#include "records/graph_samples.h"

#include <algorithm>

namespace ioc_exporter::records {
namespace {

std::vector<GraphRecord> describe(const IocSample& ioc, const RecordGraph& graph) {
  const Database& database = *ioc.database;
  std::vector<const RecordSample*> counts(database.records.size());
  for (const RecordSample& sample : ioc.records)
    if (sample.record < counts.size()) counts[sample.record] = &sample;
  std::vector<GraphRecord> records;
  for (const auto& node : graph.nodes) {
    const RecordIdentity& identity = database.records[node.record];
    GraphRecord& record = records.emplace_back();
    record.name = identity.name;
    if (identity.type < database.types.size()) record.type = database.types[identity.type];
    if (counts[node.record] == nullptr) continue;
    record.processed = counts[node.record]->processed;
    record.self_ns = counts[node.record]->self_ns;
  }
  return records;
}

}  // namespace

std::optional<std::uint32_t> find_record(const Database& database, const std::string& name) {
  const auto record = std::ranges::find(database.records, name, &RecordIdentity::name);
  if (record != database.records.end())
    return static_cast<std::uint32_t>(record - database.records.begin());
  const auto alias = std::ranges::lower_bound(database.aliases, name, {}, &RecordAlias::name);
  if (alias != database.aliases.end() && alias->name == name) return alias->record;
  return std::nullopt;
}

DescribedGraph graph_of(const IocSample& ioc, std::uint32_t start, const GraphLimits& limits) {
  std::vector<GraphLink> links;
  const std::size_t known = ioc.database->records.size();
  for (const RecordLinkSample& link : ioc.links)
    if (link.source < known && link.record < known)
      links.push_back({link.source, link.record, link.count});
  DescribedGraph described;
  described.graph = chain_of(links, start, limits);
  described.records = describe(ioc, described.graph);
  return described;
}

}  // namespace ioc_exporter::records

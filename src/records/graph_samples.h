// A RecordGraph from the samples of an IOC. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "records/families/samples.h"
#include "records/graph.h"

namespace ioc_exporter::records {

// The index of the record with that name or alias.
std::optional<std::uint32_t> find_record(const Database& database, const std::string& name);

struct DescribedGraph {
  RecordGraph graph;
  std::vector<GraphRecord> records;  // one for each node
};

// `ioc` has a database, and `start` is an index into its records.
DescribedGraph graph_of(const IocSample& ioc, std::uint32_t start, const GraphLimits& limits);

}  // namespace ioc_exporter::records

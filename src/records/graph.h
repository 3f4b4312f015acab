// RecordGraph: what a record sets in motion. The records that it processes through its links, those
// that they process, and so on, as far as it was counted. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ioc_exporter::records {

// A record that stands in the picture.
struct GraphRecord {
  std::string name;
  std::string type;
  std::uint64_t processed = 0;
  std::uint64_t self_ns = 0;  // without the records that it processed in turn
};

// How often one record processed another; the numbers are the caller's.
struct GraphLink {
  std::uint32_t source = 0;
  std::uint32_t record = 0;
  std::uint64_t count = 0;
};

struct GraphLimits {
  unsigned depth = 10;      // links from the first record to the last one
  std::size_t nodes = 250;  // more cannot be read
  std::size_t edges = 500;
};

struct RecordGraph {
  struct Node {
    std::uint32_t record = 0;  // the caller's number
    unsigned depth = 0;
    bool goes_on = false;  // it has links that are left out
  };
  struct Edge {
    std::size_t from = 0, to = 0;  // indices into nodes
    std::uint64_t count = 0;
  };
  std::vector<Node> nodes;  // the first is the start; nearer ones come first
  std::vector<Edge> edges;
};

// From `start` on, with the links that were followed most often first where there are too many.
// Links that were never followed (count 0) are none.
RecordGraph chain_of(const std::vector<GraphLink>& links, std::uint32_t start,
                     const GraphLimits& limits);

}  // namespace ioc_exporter::records

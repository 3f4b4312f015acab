// RecordGraph: what a record sets in motion. The records that it processes through its links, those
// that they process, and so on, as far as it was counted. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "records/families/samples.h"

namespace ioc_exporter::records {

// A record that stands in the picture.
struct GraphRecord {
  std::string name;
  std::string type;
  std::uint64_t processed = 0;
  std::uint64_t self_ns = 0;  // without the records that it processed in turn
};

using GraphLink = RecordLinkSample;

inline constexpr const char* kGraphPath = "/graph";  // of the request
inline constexpr unsigned kMostGraphDepth = 100;

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

// A RecordGraph from the samples of an IOC. Pure.

// The index of the record with that name or alias.
std::optional<std::uint32_t> find_record(const Database& database, const std::string& name);

struct DescribedGraph {
  RecordGraph graph;
  std::vector<GraphRecord> records;  // one for each node
};

// `ioc` has a database, and `start` is an index into its records.
DescribedGraph graph_of(const IocSample& ioc, std::uint32_t start, const GraphLimits& limits);

// A RecordGraph as text in Graphviz' DOT language.

// `records`: one for each node, in the same order. Any bytes may be in their names.
std::string to_dot(const RecordGraph& graph, const std::vector<GraphRecord>& records);

// `text` as it stands between the quotes of a DOT string that is shown as it is: nothing in it is
// an escape, an entity, or a character that XML forbids. Bytes that are no UTF-8 and control
// characters become \xNN.
std::string dot_text(std::string_view text);

// "1.24 ms"
std::string duration_text(double seconds);

// A RecordGraph as an indented tree, in the order in which the IOC processes: a record, below it
// the records that it processes, and so on.

struct TreeLine {
  // A record's own links are followed once; where the record comes again it is only named.
  enum class Kind { followed, shown_above, cycle };
  std::size_t node = 0;
  unsigned indent = 0;
  std::uint64_t count = 0;  // how often the link was followed that leads here; 0 in the first line
  Kind kind = Kind::followed;
};

// One line for the start and one for each edge.
std::vector<TreeLine> tree_of(const RecordGraph& graph);

// The tree in texts, for a page or a terminal.
struct TreeTable {
  struct Row {
    unsigned indent = 0;
    // The record's name, any bytes; then its type, how often the link was followed, how often the
    // record processed, its self time for each and in all, its share of the whole tree's self time,
    // and a remark. "" where there is nothing to say.
    std::vector<std::string> cells;
  };
  std::vector<std::string> columns;
  std::vector<Row> rows;
  std::string left_out;  // which limit was reached; "" = none
};

// `records`: one for each node, in the same order.
TreeTable tree_table(const RecordGraph& graph, const std::vector<GraphRecord>& records,
                     const GraphLimits& limits);

// For a terminal: UTF-8 without control characters, columns aligned.
std::string tree_text(const TreeTable& table);

}  // namespace ioc_exporter::records

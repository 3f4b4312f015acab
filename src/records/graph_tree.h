// A RecordGraph as an indented tree, in the order in which the IOC processes: a record, below it
// the records that it processes, and so on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "records/graph.h"

namespace ioc_exporter::records {

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

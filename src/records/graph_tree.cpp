#include "records/graph_tree.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <numeric>

#include "base/utf8.h"
#include "base/value_text.h"
#include "exposition/label_text.h"
#include "exposition/number_text.h"
#include "records/graph.h"

namespace ioc_exporter::records {
namespace {

class TreeWalk {
 public:
  explicit TreeWalk(const RecordGraph& graph)
      : graph_(graph), shown_(graph.nodes.size()), on_path_(graph.nodes.size()) {}

  // Goes as deep as the graph has nodes: 250.
  void follow(const TreeLine& line) {
    lines.push_back(line);
    shown_[line.node] = on_path_[line.node] = true;
    // chain_of() leaves the edges in the order of their sources.
    for (auto edge =
             std::ranges::lower_bound(graph_.edges, line.node, {}, &RecordGraph::Edge::from);
         edge != graph_.edges.end() && edge->from == line.node; ++edge) {
      TreeLine next = {edge->to, line.indent + 1, edge->count};
      if (!shown_[edge->to]) {
        follow(next);
        continue;
      }
      next.kind = on_path_[edge->to] ? TreeLine::Kind::cycle : TreeLine::Kind::shown_above;
      lines.push_back(next);
    }
    on_path_[line.node] = false;
  }

  std::vector<TreeLine> lines;

 private:
  const RecordGraph& graph_;
  std::vector<bool> shown_, on_path_;
};

std::string share_text(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "";
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f %%",
                100 * static_cast<double>(part) / static_cast<double>(whole));
  return text.data();
}

std::string remark(const TreeLine& line, const RecordGraph& graph) {
  if (line.kind == TreeLine::Kind::cycle) return "cycle: not followed again";
  if (line.kind == TreeLine::Kind::shown_above) return "shown above";
  return graph.nodes[line.node].goes_on ? "has links that are left out" : "";
}

std::string limits_text(const RecordGraph& graph, const GraphLimits& limits) {
  if (std::ranges::none_of(graph.nodes, &RecordGraph::Node::goes_on)) return "";
  return "Links are left out: shown are at most " + std::to_string(limits.nodes) + " records and " +
         std::to_string(limits.edges) + " links, the most followed ones, to depth " +
         std::to_string(limits.depth) + ".";
}

}  // namespace

std::vector<TreeLine> tree_of(const RecordGraph& graph) {
  TreeWalk walk(graph);
  if (!graph.nodes.empty()) walk.follow({});
  return std::move(walk.lines);
}

TreeTable tree_table(const RecordGraph& graph, const std::vector<GraphRecord>& records,
                     const GraphLimits& limits) {
  const std::uint64_t whole = std::accumulate(
      records.begin(), records.end(), std::uint64_t{0},
      [](std::uint64_t sum, const GraphRecord& record) { return sum + record.self_ns; });
  TreeTable table;
  table.columns = {"record",     "type",         "link followed", "processed",
                   "self, each", "self, in all", "share",         ""};
  for (const TreeLine& line : tree_of(graph)) {
    const GraphRecord& record = records[line.node];
    std::vector<std::string> cells(table.columns.size());
    cells[0] = record.name;
    if (line.indent > 0) cells[2] = std::to_string(line.count);
    cells[7] = remark(line, graph);
    if (line.kind == TreeLine::Kind::followed) {
      const double self = exposition::seconds_from_ns(record.self_ns);
      cells[1] = record.type;
      cells[3] = std::to_string(record.processed);
      if (record.processed > 0) {
        cells[4] = duration_text(self / static_cast<double>(record.processed));
        cells[5] = duration_text(self);
        cells[6] = share_text(record.self_ns, whole);
      }
    }
    table.rows.push_back({line.indent, std::move(cells)});
  }
  table.left_out = limits_text(graph, limits);
  return table;
}

std::string tree_text(const TreeTable& table) {
  std::vector<TableRow> rows = {table.columns};
  for (std::string& title : rows.front())
    std::ranges::transform(title, title.begin(), [](char c) {
      return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    });
  for (const TreeTable::Row& row : table.rows) {
    TableRow& cells = rows.emplace_back(row.cells);
    for (std::string& cell : cells) {
      const std::string safe = exposition::utf8_safe(cell);
      cell = printable_utf8(safe, safe.size());
      if (cell.empty() && &cell != &cells.back()) cell = "-";
    }
    cells.front().insert(0, 2 * row.indent, ' ');
  }
  const std::string text = text_table(rows);
  return table.left_out.empty() ? text : text + table.left_out + "\n";
}

}  // namespace ioc_exporter::records

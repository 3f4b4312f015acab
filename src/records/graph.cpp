#include "records/graph.h"

#include <algorithm>
#include <cstdio>
#include <tuple>
#include <unordered_map>

#include "base/utf8.h"
#include "base/value_text.h"
#include "exposition/label_text.h"
#include "exposition/number_text.h"

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
  std::vector<GraphLink> links = ioc.links;
  std::erase_if(links, [known = ioc.database->records.size()](const GraphLink& link) {
    return link.source >= known || link.record >= known;
  });
  DescribedGraph described;
  described.graph = chain_of(links, start, limits);
  described.records = describe(ioc, described.graph);
  return described;
}

namespace {

constexpr std::string_view kHead =
    "  rankdir=LR;\n"
    "  bgcolor=\"transparent\";\n"
    "  node [shape=box, style=\"filled\", color=\"#5c6670\", fontcolor=\"#1d2329\", "
    "fontname=\"Helvetica\", fontsize=11];\n"
    "  edge [color=\"#7f8a95\", fontcolor=\"#7f8a95\", fontname=\"Helvetica\", fontsize=10];\n";

void append_hex(std::string& out, unsigned char byte) {
  constexpr const char* kHex = "0123456789ABCDEF";
  out += "\\\\x";  // a backslash in a DOT string
  out += kHex[byte >> 4];
  out += kHex[byte & 15];
}

// U+FFFE and U+FFFF, which XML 1.0 has not (section 2.2).
bool is_no_xml(std::string_view sequence) {
  return sequence == "\xEF\xBF\xBE" || sequence == "\xEF\xBF\xBF";
}

std::string count_text(std::uint64_t count) {
  std::string text;
  exposition::append_number(text, count);
  return text;
}

// From white to orange by the share of the whole picture's time.
std::string fill_of(double share) {
  const auto mix = [share](int to) {
    return static_cast<unsigned>(255 + (to - 255) * std::clamp(share, 0.0, 1.0));
  };
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "#%02x%02x%02x", mix(255) & 255u, mix(167) & 255u,
                mix(64) & 255u);
  return text.data();
}

std::uint64_t time_of_all(const std::vector<GraphRecord>& records) {
  std::uint64_t sum = 0;
  for (const GraphRecord& record : records) sum += record.self_ns;
  return sum;
}

double ratio(std::uint64_t part, std::uint64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

std::string label_of(const GraphRecord& record) {
  std::string label = dot_text(record.name);
  if (!record.type.empty()) label += "\\n" + dot_text(record.type);
  label += "\\n" + count_text(record.processed) + " ×";
  if (record.processed == 0) return label;
  const double self = exposition::seconds_from_ns(record.self_ns);
  label += ", self " + duration_text(self / static_cast<double>(record.processed)) + " each";
  return label + "\\n" + duration_text(self) + " in all";
}

}  // namespace

std::string duration_text(double seconds) {
  struct Unit {
    double seconds;
    const char* name;
  };
  constexpr std::array<Unit, 4> kUnits = {{{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}, {1e-9, "ns"}}};
  const auto unit =
      std::ranges::find_if(kUnits, [seconds](const Unit& each) { return seconds >= each.seconds; });
  const Unit& shown = unit == kUnits.end() ? kUnits.back() : *unit;
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.3g %s", seconds / shown.seconds, shown.name);
  return text.data();
}

std::string dot_text(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_sequence(text.substr(i));
    const std::string_view sequence = text.substr(i, std::max<std::size_t>(length, 1));
    const auto byte = static_cast<unsigned char>(text[i]);
    i += sequence.size();
    if (length == 0 || is_no_xml(sequence) || (length == 1 && (byte < 0x20 || byte == 0x7f))) {
      for (const char c : sequence) append_hex(out, static_cast<unsigned char>(c));
    } else if (byte == '"' || byte == '\\') {
      out += '\\';
      out += text[i - 1];
    } else if (byte == '&') {
      out += "&amp;";  // Graphviz reads HTML's entities in every text
    } else {
      out += sequence;
    }
  }
  return out;
}

std::string to_dot(const RecordGraph& graph, const std::vector<GraphRecord>& records) {
  const std::uint64_t whole = time_of_all(records);
  std::string dot = "digraph records {\n";
  dot += kHead;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const double share = whole > 0 ? ratio(records[i].self_ns, whole) : 0;
    dot += "  n" + std::to_string(i) + " [label=\"" + label_of(records[i]) + "\", fillcolor=\"" +
           fill_of(share) + "\"";
    if (i == 0) dot += ", penwidth=2.5";
    if (graph.nodes[i].goes_on) dot += ", style=\"filled,dashed\"";
    dot += "];\n";
  }
  for (const RecordGraph::Edge& edge : graph.edges)
    dot += "  n" + std::to_string(edge.from) + " -> n" + std::to_string(edge.to) + " [label=\"" +
           count_text(edge.count) + "\"];\n";
  return dot + "}\n";
}

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
  std::snprintf(text.data(), text.size(), "%.1f %%", 100 * ratio(part, whole));
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
  const std::uint64_t whole = time_of_all(records);
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

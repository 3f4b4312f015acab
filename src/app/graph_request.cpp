#include "app/graph_request.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "graph/dot.h"
#include "graph/record_graph.h"
#include "graph/svg.h"
#include "http/graph_page.h"
#include "http/query.h"
#include "metrics/number_text.h"

namespace ioc_exporter::app {
namespace {

constexpr unsigned kDefaultDepth = 5;
constexpr unsigned kMostDepth = 100;

struct Question {
  std::string record, ioc, format;
  unsigned depth = kDefaultDepth;
};

struct Place {
  const IocSample* ioc = nullptr;
  std::uint32_t record = 0;
};

http::Response refuse(int status, const std::string& why) {
  http::Response response;
  response.status = status;
  response.body = std::to_string(status) + " " + why + "\n";
  return response;
}

Result<Question> read_question(const std::string& query) {
  Question question;
  question.record = http::query_value(query, "record").value_or("");
  question.ioc = http::query_value(query, "ioc").value_or("");
  question.format = http::query_value(query, "format").value_or("");
  if (!question.format.empty() && question.format != "svg" && question.format != "dot")
    return error_in_words("format is neither svg nor dot, and without it there is a page");
  const std::string depth = http::query_value(query, "depth").value_or("");
  if (depth.empty()) return question;
  const auto [end, error] =
      std::from_chars(depth.data(), depth.data() + depth.size(), question.depth);
  if (error != std::errc() || end != depth.data() + depth.size() || question.depth > kMostDepth)
    return error_in_words("depth must be 0 to " + std::to_string(kMostDepth));
  return question;
}

std::optional<std::uint32_t> find_record(const Database& database, const std::string& name) {
  const auto record = std::ranges::find(database.records, name, &RecordIdentity::name);
  if (record != database.records.end())
    return static_cast<std::uint32_t>(record - database.records.begin());
  const auto alias = std::ranges::lower_bound(database.aliases, name, {}, &RecordAlias::name);
  if (alias != database.aliases.end() && alias->name == name) return alias->record;
  return std::nullopt;
}

std::vector<Place> find_places(const Snapshot& snapshot, const Question& question) {
  std::vector<Place> places;
  for (const IocSample& ioc : snapshot.iocs) {
    if (!ioc.up || !ioc.database || (!question.ioc.empty() && ioc.name != question.ioc)) continue;
    if (const auto record = find_record(*ioc.database, question.record))
      places.push_back({&ioc, *record});
  }
  return places;
}

std::vector<graph::GraphRecord> describe(const IocSample& ioc, const graph::RecordGraph& graph) {
  const Database& database = *ioc.database;
  std::vector<const RecordSample*> counts(database.records.size());
  for (const RecordSample& sample : ioc.records)
    if (sample.record < counts.size()) counts[sample.record] = &sample;
  std::vector<graph::GraphRecord> records;
  for (const auto& node : graph.nodes) {
    const RecordIdentity& identity = database.records[node.record];
    graph::GraphRecord& record = records.emplace_back();
    record.name = identity.name;
    if (identity.type < database.types.size()) record.type = database.types[identity.type];
    if (counts[node.record] == nullptr) continue;
    record.processed = counts[node.record]->processed;
    record.self_ns = counts[node.record]->self_ns;
  }
  return records;
}

graph::RecordGraph graph_of(const Place& place, unsigned depth) {
  std::vector<graph::GraphLink> links;
  const std::size_t known = place.ioc->database->records.size();
  for (const RecordLinkSample& link : place.ioc->links)
    if (link.source < known && link.record < known)
      links.push_back({link.source, link.record, link.count});
  graph::GraphLimits limits;
  limits.depth = depth;
  return graph::chain_of(links, place.record, limits);
}

http::LandingTable table_of(const std::vector<graph::GraphRecord>& records) {
  http::LandingTable table;
  table.title = "Records";
  table.columns = {{"record", false},
                   {"type", false},
                   {"processed", true},
                   {"self, each", true},
                   {"self, in all", true}};
  for (const graph::GraphRecord& record : records) {
    const double self = metrics::seconds_from_ns(record.self_ns);
    const bool any = record.processed > 0;
    table.rows.push_back(
        {record.name, record.type, std::to_string(record.processed),
         any ? graph::duration_text(self / static_cast<double>(record.processed)) : "",
         any ? graph::duration_text(self) : ""});
  }
  return table;
}

http::GraphPage empty_page(const Question& question) {
  http::GraphPage page;
  page.record = question.record;
  page.ioc = question.ioc;
  page.depth = std::to_string(question.depth);
  return page;
}

http::Response page_of(const Question& question, const Place& place,
                       const graph::RecordGraph& graph,
                       const std::vector<graph::GraphRecord>& records, const std::string& dot) {
  http::GraphPage page = empty_page(question);
  page.ioc = place.ioc->name;
  page.heading = records.front().name + " in " + place.ioc->name;
  const auto svg = graph::draw_svg(dot);
  if (svg)
    page.picture = *svg;
  else
    page.notes.push_back(svg.error().message() + ".");
  page.notes.emplace_back(
      "An arrow says how often a record processed another through a link, a box how often the "
      "record processed in all and how long its own part takes. Since the exporter began to "
      "count.");
  if (std::ranges::any_of(graph.nodes, &graph::RecordGraph::Node::goes_on))
    page.notes.emplace_back("Of a box with a dashed line, links are left out.");
  const std::string same = std::string(kGraphPath) +
                           "?record=" + http::percent_encoded(question.record) +
                           "&ioc=" + http::percent_encoded(page.ioc) + "&depth=" + page.depth;
  page.links = {{same + "&format=dot", "DOT", ""}};
  if (svg) page.links.push_back({same + "&format=svg", "SVG", ""});
  page.records = table_of(records);
  return {200, http::kHtmlContentType, http::render_graph_page(page)};
}

http::Response draw(const Question& question, const Place& place) {
  const graph::RecordGraph graph = graph_of(place, question.depth);
  const auto records = describe(*place.ioc, graph);
  std::string dot = graph::to_dot(graph, records);
  if (question.format == "dot") return {200, "text/vnd.graphviz; charset=utf-8", std::move(dot)};
  if (question.format != "svg") return page_of(question, place, graph, records, dot);
  if (!graph::can_draw())
    return refuse(404, "ioc_exporter was built without Graphviz: ask for format=dot");
  auto svg = graph::draw_svg(dot);
  if (!svg) return refuse(500, svg.error().message());
  return {200, "image/svg+xml", std::move(*svg)};
}

}  // namespace

http::Response answer_graph(const Snapshot& snapshot, bool links_counted,
                            const http::Request& request) {
  const auto question = read_question(request.query);
  if (!question) return refuse(400, question.error().message());
  if (!links_counted)
    return refuse(404,
                  "links from record to record are not counted: start ioc_exporter with "
                  "--records.links=N, for N links");
  if (question->record.empty() && question->format.empty())
    return {200, http::kHtmlContentType, http::render_graph_page(empty_page(*question))};
  if (question->record.empty()) return refuse(400, "which record? ask for ?record=NAME");
  const auto places = find_places(snapshot, *question);
  if (places.empty())
    return refuse(404, "no running IOC" + (question->ioc.empty() ? "" : " " + question->ioc) +
                           " has a record " + question->record);
  if (places.size() == 1) return draw(*question, places.front());
  std::string iocs;
  for (const Place& place : places) iocs += " " + place.ioc->name;
  return refuse(400, "several IOCs have that record: add &ioc=NAME, one of" + iocs);
}

}  // namespace ioc_exporter::app

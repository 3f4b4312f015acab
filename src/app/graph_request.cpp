#include "app/graph_request.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "records/graph_dot.h"
#include "records/graph.h"
#include "records/graph_svg.h"
#include "web/graph_page.h"
#include "base/query.h"
#include "exposition/number_text.h"

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

web::Response refuse(int status, const std::string& why) {
  web::Response response;
  response.status = status;
  response.body = std::to_string(status) + " " + why + "\n";
  return response;
}

Result<Question> read_question(const std::string& query) {
  Question question;
  question.record = query_value(query, "record").value_or("");
  question.ioc = query_value(query, "ioc").value_or("");
  question.format = query_value(query, "format").value_or("");
  if (!question.format.empty() && question.format != "svg" && question.format != "dot")
    return error_in_words("format is neither svg nor dot, and without it there is a page");
  const std::string depth = query_value(query, "depth").value_or("");
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

std::vector<records::GraphRecord> describe(const IocSample& ioc, const records::RecordGraph& graph) {
  const Database& database = *ioc.database;
  std::vector<const RecordSample*> counts(database.records.size());
  for (const RecordSample& sample : ioc.records)
    if (sample.record < counts.size()) counts[sample.record] = &sample;
  std::vector<records::GraphRecord> records;
  for (const auto& node : graph.nodes) {
    const RecordIdentity& identity = database.records[node.record];
    records::GraphRecord& record = records.emplace_back();
    record.name = identity.name;
    if (identity.type < database.types.size()) record.type = database.types[identity.type];
    if (counts[node.record] == nullptr) continue;
    record.processed = counts[node.record]->processed;
    record.self_ns = counts[node.record]->self_ns;
  }
  return records;
}

records::RecordGraph graph_of(const Place& place, unsigned depth) {
  std::vector<records::GraphLink> links;
  const std::size_t known = place.ioc->database->records.size();
  for (const RecordLinkSample& link : place.ioc->links)
    if (link.source < known && link.record < known)
      links.push_back({link.source, link.record, link.count});
  records::GraphLimits limits;
  limits.depth = depth;
  return records::chain_of(links, place.record, limits);
}

web::LandingTable table_of(const std::vector<records::GraphRecord>& records) {
  web::LandingTable table;
  table.title = "Records";
  table.columns = {{"record", false},
                   {"type", false},
                   {"processed", true},
                   {"self, each", true},
                   {"self, in all", true}};
  for (const records::GraphRecord& record : records) {
    const double self = exposition::seconds_from_ns(record.self_ns);
    const bool any = record.processed > 0;
    table.rows.push_back(
        {record.name, record.type, std::to_string(record.processed),
         any ? records::duration_text(self / static_cast<double>(record.processed)) : "",
         any ? records::duration_text(self) : ""});
  }
  return table;
}

web::GraphPage empty_page(const Question& question) {
  web::GraphPage page;
  page.record = question.record;
  page.ioc = question.ioc;
  page.depth = std::to_string(question.depth);
  return page;
}

web::Response page_of(const Question& question, const Place& place,
                       const records::RecordGraph& graph,
                       const std::vector<records::GraphRecord>& records, const std::string& dot) {
  web::GraphPage page = empty_page(question);
  page.ioc = place.ioc->name;
  page.heading = records.front().name + " in " + place.ioc->name;
  const auto svg = records::draw_svg(dot);
  if (svg)
    page.picture = *svg;
  else
    page.notes.push_back(svg.error().message() + ".");
  page.notes.emplace_back(
      "An arrow says how often a record processed another through a link, a box how often the "
      "record processed in all and how long its own part takes. Since the exporter began to "
      "count.");
  if (std::ranges::any_of(graph.nodes, &records::RecordGraph::Node::goes_on))
    page.notes.emplace_back("Of a box with a dashed line, links are left out.");
  const std::string same = std::string(kGraphPath) +
                           "?record=" + percent_encoded(question.record) +
                           "&ioc=" + percent_encoded(page.ioc) + "&depth=" + page.depth;
  page.links = {{same + "&format=dot", "DOT", ""}};
  if (svg) page.links.push_back({same + "&format=svg", "SVG", ""});
  page.records = table_of(records);
  return {200, web::kHtmlContentType, web::render_graph_page(page)};
}

web::Response draw(const Question& question, const Place& place) {
  const records::RecordGraph graph = graph_of(place, question.depth);
  const auto records = describe(*place.ioc, graph);
  std::string dot = records::to_dot(graph, records);
  if (question.format == "dot") return {200, "text/vnd.graphviz; charset=utf-8", std::move(dot)};
  if (question.format != "svg") return page_of(question, place, graph, records, dot);
  if (!records::can_draw())
    return refuse(404, "ioc_exporter was built without Graphviz: ask for format=dot");
  auto svg = records::draw_svg(dot);
  if (!svg) return refuse(500, svg.error().message());
  return {200, "image/svg+xml", std::move(*svg)};
}

}  // namespace

web::Response answer_graph(const Snapshot& snapshot, bool links_counted,
                            const web::Request& request) {
  const auto question = read_question(request.query);
  if (!question) return refuse(400, question.error().message());
  if (!links_counted)
    return refuse(404,
                  "links from record to record are not counted: start ioc_exporter with "
                  "--records.links=N, for N links");
  if (question->record.empty() && question->format.empty())
    return {200, web::kHtmlContentType, web::render_graph_page(empty_page(*question))};
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

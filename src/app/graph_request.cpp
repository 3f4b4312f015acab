#include "app/graph_request.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/follow_stream.h"
#include "base/query.h"
#include "base/result.h"
#include "records/graph.h"
#include "web/html.h"

namespace ioc_exporter::app {
namespace {

constexpr unsigned kDefaultDepth = 5;
constexpr std::array<std::string_view, 4> kFormats = {"", "tree", "text", "dot"};

struct Question {
  std::string record, ioc, format;
  unsigned depth = kDefaultDepth;
};

bool is_page(const Question& question) {
  return question.format.empty() || question.format == "tree";
}

struct Place {
  const IocSample* ioc = nullptr;
  std::uint32_t record = 0;
};

Result<Question> read_question(const std::string& query) {
  Question question;
  question.record = query_value(query, "record").value_or("");
  question.ioc = query_value(query, "ioc").value_or("");
  question.format = query_value(query, "format").value_or("");
  if (std::ranges::find(kFormats, question.format) == kFormats.end())
    return error_in_words(
        "format is none of tree, text and dot. Of dot, Graphviz makes pictures: dot -Tsvg");
  const std::string depth = query_value(query, "depth").value_or("");
  if (depth.empty()) return question;
  const auto [end, error] =
      std::from_chars(depth.data(), depth.data() + depth.size(), question.depth);
  if (error != std::errc() || end != depth.data() + depth.size() ||
      question.depth > records::kMostGraphDepth)
    return error_in_words("depth must be 0 to " + std::to_string(records::kMostGraphDepth));
  return question;
}

std::vector<Place> find_places(const std::vector<IocSample>& iocs, const Question& question) {
  std::vector<Place> places;
  for (const IocSample& ioc : iocs) {
    if (!ioc.up || !ioc.database || (!question.ioc.empty() && ioc.name != question.ioc)) continue;
    if (const auto record = records::find_record(*ioc.database, question.record))
      places.push_back({&ioc, *record});
  }
  return places;
}

// A table of a page takes no blanks at the start of a text: no-break spaces instead.
exposition::StatusTable page_table(const records::TreeTable& tree) {
  exposition::StatusTable table;
  table.title = "Records";
  table.rest = tree.left_out;
  for (std::size_t i = 0; i < tree.columns.size(); ++i)
    table.columns.push_back({tree.columns[i], i >= 2 && i <= 6});
  for (const records::TreeTable::Row& row : tree.rows) {
    std::string indent;
    for (unsigned i = 0; i < 4 * row.indent; ++i) indent += "\xC2\xA0";
    auto& cells = table.rows.emplace_back(row.cells);
    cells.front().insert(0, indent);
    if (cells.back().empty()) cells.pop_back();  // no dash for a remark that is not there
  }
  return table;
}

// With the form, filled in as it was asked for.
std::string page_start(const Question& question, const std::string& ioc) {
  return web::page_head("What a record sets in motion") +
         web::form_section(
             records::kGraphPath,
             web::form_field("record", "record", question.record, "32") +
                 web::form_field("IOC", "ioc", ioc, "16") +
                 web::form_field("depth", "depth", std::to_string(question.depth), "3"));
}

web::Response page_of(std::string html) {
  return {200, web::kHtmlContentType, std::move(html) + "</body>\n</html>\n"};
}

web::Response page_of(const Question& question, const std::string& ioc,
                      const records::TreeTable& tree) {
  const std::string same =
      web::escaped(records::kGraphPath + ("?record=" + percent_encoded(question.record)) +
                   "&ioc=" + percent_encoded(ioc) + "&depth=" + std::to_string(question.depth));
  const auto heading = web::escaped(tree.rows.front().cells.front() + " in " + ioc);
  constexpr const char* kNote =
      "Below a record stand those that it processes through its links. \"link followed\" says how "
      "often it did so, \"processed\" how often the record processed for whatever reason, \"self\" "
      "how long its own part takes, without the records below, and \"share\" how much that is of "
      "the time of all records here. Since the exporter began to count.";
  return page_of(page_start(question, ioc) + web::element("h2", "", heading) + "\n" +
                 web::element("p", "dim", web::escaped(kNote)) + "\n" +
                 web::element("p", "",
                              web::joined({"<a href=\"", same, "&amp;format=text\">Text</a> ",
                                           "<a href=\"", same, "&amp;format=dot\">DOT</a> "})) +
                 "\n" + web::table_section(page_table(tree)));
}

web::Response show(const Question& question, const Place& place) {
  records::GraphLimits limits;
  limits.depth = question.depth;
  const auto [graph, described] = records::graph_of(*place.ioc, place.record, limits);
  if (question.format == "dot")
    return {200, "text/vnd.graphviz; charset=utf-8", records::to_dot(graph, described)};
  const records::TreeTable tree = records::tree_table(graph, described, limits);
  if (question.format == "text")
    return {200, "text/plain; charset=utf-8", records::tree_text(tree)};
  return page_of(question, place.ioc->name, tree);
}

}  // namespace

web::Response answer_graph(const std::vector<IocSample>& iocs, bool links_counted,
                           const web::Request& request) {
  const auto question = read_question(request.query);
  if (!question) return refuse(400, question.error().message());
  if (!links_counted)
    return refuse(404,
                  "links from record to record are not counted: start ioc_exporter with "
                  "--records.links=N, for N links");
  if (question->record.empty() && is_page(*question))
    return page_of(page_start(*question, question->ioc));
  if (question->record.empty()) return refuse(400, "which record? ask for ?record=NAME");
  const auto places = find_places(iocs, *question);
  if (places.empty())
    return refuse(404, "no running IOC" + (question->ioc.empty() ? "" : " " + question->ioc) +
                           " has a record " + question->record);
  if (places.size() == 1) return show(*question, places.front());
  std::string names;
  for (const Place& place : places) names += " " + place.ioc->name;
  return refuse(400, "several IOCs have that record: add &ioc=NAME, one of" + names);
}

}  // namespace ioc_exporter::app

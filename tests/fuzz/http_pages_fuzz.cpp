// libFuzzer target for what a client sends over HTTP, and for the names on the pages, which any
// client on the network chooses too.
//
// Input: parts that a zero byte separates: the query of a URL, Accept-Encoding, the name of a PV,
// user, host, an IOC.
//
// For any bytes: nothing outside its own memory is touched (sanitizers); what is
// encoded is decoded to the same; JSON is read back as what it was made of; nothing on a page opens
// a tag that is not ours; nothing in a plain text steers a terminal.
#include <algorithm>
#include <array>

#include "app/status.h"
#include "base/json_reader.h"
#include "base/query.h"
#include "exposition/label_text.h"
#include "fuzz.h"
#include "putlog/who_wrote_command.h"
#include "puts/tables.h"
#include "puts/who_wrote.h"
#include "records/memory/record_states.h"
#include "support/snapshot.h"
#include "web/compression.h"
#include "web/page.h"
#include "web/scraper.h"

namespace {

using namespace ioc_exporter;

using fuzz::check;

std::array<std::string, 6> parts_of(std::string_view input) {
  std::array<std::string, 6> parts;
  for (std::string& part : parts) {
    const std::size_t end = std::min(input.find('\0'), input.size());
    part = input.substr(0, end);
    input.remove_prefix(std::min(end + 1, input.size()));
  }
  return parts;
}

// The snapshot of a host with one IOC, two records, and one put.
Snapshot snapshot_of(const std::array<std::string, 6>& names) {
  auto database = std::make_shared<Database>();
  database->types = {"calc"};
  database->records = {{0x1000, names[2], 0}, {0x2000, "other", 0}};
  Snapshot snapshot;
  IocSample ioc;
  ioc.name = names[5];
  ioc.up = true;
  ioc.database = database;
  snapshot.iocs.push_back(std::move(ioc));
  PutSample put;
  put.ioc = names[5];
  put.pv = names[2];
  put.client = "127.0.0.1";
  put.user = names[3];
  put.host = names[4];
  put.count = 23;
  put.last_time_seconds = 1e9;
  snapshot.puts.push_back(std::move(put));
  snapshot.collectors.push_back({"puts", true, 0});
  return snapshot;
}

// Each '<' begins a tag that the pages are made of.
void check_tags(std::string_view html) {
  static const std::set<std::string_view> kOurs = {
      "!DOCTYPE", "html",   "head", "meta",   "title",  "style",  "body",   "h1",      "h2",
      "p",        "ul",     "li",   "a",      "span",   "div",    "table",  "thead",   "tbody",
      "tr",       "th",     "td",   "form",   "label",  "input",  "button", "details", "summary",
      "section",  "header", "main", "footer", "nav",    "dl",     "dt",     "dd",      "code",
      "strong",   "small",  "br",   "figure", "select", "option", "meter",  "caption"};
  for (std::size_t at = 0; (at = html.find('<', at)) != std::string_view::npos; ++at) {
    std::string_view tag = html.substr(at + 1, 16);
    if (tag.starts_with('/')) tag.remove_prefix(1);
    check(kOurs.contains(tag.substr(0, tag.find_first_of(" >\n"))), "a tag that is not ours");
  }
}

// Nothing in a text steers the terminal that shows it.
void check_plain(std::string_view text) {
  check(std::ranges::all_of(text,
                            [](char c) {
                              const auto byte = static_cast<unsigned char>(c);
                              return c == '\n' || (byte >= 0x20 && byte != 0x7f);
                            }),
        "a control character in a text");
}

void check_who_wrote(const Snapshot& snapshot, const std::string& pv) {
  const std::vector<IocFacts> facts(snapshot.iocs.begin(), snapshot.iocs.end());
  const puts::WhoWrote answer = puts::who_wrote(facts, snapshot, {}, pv);
  const std::string json = puts::to_json(answer);
  const auto read = Json::parse(json);
  check(read.ok(), "its own JSON is not read");
  const Json* const puts = read->find("puts");
  check(read->text_at("pv") == exposition::utf8_safe(pv) && puts != nullptr &&
            puts->items().size() == answer.puts.size(),
        "JSON is read as something else");
  for (std::size_t i = 0; i < answer.puts.size(); ++i) {
    const Json& put = puts->items()[i];
    check(put.text_at("pv") == exposition::utf8_safe(answer.puts[i].pv) &&
              put.text_at("user") == exposition::utf8_safe(answer.puts[i].user) &&
              put.text_at("client_host") == exposition::utf8_safe(answer.puts[i].host),
          "a put is read as another one");
  }
  check_plain(putlog::to_text(*read, 0, 1e9).text);
  check(answer.puts.size() == 1 || pv.empty(), "the put to the PV is not told");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto parts = parts_of({reinterpret_cast<const char*>(data), size});
  const auto& [query, accept_encoding, pv, user, host, ioc] = parts;
  for (const char* name : {"pv", "record", "depth", ""}) query_value(query, name);
  const auto back = query_value("a=b&pv=" + percent_encoded(query), "pv");
  check(back == query, "what was encoded is decoded to something else");
  const web::Coding coding = web::best_coding(accept_encoding);
  check(accept_encoding.find_first_not_of(" \t,") != std::string::npos ||
            coding == web::Coding::identity,
        "a coding without being asked for");
  web::best_format(accept_encoding);

  const Snapshot snapshot = snapshot_of(parts);
  check_who_wrote(snapshot, pv);
  exposition::StatusPage page;
  page.name = page.version = page.description = ioc;
  page.tables = {
      records::stuck_table(snapshot.iocs), puts::clients_table(snapshot),
      puts::puts_table(snapshot, 2e9, [](const PutSample&) { return std::string_view(); }),
      puts::searches_table(snapshot, 2e9), app::limits_table(snapshot.maps)};
  page.notes = {user, host};
  check_tags(web::render_landing_page(page));
  return 0;
}

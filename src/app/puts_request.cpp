#include "app/puts_request.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/follow_stream.h"
#include "app/pages.h"
#include "base/query.h"
#include "base/time_text.h"
#include "putlog/json.h"
#include "putlog/put_query.h"
#include "web/page.h"

namespace ioc_exporter::app {
namespace {

using Clock = std::chrono::steady_clock;
using putlog::Ring;
using putlog::SharedEvent;

constexpr std::size_t kOnThePage = 200;
// Time for matching patterns with puts in memory, for one answer.
constexpr std::chrono::seconds kMatchFor{2};
constexpr const char* kTooLong =
    "it takes too long to find these puts: ask for a shorter time, or by simpler patterns";

web::Response no_log() {
  return refuse(404, "puts are not logged: start ioc_exporter with --collector.putlog");
}

void append_event(std::string& text, const SharedEvent& event) {
  text += "id: " + std::to_string(event->seq) + "\ndata: ";
  putlog::append_json(text, {event});
}

// Since when memory has all puts that are asked for: none has left it, and the exporter runs.
putlog::Since whole_since(const Ring& ring, const putlog::PutQuery& query) {
  auto since = ring.whole_since(query.filter);
  const double start = start_time_seconds();
  return std::max(since, putlog::Since(std::chrono::sys_time<std::chrono::nanoseconds>(
                             std::chrono::nanoseconds(std::llround(start * 1e9)))));
}

// The form's fields, as asked for.
web::PutsPage page_of(const web::Request& request) {
  web::PutsPage page;
  page.origin = exposition::origin_text(this_origin());
  const auto word = [&request](const char* name) {
    return query_value(request.query, name).value_or("");
  };
  page.pv = word("pv");
  page.client = word("client");
  page.user = word("user");
  page.since = word("since");
  page.unexpected = query_value(request.query, "unexpected").has_value();
  page.inside = query_value(request.query, "inside").has_value();
  return page;
}

}  // namespace

web::Response answer_puts(const std::shared_ptr<Ring>& ring, const web::Request& request) {
  if (!ring) return no_log();
  auto query = putlog::parse_put_query(request.query, std::chrono::system_clock::now());
  if (!query) return refuse(400, query.error().message());
  if (query->follow && web::is_of_other_page(request)) return refuse_page();
  if (query->follow)
    return follow(ring, std::move(query->filter), query->since, request.remote, "the put log",
                  append_event);
  web::Response response;
  response.content_type = "application/x-ndjson";
  response.headers["Cache-Control"] = "no-store";
  const auto found =
      ring->find(query->filter, query->since, query->until, query->limit, Clock::now() + kMatchFor);
  if (!found) return refuse(503, kTooLong);
  const auto begin = whole_since(*ring, *query);
  if (query->since && found->size() < query->limit && query->since < begin)
    response.body = std::string("{\"") + putlog::kReach + "\":\"" + time_text(*begin) + "\"}\n";
  for (const SharedEvent& event : *found) {
    putlog::append_json(response.body, {event});
    response.body += '\n';
  }
  return response;
}

web::Response answer_puts_page(const std::shared_ptr<Ring>& ring, const web::Request& request) {
  if (!ring) return no_log();
  const auto query = putlog::parse_put_query(request.query, std::chrono::system_clock::now());
  web::PutsPage page = page_of(request);
  if (query) {
    const auto found =
        ring->find(query->filter, query->since, query->until, kOnThePage, Clock::now() + kMatchFor);
    if (!found) return refuse(503, kTooLong);
    for (auto event = found->rbegin(); event != found->rend(); ++event)
      page.puts.push_back(putlog::to_json(**event));
  } else {
    page.problem = query.error().message();
  }
  web::Response response{query ? 200 : 400, web::kHtmlContentType, web::render_puts_page(page)};
  response.headers["Cache-Control"] = "no-store";
  // The page may use its own script, and that may ask this server; nothing from elsewhere.
  response.headers["Content-Security-Policy"] =
      "default-src 'none'; style-src 'unsafe-inline'; script-src 'self'; connect-src 'self'; "
      "form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
  return response;
}

web::Response answer_puts_script() {
  return {200, "text/javascript; charset=utf-8", std::string(web::puts_script())};
}

}  // namespace ioc_exporter::app

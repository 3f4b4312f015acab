#include "app/puts_request.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/follow_stream.h"
#include "base/query.h"
#include "exposition/json_text.h"
#include "putlog/json.h"
#include "putlog/put_query.h"
#include "web/page.h"

namespace ioc_exporter::app {
namespace {

using Clock = std::chrono::steady_clock;
using putlog::Ring;
using putlog::SharedEvent;

constexpr std::size_t kOnThePage = 200;
// How long patterns are matched with what is in memory, for one answer.
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

// Puts of the store, then those that were in memory at the request.
class StoreStream : public web::BodyStream {
 public:
  struct Place {
    std::shared_ptr<Ring> ring;
    std::unique_ptr<Ring::Follower> follower;
  };
  // `place`: of one who follows, so that nobody takes more of them by asking.
  StoreStream(Place place, std::shared_ptr<putlog::Store> store,
              std::unique_ptr<putlog::Store::Reader> reader, std::string last)
      : place_(std::move(place)),
        store_(std::move(store)),
        reader_(std::move(reader)),
        last_(std::move(last)) {}

  std::optional<std::string> next() override {
    if (!reader_) return std::nullopt;
    const auto until = Clock::now() + kNewsPatience;
    auto lines = reader_->next();
    while (lines && *lines && (*lines)->empty() && Clock::now() < until) lines = reader_->next();
    const auto now = Clock::now();
    if (lines && *lines && (*lines)->empty() && now - told_ >= kSilence) **lines = "\n";
    if (lines && *lines && !(*lines)->empty()) told_ = now;
    if (lines && *lines) return std::move(**lines);
    reader_.reset();
    if (lines) return std::move(last_);
    std::string text = "{\"error\":";
    exposition::append_json_text(text, lines.error().message());
    return text + "}\n";
  }

 private:
  Place place_;
  std::shared_ptr<putlog::Store> store_;  // outlives its reader
  std::unique_ptr<putlog::Store::Reader> reader_;
  std::string last_;
  Clock::time_point told_ = Clock::now();
};

// The form's fields, as asked for.
web::PutsPage page_of(const web::Request& request) {
  web::PutsPage page;
  const auto word = [&request](const char* name) {
    return query_value(request.query, name).value_or("");
  };
  page.pv = word("pv");
  page.client = word("client");
  page.user = word("user");
  page.unexpected = query_value(request.query, "unexpected").has_value();
  return page;
}

}  // namespace

web::Response answer_puts(const std::shared_ptr<Ring>& ring,
                          const std::shared_ptr<putlog::Store>& store,
                          const web::Request& request) {
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
  SharedEvent oldest;  // from there on memory has them
  const auto found =
      ring->find(query->filter, query->since, query->limit, &oldest, Clock::now() + kMatchFor);
  if (!found) return refuse(503, kTooLong);
  for (const SharedEvent& event : *found) {
    putlog::append_json(response.body, {event});
    response.body += '\n';
  }
  if (!store || !query->since || found->size() >= query->limit) return response;
  if (query->limit < SIZE_MAX) query->limit -= found->size();
  auto place = ring->follow({}, {}, web::holder_of(request.remote, ""));
  if (!place)
    return refuse(503, "too many ask the store or follow, of all or from one address", kNoPlace);
  response.stream = std::make_shared<StoreStream>(
      StoreStream::Place{ring, std::move(place)}, store,
      store->read(std::move(*query), oldest ? oldest->seq : UINT64_MAX),
      std::exchange(response.body, {}));
  return response;
}

web::Response answer_puts_page(const std::shared_ptr<Ring>& ring, const web::Request& request) {
  if (!ring) return no_log();
  const auto query = putlog::parse_put_query(request.query, std::chrono::system_clock::now());
  web::PutsPage page = page_of(request);
  if (query) {
    const auto found =
        ring->find(query->filter, query->since, kOnThePage, nullptr, Clock::now() + kMatchFor);
    if (!found) return refuse(503, kTooLong);
    for (auto event = found->rbegin(); event != found->rend(); ++event)
      page.puts.push_back(putlog::to_json(**event));
  } else {
    page.problem = query.error().message();
  }
  web::Response response{query ? 200 : 400, web::kHtmlContentType, web::render_puts_page(page)};
  response.headers["Cache-Control"] = "no-store";
  // Its own script, from here, and what that asks here; nothing from elsewhere.
  response.headers["Content-Security-Policy"] =
      "default-src 'none'; style-src 'unsafe-inline'; script-src 'self'; connect-src 'self'; "
      "form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
  return response;
}

web::Response answer_puts_script() {
  return {200, "text/javascript; charset=utf-8", std::string(web::puts_script())};
}

}  // namespace ioc_exporter::app

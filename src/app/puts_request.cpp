#include "app/puts_request.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/follow_stream.h"
#include "base/process_stats.h"
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
// Time for matching patterns with puts in memory, for one answer.
constexpr std::chrono::seconds kMatchFor{2};
// How long the store may say nothing.
constexpr std::chrono::seconds kStorePatience{2};
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
  if (const auto process = read_process_stats(RootedFs()))
    since = std::max(
        since, putlog::Since(std::chrono::sys_time<std::chrono::nanoseconds>(
                   std::chrono::nanoseconds(std::llround(process->start_time_seconds * 1e9)))));
  return since;
}

// Puts of the store, then those that were in memory at the request.
class StoreStream : public web::BodyStream {
 public:
  // `place`: of a follower: questions to the store take the same places.
  StoreStream(std::shared_ptr<Ring> ring, std::unique_ptr<Ring::Follower> place, UniqueFd answer,
              std::string last)
      : ring_(std::move(ring)),
        place_(std::move(place)),
        answer_(std::move(answer)),
        last_(std::move(last)) {}

  std::optional<std::string> next() override {
    if (!answer_) return std::nullopt;
    pollfd event{answer_.get(), POLLIN, 0};
    if (::poll(&event, 1, static_cast<int>(kNewsPatience.count())) <= 0) {
      silence_ += kNewsPatience;
      return silence_ < kStorePatience ? "" : end();
    }
    silence_ = {};
    std::string text(kPiece, '\0');
    const ssize_t got = ::read(answer_.get(), text.data(), text.size());
    if (got <= 0) return end();
    text.resize(static_cast<std::size_t>(got));
    if (text.back() != '\0') return text;
    text.pop_back();
    answer_.reset();
    return text + last_;
  }

 private:
  static constexpr std::size_t kPiece = 64u << 10;

  std::string end() {
    answer_.reset();
    return putlog::error_line(error_in_words(
        "the store does not answer: its disk hangs, or the process that delivers does"));
  }

  std::shared_ptr<Ring> ring_;  // outlives its follower
  std::unique_ptr<Ring::Follower> place_;
  UniqueFd answer_;
  std::string last_;
  std::chrono::milliseconds silence_{};
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
  page.since = word("since");
  page.unexpected = query_value(request.query, "unexpected").has_value();
  page.inside = query_value(request.query, "inside").has_value();
  return page;
}

}  // namespace

web::Response answer_puts(const std::shared_ptr<Ring>& ring, const AskStore& ask_store,
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
  Ring::Oldest oldest;  // from there on memory has them
  const auto found =
      ring->find(query->filter, query->since, query->limit, &oldest, Clock::now() + kMatchFor);
  if (!found) return refuse(503, kTooLong);
  const bool all_asked = query->since && found->size() < query->limit;
  if (const auto begin = whole_since(*ring, *query);
      all_asked && !ask_store && query->since < begin)
    response.body = putlog::reach_line(*begin);
  for (const SharedEvent& event : *found) {
    putlog::append_json(response.body, {event});
    response.body += '\n';
  }
  if (!ask_store || !all_asked) return response;
  if (query->limit < SIZE_MAX) query->limit -= found->size();
  auto place = ring->follow({}, {}, web::holder_of(request.remote, ""));
  if (!place)
    return refuse(503, "too many ask the store or follow, of all or from one address", kNoPlace);
  putlog::Before before;
  std::ranges::transform(oldest, before.begin(),
                         [](const auto& event) { return event ? event->seq : UINT64_MAX; });
  auto answer = ask_store(putlog::question_of(query->limit, before, request.query));
  if (!answer) return refuse(503, answer.error().message());
  response.stream = std::make_shared<StoreStream>(ring, std::move(place), std::move(*answer),
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

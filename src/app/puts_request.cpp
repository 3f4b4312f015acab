#include "app/puts_request.h"

#include <chrono>
#include <string>
#include <utility>

#include "base/query.h"
#include "putlog/json.h"
#include "putlog/put_query.h"
#include "web/puts_page.h"

namespace ioc_exporter::app {
namespace {

using Clock = std::chrono::steady_clock;
using putlog::Ring;
using putlog::SharedEvent;

constexpr std::chrono::milliseconds kPatience{250};
// Without puts a comment goes out, so that who has gone is seen, and who waits sees us.
constexpr std::chrono::seconds kSilence{5};
constexpr std::size_t kOnThePage = 200;

web::Response refuse(int status, const std::string& why) {
  web::Response response;
  response.status = status;
  response.body = std::to_string(status) + " " + why + "\n";
  return response;
}

web::Response no_log() {
  return refuse(404, "puts are not logged: start ioc_exporter with --collector.putlog");
}

class PutStream : public web::BodyStream {
 public:
  PutStream(std::shared_ptr<Ring> ring, std::unique_ptr<Ring::Follower> follower)
      : ring_(std::move(ring)), follower_(std::move(follower)) {}

  std::optional<std::string> next() override {
    if (ended_) return std::nullopt;
    std::string text;
    if (std::exchange(first_, false)) text = "retry: 3000\n\n";
    const Ring::Follower::News news = follower_->next(text.empty() ? kPatience : kPatience * 0);
    for (const SharedEvent& event : news.events) {
      text += "id: " + std::to_string(event->seq) + "\ndata: ";
      putlog::append_json(text, {event});
      text += "\n\n";
    }
    if (news.lost > 0)
      text += "event: lost\ndata: {\"lost\":" + std::to_string(news.lost) + "}\n\n";
    ended_ = news.ended || news.lost > 0;
    const auto now = Clock::now();
    if (text.empty() && now - last_ >= kSilence) text = ":\n\n";
    if (!text.empty()) last_ = now;
    return text;
  }

 private:
  std::shared_ptr<Ring> ring_;  // outlives its follower
  std::unique_ptr<Ring::Follower> follower_;
  Clock::time_point last_ = Clock::now();
  bool first_ = true, ended_ = false;
};

web::Response follow(const std::shared_ptr<Ring>& ring, putlog::PutQuery query,
                     const std::string& remote) {
  auto follower = ring->follow(std::move(query.filter), query.since, web::holder_of(remote, ""));
  if (!follower) return refuse(503, "too many follow the put log, of all or from one address");
  web::Response response;
  response.content_type = "text/event-stream";
  response.headers["Cache-Control"] = "no-store";
  response.stream = std::make_shared<PutStream>(ring, std::move(follower));
  return response;
}

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

web::Response answer_puts(const std::shared_ptr<Ring>& ring, const web::Request& request) {
  if (!ring) return no_log();
  auto query = putlog::parse_put_query(request.query, std::chrono::system_clock::now());
  if (!query) return refuse(400, query.error().message());
  if (query->follow) return follow(ring, std::move(*query), request.remote);
  web::Response response;
  response.content_type = "application/x-ndjson";
  response.headers["Cache-Control"] = "no-store";
  for (const SharedEvent& event : ring->find(query->filter, query->since, query->limit)) {
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
    const auto found = ring->find(query->filter, query->since, kOnThePage);
    for (auto event = found.rbegin(); event != found.rend(); ++event)
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

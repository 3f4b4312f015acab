// FollowStream: new items of a ring, as server-sent events.
//
// Each event has an "id" and its JSON as "data". The event "lost" says that the client was too
// slow, and how many items it missed; then the stream ends.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/http_client.h"
#include "delivery/ring.h"
#include "web/message.h"

namespace ioc_exporter::app {

// `reason`: see web::Response::refused.
inline web::Response refuse(int status, const std::string& why, const char* reason = "") {
  web::Response response = web::refused(status, reason, why);
  if (status == 404) response.content_type = kNotFoundType;
  return response;
}

// Otherwise any page in a browser could take the followers' places.
inline web::Response refuse_page() {
  return refuse(403, "this is not to be followed by pages of other sites", "origin");
}

// Among the reasons of ioc_exporter_http_refused_total.
inline constexpr const char* kNoPlace = "followers";
// How long a stream waits for news before it checks whether it should end.
inline constexpr std::chrono::milliseconds kNewsPatience{250};
// Without news a comment is sent, so that both sides notice a lost connection.
inline constexpr std::chrono::seconds kSilence{5};

template <class Ring>
class FollowStream : public web::BodyStream {
 public:
  using Clock = std::chrono::steady_clock;
  // Appends "id: ...\ndata: {...}".
  using Append = void (*)(std::string&, const typename Ring::Item&);

  FollowStream(std::shared_ptr<Ring> ring, std::unique_ptr<typename Ring::Follower> follower,
               Append append, Clock::time_point until)
      : ring_(std::move(ring)), follower_(std::move(follower)), append_(append), until_(until) {}

  std::optional<std::string> next() override {
    if (ended_) return std::nullopt;
    std::string text;
    if (std::exchange(first_, false)) text = "retry: 3000\n\n";
    const auto news = follower_->next(text.empty() ? kNewsPatience : kNewsPatience * 0);
    for (const auto& item : news.items) {
      append_(text, item);
      text += "\n\n";
    }
    if (news.lost > 0)
      text += "event: lost\ndata: {\"lost\":" + std::to_string(news.lost) + "}\n\n";
    const auto now = Clock::now();
    whole_ = news.lost == 0;
    ended_ = news.ended || !whole_ || now >= until_;
    if (text.empty() && now - last_ >= kSilence) text = ":\n\n";
    if (!text.empty()) last_ = now;
    return text;
  }
  bool is_whole() const override { return whole_; }

 private:
  std::shared_ptr<Ring> ring_;  // outlives its follower
  std::unique_ptr<typename Ring::Follower> follower_;
  const Append append_;
  const Clock::time_point until_;
  Clock::time_point last_ = Clock::now();
  bool first_ = true, whole_ = true, ended_ = false;
};

// `what`: the followed things, for the text of a refusal. The number of places is limited.
template <class Ring>
web::Response follow(
    const std::shared_ptr<Ring>& ring, typename Ring::Filter filter, const delivery::Since& since,
    const std::string& remote, const char* what, typename FollowStream<Ring>::Append append,
    std::chrono::steady_clock::time_point until = std::chrono::steady_clock::time_point::max()) {
  auto follower = ring->follow(std::move(filter), since, remote);
  if (!follower)
    return refuse(503, std::string("too many follow ") + what + ", of all or from one address",
                  kNoPlace);
  web::Response response;
  response.content_type = "text/event-stream";
  response.headers["Cache-Control"] = "no-store";
  response.stream = std::make_shared<FollowStream<Ring>>(ring, std::move(follower), append, until);
  return response;
}

}  // namespace ioc_exporter::app

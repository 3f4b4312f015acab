// GET /api/v1/puts and /puts, by requests and, to follow, through a real server.
#include "app/puts_request.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "base/http_client.h"
#include "putlog/json.h"
#include "putlog/put_query.h"
#include "putlog/puts_command.h"
#include "support/value_of.h"
#include "web/server.h"

namespace ioc_exporter::app {
namespace {

using namespace std::chrono_literals;

putlog::PutEvent event(std::uint64_t seq, const std::string& pv) {
  putlog::PutEvent event;
  event.time = std::chrono::system_clock::now();
  event.seq = seq;
  event.pv = pv;
  event.value = putlog::Value{{0.5}, false};
  return event;
}

class PutsRequestTest : public testing::Test {
 protected:
  void add(std::uint64_t seq, const std::string& pv = "A") {
    ring_->add(std::vector{std::make_shared<const putlog::PutEvent>(event(seq, pv))});
  }
  web::Response ask(const std::string& query) const {
    web::Request request;
    request.query = query;
    request.remote = "10.0.0.7";
    return answer_puts(ring_, request);
  }
  std::unique_ptr<web::Server> serve() {
    web::ServerOptions options;
    options.listen = {"127.0.0.1:0"};
    options.routes[putlog::kPutsPath] = [this](const web::Request& request) {
      return answer_puts(ring_, request);
    };
    auto server = value_of(web::Server::start(std::move(options)));
    url_ = "http://127.0.0.1:" + std::to_string(server->port()) + putlog::kPutsPath;
    return server;
  }
  void wait_for_followers(std::uint64_t count) const {
    for (int i = 0; i < 6000 && ring_->followers() != count; ++i) std::this_thread::sleep_for(10ms);
    EXPECT_EQ(ring_->followers(), count);
  }

  std::shared_ptr<putlog::Ring> ring_ = std::make_shared<putlog::Ring>(delivery::RingBounds{100});
  std::string url_;
};

TEST_F(PutsRequestTest, AQueryIsAnsweredWithLines) {
  add(1);
  add(2, "B");
  add(3);
  const auto answer = ask("pv=A");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.content_type, "application/x-ndjson");
  EXPECT_EQ(std::count(answer.body.begin(), answer.body.end(), '\n'), 2);
  EXPECT_NE(answer.body.find("\"seq\":3,"), std::string::npos);
  EXPECT_EQ(ask("pv=A&limit=1").body.find("\"seq\":1,"), std::string::npos);
  EXPECT_EQ(ask("pv=C").body, "");
}

TEST_F(PutsRequestTest, AnAnswerSaysHowFarItReachesBack) {
  add(1);
  EXPECT_TRUE(ask("since=1h").body.starts_with("{\"reaches_back_to\":\"2")) << "it runs since now";
  EXPECT_TRUE(ask("since=1h&limit=1").body.starts_with("{\"time\":"));
  EXPECT_TRUE(ask("").body.starts_with("{\"time\":"));
  EXPECT_EQ(ask("since=0s").body.find("reaches"), std::string::npos);
}

TEST_F(PutsRequestTest, AnInvalidQueryIsRefused) {
  EXPECT_EQ(ask("pv=(").status, 400);
  ring_.reset();
  EXPECT_EQ(ask("").status, 404);
  EXPECT_EQ(ask("").content_type, kNotFoundType);
  EXPECT_EQ(answer_puts_page(ring_, {}).status, 404);
}

TEST_F(PutsRequestTest, AFollowerSeesEachPutOnce) {
  const auto server = serve();
  add(1);
  std::vector<std::string> seen;
  std::thread follows([&] {
    putlog::EventStream stream;
    const auto followed = follow(
        url_ + "?follow=1&since=1m",
        [&](std::string_view piece) {
          for (std::string& one : stream.take(piece)) seen.push_back(std::move(one));
          return seen.size() < 24;
        },
        60s);
    EXPECT_TRUE(followed) << followed.error().message();
  });
  wait_for_followers(1);
  for (std::uint64_t seq = 2; seq <= 24; ++seq) add(seq);
  follows.join();
  ASSERT_EQ(seen.size(), 24u);
  for (std::size_t i = 0; i < 24; ++i)
    EXPECT_NE(seen[i].find("\"seq\":" + std::to_string(i + 1) + ","), std::string::npos);
  // The server sees that he has gone when it says the next thing.
  for (std::uint64_t seq = 25; ring_->followers() > 0 && seq < 6000; ++seq) {
    add(seq);
    std::this_thread::sleep_for(10ms);
  }
  EXPECT_EQ(ring_->followers(), 0u);
}

TEST_F(PutsRequestTest, TooManyFollowersAreRefusedAndTheOthersGoOn) {
  std::vector<web::Response> all;
  while (all.size() < delivery::Followers::kMostOfOne) all.push_back(ask("follow=1"));
  const auto refused = ask("follow=1");
  EXPECT_EQ(refused.status, 503);
  EXPECT_STREQ(refused.refused, "followers");
  EXPECT_EQ(ask("").status, 200);
  add(1);
  for (const auto& one : all) {
    ASSERT_TRUE(one.stream);
    EXPECT_NE(value_of(one.stream->next()).find("\"seq\":1,"), std::string::npos);
  }
}

TEST_F(PutsRequestTest, TheServersEndEndsFollowers) {
  auto server = serve();
  std::thread follows([&] {
    (void)follow(
        url_ + "?follow=1", [](std::string_view) { return true; }, 60s);
  });
  wait_for_followers(1);
  server.reset();
  follows.join();
  EXPECT_EQ(ring_->followers(), 0u);
}

TEST_F(PutsRequestTest, ASlowFollowerIsToldAndDisconnected) {
  const auto answer = ask("follow=1");
  ASSERT_TRUE(answer.stream);
  for (std::uint64_t seq = 1; seq <= 150; ++seq) add(seq);
  EXPECT_EQ(answer.stream->next(), "retry: 3000\n\nevent: lost\ndata: {\"lost\":50}\n\n");
  EXPECT_EQ(answer.stream->next(), std::nullopt);
  EXPECT_FALSE(answer.stream->is_whole());
}

// PV names, values and users are what clients say.
TEST_F(PutsRequestTest, ThePageShowsTextsAsTexts) {
  add(1, "<script>alert(1)</script>");
  web::Request request;
  request.query = "pv=.*%22%3E%3Cb%3E.*%7C.*&since=7d";
  const auto page = answer_puts_page(ring_, request);
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.body.find("<script>alert"), std::string::npos);
  EXPECT_NE(page.body.find("&lt;script&gt;alert"), std::string::npos);
  EXPECT_EQ(page.body.find("<b>"), std::string::npos);
  EXPECT_NE(page.body.find("name=\"since\" size=\"8\" value=\"7d\""), std::string::npos)
      << page.body;
  const std::string& policy = page.headers.at("Content-Security-Policy");
  EXPECT_EQ(policy.find("unsafe-eval"), std::string::npos);
  EXPECT_NE(policy.find("default-src 'none'"), std::string::npos);
  EXPECT_NE(policy.find("script-src 'self';"), std::string::npos);
  const std::string script = answer_puts_script().body;
  for (const char* danger : {"innerHTML", "eval", "insertAdjacent", "document.write", "http"})
    EXPECT_EQ(script.find(danger), std::string::npos) << danger;
  request.query = "pv=(";
  EXPECT_EQ(answer_puts_page(ring_, request).status, 400);
}

}  // namespace
}  // namespace ioc_exporter::app

// What the server bears: a thousand connections, clients that send slowly, or never read.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "http_client.h"
#include "test_server.h"
#include "web/server.h"

namespace ioc_exporter::web {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Clients = std::vector<std::unique_ptr<HttpClient>>;

// A scrape gives up after that.
constexpr auto kScrapeTimeout = 10s;

struct ServerCrowd : testing::Test {
  ServerCrowd() {
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = std::min<rlim_t>(files.rlim_max, 8192);
    ::setrlimit(RLIMIT_NOFILE, &files);
  }
  Clients connect(int count, const std::string& bytes) {
    Clients clients;
    for (int i = 0; i < count; ++i) {
      clients.push_back(std::make_unique<HttpClient>(server_->port()));
      if (!clients.back()->connected()) ADD_FAILURE() << "connection " << i << " of " << count;
      clients.back()->send(bytes);
    }
    return clients;
  }
  void expect_an_answer(const std::string& to) {
    const auto asked = Clock::now();
    EXPECT_EQ(ask(server_->port(), "GET", "/small").status, 200) << to;
    EXPECT_LT(Clock::now() - asked, kScrapeTimeout) << to;
  }

  ServerOptions options_ = [] {
    ServerOptions options = options_on({"127.0.0.1:0"});
    options.request_timeout = ServerOptions().request_timeout;
    options.unlimited = {"/small"};  // it is about connections here, not about places for pages
    return options;
  }();
  std::unique_ptr<Server> server_ = start(options_);
};

TEST_F(ServerCrowd, AThousandSilentConnections) {
  const Clients silent = connect(1000, "");
  expect_an_answer("a client behind 1,000 that say nothing");
}

TEST_F(ServerCrowd, AThousandHalfRequests) {
  const Clients slow = connect(1000, "GET /small HTTP/1.1\r\nHost: x\r\nX-Slow: ");
  expect_an_answer("a client behind 1,000 with half a request");
}

// Each gets its answer, and would like to be kept.
TEST_F(ServerCrowd, AThousandConnectionsThatStay) {
  Clients many = connect(1000, "GET /small HTTP/1.1\r\nHost: x\r\n\r\n");
  expect_an_answer("a client behind 1,000 others");
  int right = 0;
  for (const auto& client : many) right += client->receive().status == 200;
  EXPECT_EQ(right, 1000);
}

// A byte now and then, for longer than a request may take.
TEST_F(ServerCrowd, DripFedRequestsAreCut) {
  Clients slow = connect(20, "GET /small HTTP/1.1\r\nX-Slow: ");
  for (int i = 0; i < 24; ++i) {
    for (const auto& client : slow) client->send("x");
    std::this_thread::sleep_for(250ms);
  }
  const auto asked = Clock::now();
  for (const auto& client : slow) EXPECT_EQ(client->receive().status, 400);
  EXPECT_LT(Clock::now() - asked, 2s);  // they were cut before
}

// As many as there are threads, and each goes on sending a body that nobody wants.
TEST_F(ServerCrowd, BodiesThatTrickleTakeNoThreads) {
  const Clients slow =
      connect(140, "POST /small HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n");
  std::atomic<bool> done{false};
  std::thread trickle([&] {
    while (!done) {
      for (const auto& client : slow) client->send("x");
      std::this_thread::sleep_for(100ms);
    }
  });
  for (int i = 0; i < 5; ++i) expect_an_answer("a client beside 140 bodies that trickle");
  done = true;
  trickle.join();
}

// As many as there are threads, each with an answer that it does not take.
TEST_F(ServerCrowd, WhoNeverReadsTakesNotAllThreads) {
  const auto large = [] {
    ByteBuffer bytes;
    bytes.append(std::string(8u << 20, 'x'));
    return std::make_shared<const ByteBuffer>(std::move(bytes));
  }();
  options_.routes["/large"] = [large](const Request&) {
    Response response;
    response.shared_body = large;
    return response;
  };
  options_.unlimited.insert("/large");
  server_ = start(options_);
  const Clients deaf = connect(140, "GET /large HTTP/1.1\r\nHost: x\r\n\r\n");
  for (int i = 0; i < 5; ++i) expect_an_answer("a client beside 140 that never read");
}

TEST_F(ServerCrowd, AnswersWhileOthersNeverRead) {
  options_.routes["/huge"] = [](const Request&) {
    return Response{200, "text/plain", std::string(48u << 20, 'x')};
  };
  options_.max_requests = 16;
  server_ = start(options_);
  const Clients deaf = connect(12, "GET /huge HTTP/1.1\r\nHost: x\r\n\r\n");
  std::this_thread::sleep_for(500ms);
  expect_an_answer("a client beside 12 that never read");
}

}  // namespace
}  // namespace ioc_exporter::web

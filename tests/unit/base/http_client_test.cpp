// Where an answer ends, of servers that do not close the connection. The rest: web/fetch_test.cpp
#include "base/http_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <string>
#include <thread>
#include <utility>

#include "base/unique_fd.h"

namespace ioc_exporter {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using Clock = std::chrono::steady_clock;

// Answers one request, and keeps the connection until it is destroyed. `again`: what it sends then
// for as long as it is taken.
class HoldingServer {
 public:
  explicit HoldingServer(std::string answer, std::string again = "")
      : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listener_.get(), 1), 0);
    EXPECT_EQ(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/";
    thread_ = std::thread([this, answer = std::move(answer), again = std::move(again)] {
      held_.reset(::accept(listener_.get(), nullptr, nullptr));
      char request[4096];
      EXPECT_GT(::recv(held_.get(), request, sizeof request, 0), 0);
      ::send(held_.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
      while (!again.empty() && ::send(held_.get(), again.data(), again.size(), MSG_NOSIGNAL) > 0) {
      }
    });
  }
  ~HoldingServer() { thread_.join(); }
  HoldingServer(const HoldingServer&) = delete;
  HoldingServer& operator=(const HoldingServer&) = delete;

  const std::string& url() const { return url_; }

 private:
  UniqueFd listener_, held_;
  std::string url_;
  std::thread thread_;
};

TEST(HttpClient, AnAnswerWithALengthEndsThere) {
  const HoldingServer server("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nall and more");
  const auto fetched = fetch(server.url());
  ASSERT_TRUE(fetched) << fetched.error().message();
  EXPECT_EQ(fetched->body, "all");
}

TEST(HttpClient, AnAnswerThatHasNoBodyEndsWithItsHead) {
  const HoldingServer server("HTTP/1.1 204 No Content\r\nContent-Type: a/b\r\n\r\n");
  const auto fetched = fetch(server.url());
  ASSERT_TRUE(fetched) << fetched.error().message();
  EXPECT_EQ(fetched->status, 204);
  EXPECT_EQ(fetched->content_type, "a/b");
}

TEST(HttpClient, InterimAnswersAreNone) {
  const HoldingServer server(
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\nContent-Length: 9\r\n\r\n"
      "HTTP/1.1 103 Early Hints\r\nContent-Type: x\r\n\r\nHTTP/1.1 202 X\r\nContent-Length: "
      "2\r\n\r\nok");
  const auto fetched = fetch(server.url());
  ASSERT_TRUE(fetched) << fetched.error().message();
  EXPECT_EQ(fetched->status, 202);
  EXPECT_EQ(fetched->body, "ok");
}

TEST(HttpClient, EndlessHeadsAreAnError) {
  for (const char* again : {"X: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n",
                            "\r\nHTTP/1.1 100 Continue\r\n"}) {
    const HoldingServer server("HTTP/1.1 100 Continue\r\n", again);
    const auto fetched = fetch(server.url());
    ASSERT_FALSE(fetched);
    EXPECT_THAT(fetched.error().message(), HasSubstr(": its head is longer than 64 KiB"));
  }
}

TEST(HttpClient, FollowingEndsWithARefusal) {
  const HoldingServer server("HTTP/1.1 404 X\r\nContent-Length: 2\r\n\r\nno");
  const auto fetched = follow(
      server.url(), [](std::string_view) { return true; }, 10s);
  ASSERT_TRUE(fetched) << fetched.error().message();
  EXPECT_EQ(fetched->status, 404);
  EXPECT_EQ(fetched->body, "no");
}

TEST(HttpClient, FollowedAnswersAreReadAsTheyArrive) {
  const HoldingServer server("HTTP/1.1 200 X\r\n\r\none");
  std::string read;
  const auto fetched = follow(
      server.url(),
      [&read](std::string_view more) {
        read += more;
        return read.size() < 3;
      },
      10s);
  ASSERT_TRUE(fetched) << fetched.error().message();
  EXPECT_EQ(fetched->status, 200);
  EXPECT_EQ(read, "one");
}

TEST(HttpClient, OnlyTheBeginningOfAnAnswerToAPostIsRead) {
  for (const char* head :
       {"HTTP/1.1 200 X\r\n\r\n", "HTTP/1.1 200 X\r\nContent-Length: 99999999999\r\n\r\n"}) {
    const HoldingServer server(head, std::string(1000, 'a'));
    const auto answer = send_post({server.url(), "text/plain", "hello", {}, {}}, 10s);
    ASSERT_TRUE(answer) << answer.error().message();
    EXPECT_EQ(answer->body, std::string(16 << 10, 'a'));
  }
}

}  // namespace
}  // namespace ioc_exporter

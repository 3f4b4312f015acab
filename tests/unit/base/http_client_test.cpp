// The client of HTTP, against sockets that answer as servers do, and as none should.
#include "base/http_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <string>
#include <thread>
#include <utility>

#include "support/loopback.h"
#include "support/value_of.h"

namespace ioc_exporter {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

enum class Then { holds, closes };

// Answers one request, and closes, or keeps the connection until it is destroyed. `again`: what it
// sends before that for as long as it is taken.
class OneAnswer {
 public:
  explicit OneAnswer(std::string answer, Then then = Then::holds, std::string again = "",
                     std::chrono::milliseconds pause = 0ms)
      : thread_([this, answer = std::move(answer), then, again = std::move(again), pause] {
          held_.reset(::accept(listener_.get(), nullptr, nullptr));
          char request[4096];
          const ssize_t got = ::recv(held_.get(), request, sizeof request, 0);
          EXPECT_GT(got, 0);
          request_.assign(request, got > 0 ? static_cast<std::size_t>(got) : 0);
          ::send(held_.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
          while (!again.empty() &&
                 ::send(held_.get(), again.data(), again.size(), MSG_NOSIGNAL) > 0)
            std::this_thread::sleep_for(pause);
          if (then == Then::closes) held_.reset();
        }) {}
  ~OneAnswer() {
    if (thread_.joinable()) thread_.join();
  }
  OneAnswer(const OneAnswer&) = delete;
  OneAnswer& operator=(const OneAnswer&) = delete;

  std::string url(const std::string& host = "127.0.0.1") const {
    return "http://" + host + ":" + std::to_string(port_of(listener_)) + "/";
  }
  const std::string& request() {
    thread_.join();
    return request_;
  }

 private:
  const UniqueFd listener_ = listener_on_loopback();
  UniqueFd held_;
  std::string request_;
  std::thread thread_;
};

std::string failure(const std::string& url, std::chrono::milliseconds timeout = 60s) {
  const auto fetched = fetch(url, timeout);
  return fetched ? "no error: " + fetched->body : fetched.error().message();
}

TEST(HttpClient, AnAnswerEndsWhereItSaysOrWithTheConnection) {
  const std::string large(500'009, 'x');
  struct Row {
    std::string answer;
    Then then;
    int status;
    std::string body, type = {};
  };
  for (const Row& row :
       {Row{"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nall and more", Then::holds, 200, "all"},
        {"HTTP/1.1 204 No Content\r\nContent-Type: a/b\r\n\r\n", Then::holds, 204, "", "a/b"},
        {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\nContent-Length: 9\r\n\r\n"
         "HTTP/1.1 103 Early Hints\r\nContent-Type: x\r\n\r\nHTTP/1.1 202 X\r\n"
         "Content-Type: y\r\nContent-Length: 2\r\n\r\nok",
         Then::holds, 202, "ok", "y"},
        {"HTTP/1.0 404 X\r\nX: y\r\n\r\n" + large, Then::closes, 404, large}}) {
    const OneAnswer server(row.answer, row.then);
    const auto fetched = value_of(fetch(server.url()));
    EXPECT_EQ(fetched.status, row.status);
    EXPECT_EQ(fetched.content_type, row.type) << row.status;
    EXPECT_TRUE(fetched.body == row.body) << row.status << ": " << fetched.body.size() << " bytes";
  }
}

TEST(HttpClient, PathAndQueryAreSentAsTheyAre) {
  OneAnswer server("HTTP/1.1 204 X\r\n\r\n");
  EXPECT_EQ(value_of(fetch(server.url("localhost") + "small?pv=a%20b#x")).status, 204);
  EXPECT_THAT(server.request(), StartsWith("GET /small?pv=a%20b HTTP/1.1\r\n"));
}

TEST(HttpClient, NobodyListens) {
  const std::uint16_t port = port_of(listener_on_loopback());
  EXPECT_EQ(failure("http://127.0.0.1:" + std::to_string(port)),
            "connect to 127.0.0.1 port " + std::to_string(port) + ": Connection refused");
}

TEST(HttpClient, UrlsAreRefusedInWords) {
  EXPECT_EQ(
      failure("localhost:10064"),
      "read the URL \"localhost:10064\": not of the form http://HOST[:PORT][/PATH], without a "
      "password");
  for (const char* bad : {"ftp://h/", "http://", "http://:1/", "http://h:", "http://h:0",
                          "http://h:65536", "http://h:1x", "http://[::1]:x",
                          "http://user:secret@h/", "http://h/a b", "http://h/\r\nX: y"})
    EXPECT_THAT(failure(bad), StartsWith("read the URL ")) << bad;
  EXPECT_THAT(failure("http://no-such-host.invalid/"),
              StartsWith("find the host no-such-host.invalid: "));
}

TEST(HttpClient, WhatIsNoAnswerIsAnError) {
  for (const char* answer : {"", "SSH-2.0-x\r\n\r\n", "HTTP/1.1 abc\r\n\r\n", "HTTP/1.1 200"})
    EXPECT_THAT(failure(OneAnswer(answer, Then::closes).url()), StartsWith("read the answer of "))
        << answer;
  const OneAnswer cut("HTTP/1.1 200 OK\r\nContent-Length: 23\r\n\r\nhalf", Then::closes);
  EXPECT_THAT(failure(cut.url()), HasSubstr("19 bytes remaining"));
  for (const char* again : {"X: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n",
                            "\r\nHTTP/1.1 100 Continue\r\n"}) {
    const OneAnswer endless("HTTP/1.1 100 Continue\r\n", Then::holds, again);
    EXPECT_THAT(failure(endless.url()), HasSubstr(": its head is longer than 64 KiB"));
  }
}

// The timeout is for the whole, and what came until then is no answer; nor is what comes byte by
// byte.
TEST(HttpClient, SilenceEndsWithTheTimeout) {
  for (const auto& [sent, again] : {std::pair{"HTTP/1.1 200 OK\r\n", ""},
                                    {"HTTP/1.0 200 OK\r\n\r\nhalf", ""},
                                    {"HTTP/1.0 200 OK\r\nContent-Length: 23\r\n\r\nhalf", ""},
                                    {"HTTP/1.0 200 OK\r\nX: ", "x"},
                                    {"HTTP/1.0 200 OK\r\n\r\n", "x"}}) {
    const OneAnswer server(sent, Then::holds, again, 5ms);
    const std::string said = failure(server.url(), 2s);
    EXPECT_THAT(said, StartsWith("read the answer of 127.0.0.1 port ")) << sent;
    EXPECT_THAT(said, HasSubstr(": Connection timed out")) << sent;
  }
}

TEST(HttpClient, FollowedAnswersAreReadAsTheyArriveAndARefusalIsOne) {
  const OneAnswer refuses("HTTP/1.1 404 X\r\nContent-Length: 2\r\n\r\nno");
  const auto refused = value_of(follow(
      refuses.url(), [](std::string_view) { return true; }, 10s));
  EXPECT_EQ(refused.status, 404);
  EXPECT_EQ(refused.body, "no");
  const OneAnswer server("HTTP/1.1 200 X\r\n\r\none");
  std::string read;
  const auto followed = value_of(follow(
      server.url(),
      [&read](std::string_view more) {
        read += more;
        return read.size() < 3;
      },
      10s));
  EXPECT_EQ(followed.status, 200);
  EXPECT_EQ(read, "one");
}

TEST(HttpClient, OnlyTheBeginningOfAnAnswerToAPostIsRead) {
  for (const char* head :
       {"HTTP/1.1 200 X\r\n\r\n", "HTTP/1.1 200 X\r\nContent-Length: 99999999999\r\n\r\n"}) {
    const OneAnswer server(head, Then::holds, std::string(1000, 'a'));
    const auto answer = value_of(send_post({server.url(), "text/plain", "hello", {}, {}}, 10s));
    EXPECT_EQ(answer.body, std::string(16 << 10, 'a'));
  }
}

}  // namespace
}  // namespace ioc_exporter

// Against our own server, and against sockets that answer what no server should.
#include "base/http_client.h"

#include <gmock/gmock.h>

#include <thread>

#include "support/loopback.h"
#include "support/value_of.h"
#include "test_server.h"

namespace ioc_exporter::web {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::StartsWith;

std::string failure(const std::string& url, milliseconds timeout = milliseconds(60'000)) {
  const auto fetched = fetch(url, timeout);
  return fetched ? "no error: " + fetched->body : fetched.error().message();
}

class Fetch : public ServerFixture {
 protected:
  std::string url(const std::string& path) {
    return "http://127.0.0.1:" + std::to_string(port_) + path;
  }
};

TEST_F(Fetch, AnyAnswer) {
  auto fetched = value_of(fetch(url("/metrics")));
  EXPECT_EQ(fetched.status, 200);
  EXPECT_EQ(fetched.body, long_text());
  EXPECT_EQ(value_of(fetch(url("/nowhere"))).status, 404);
  fetched = value_of(fetch("http://localhost:" + std::to_string(port_) + "/small?pv=a%20b#x"));
  EXPECT_EQ(fetched.status, 200);
  EXPECT_THAT(fetched.body, HasSubstr("/small?pv=a%20b ")) << "path and query as sent";
}

TEST_F(Fetch, NobodyListens) {
  server_.reset();
  EXPECT_EQ(failure(url("/")),
            "connect to 127.0.0.1 port " + std::to_string(port_) + ": Connection refused");
}

TEST(FetchUrl, RefusedInWords) {
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

// Accepts one connection, sends `answer`, and closes, or holds on until it is destroyed. With a
// pause it sends byte by byte, until the client has enough.
class OneAnswer {
 public:
  OneAnswer(std::string answer, bool hold, milliseconds pause = milliseconds(0)) {
    url_ = "http://127.0.0.1:" + std::to_string(port_of(listener_)) + "/";
    thread_ = std::thread([this, answer = std::move(answer), hold, pause] {
      UniqueFd fd(::accept(listener_.get(), nullptr, nullptr));
      char request[4096];
      EXPECT_GT(::recv(fd.get(), request, sizeof request, 0), 0);
      if (pause.count() > 0) return drip(fd.get(), answer, pause);
      EXPECT_EQ(::send(fd.get(), answer.data(), answer.size(), MSG_NOSIGNAL),
                static_cast<ssize_t>(answer.size()));
      if (hold) held_ = std::move(fd);
    });
  }
  ~OneAnswer() { thread_.join(); }

  const std::string& url() const { return url_; }

 private:
  static void drip(int fd, const std::string& answer, milliseconds pause) {
    for (const char byte : answer) {
      if (::send(fd, &byte, 1, MSG_NOSIGNAL) != 1) return;
      std::this_thread::sleep_for(pause);
    }
  }

  UniqueFd listener_ = listener_on_loopback(), held_;
  std::string url_;
  std::thread thread_;
};

TEST(FetchAnswer, WithoutALengthEndsWithTheConnection) {
  const OneAnswer server("HTTP/1.0 200 OK\r\nX: y\r\n\r\nall of it", false);
  EXPECT_EQ(value_of(fetch(server.url())).body, "all of it");
}

TEST(FetchAnswer, CutShortIsAnError) {
  const OneAnswer server("HTTP/1.1 200 OK\r\nContent-Length: 23\r\n\r\nhalf", false);
  EXPECT_THAT(failure(server.url()), HasSubstr("19 bytes remaining"));
}

TEST(FetchAnswer, NoHttpIsAnError) {
  for (const char* answer : {"", "SSH-2.0-x\r\n\r\n", "HTTP/1.1 abc\r\n\r\n", "HTTP/1.1 200"}) {
    const OneAnswer server(answer, false);
    EXPECT_THAT(failure(server.url()), StartsWith("read the answer of ")) << answer;
  }
}

// The timeout is for the whole, and what came until then is no answer.
TEST(FetchAnswer, SilenceEndsWithTheTimeout) {
  for (const char* sent : {"HTTP/1.1 200 OK\r\n", "HTTP/1.0 200 OK\r\n\r\nhalf",
                           "HTTP/1.0 200 OK\r\nContent-Length: 23\r\n\r\nhalf"}) {
    const OneAnswer server(sent, true);
    const std::string said = failure(server.url(), milliseconds(2000));
    EXPECT_THAT(said, StartsWith("read the answer of 127.0.0.1 port ")) << sent;
    EXPECT_THAT(said, HasSubstr(": Connection timed out")) << sent;
  }
}

TEST(FetchAnswer, ByteByByteEndsWithTheTimeout) {
  const OneAnswer server("HTTP/1.0 200 OK\r\n\r\n" + std::string(1009, 'x'), false,
                         milliseconds(5));
  EXPECT_THAT(failure(server.url(), milliseconds(500)), HasSubstr(": Connection timed out"));
}

}  // namespace
}  // namespace ioc_exporter::web

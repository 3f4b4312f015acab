// Answers of the server.
#include "web/server.h"

#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>

#include "http_client.h"
#include "inflate.h"
#include "test_server.h"
#include "web/client_address.h"

namespace ioc_exporter::web {
namespace {

using ServerTest = ServerFixture;

TEST_F(ServerTest, GetGivesTheHandlersAnswer) {
  const Answer answer = ask(port_, "GET", "/metrics");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.headers.at("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_EQ(answer.headers.at("vary"), "Accept-Encoding");
  EXPECT_FALSE(answer.headers.contains("content-encoding"));
  EXPECT_TRUE(answer.headers.contains("date"));
  EXPECT_EQ(answer.body, long_text());
}

TEST_F(ServerTest, HandlerSeesPathAndQueryApartAndJoinedAccept) {
  EXPECT_EQ(ask(port_, "GET", "/%73mall?x=%31", "Accept: a/b\r\naccept: c/d\r\n").body,
            "GET /small?x=%31 a/b, c/d");
}

TEST_F(ServerTest, HeadHasTheLengthAndNoBody) {
  for (const char* encoding : {"identity", "gzip"}) {
    const std::string headers = "Accept-Encoding: " + std::string(encoding) + "\r\n";
    HttpClient client(port_);
    client.send("HEAD /metrics HTTP/1.1\r\nHost: x\r\n" + headers + "\r\n");
    const Answer head = client.receive(true);
    EXPECT_TRUE(client.closed_within(60'000));  // with no body before
    const Answer get = ask(port_, "GET", "/metrics", headers);
    EXPECT_EQ(head.status, 200);
    EXPECT_EQ(get.status, 200);
    EXPECT_EQ(head.headers.at("content-length"), std::to_string(get.body.size()));
  }
}

TEST(Server, ChecksAccessBeforeAnythingIsDone) {
  ServerOptions options = options_on({"127.0.0.1:0"});
  options.admit = [](const Request& request) -> Admission {
    if (request.authorization == "Basic x") return {};
    Response response;
    response.status = 401;
    response.headers["WWW-Authenticate"] = "Basic";
    return {.refusal = response};
  };
  options.headers = [] {
    return std::map<std::string, std::string>{{"X-Frame-Options", "deny"},
                                              {"X-Content-Type-Options", ""},
                                              {"Content-Security-Policy", "a"}};
  };
  const auto server = start(std::move(options));
  for (const char* path : {"/metrics", "/throws", "/none"}) {
    const Answer refused = ask(server->port(), "GET", path);
    EXPECT_EQ(refused.status, 401) << path;
    EXPECT_EQ(refused.headers.at("www-authenticate"), "Basic");
    EXPECT_EQ(refused.headers.at("x-frame-options"), "deny");
  }
  EXPECT_EQ(ask(server->port(), "POST", "/act").status, 401);
  const Answer allowed = ask(server->port(), "GET", "/metrics", "Authorization: Basic x\r\n");
  EXPECT_EQ(allowed.status, 200);
  EXPECT_EQ(allowed.headers.at("x-frame-options"), "deny");
  EXPECT_EQ(allowed.headers.at("content-security-policy"), "a");
  EXPECT_FALSE(allowed.headers.contains("x-content-type-options"));
}

// Actions that cost other users something are for clients on this host, or where actions are
// allowed.
TEST(Server, LocalActionsAreDoneForClientsOnThisHost) {
  const auto server_of = [](bool here, bool actions) {
    ServerOptions options = options_on({"127.0.0.1:0"});
    options.local_actions["/small"] = [](const Request& request) {
      return Response{200, "text/plain; charset=utf-8", "asked for " + request.query};
    };
    if (!actions) options.actions.clear();
    options.is_own = [here](const std::string& address) { return here && address == "127.0.0.1"; };
    options.admit = [](const Request& request) -> Admission {
      return {.refusal = {}, .user = request.authorization};
    };
    options.action_users = {"ada"};
    return start(std::move(options));
  };
  const auto post = [](Server& server, const std::string& headers = "") {
    return ask(server.port(), "POST", "/small?x", headers).status;
  };
  const std::string ada = "Authorization: ada\r\n", eve = "Authorization: eve\r\n",
                    page = "Origin: http://localhost\r\n";
  const auto here = server_of(true, false);
  EXPECT_EQ(ask(here->port(), "POST", "/small?x").body, "asked for x");
  EXPECT_EQ(post(*here, eve), 200);
  EXPECT_EQ(post(*here, page), 403);
  EXPECT_EQ(ask(here->port(), "GET", "/small").body, "GET /small ");
  const Answer put = ask(here->port(), "PUT", "/small");
  EXPECT_EQ(put.status, 405);
  EXPECT_EQ(put.headers.at("allow"), "GET, HEAD, POST");
  const auto elsewhere = server_of(false, true);
  EXPECT_EQ(post(*elsewhere), 403);
  EXPECT_EQ(post(*elsewhere, eve), 403);
  EXPECT_EQ(post(*elsewhere, ada), 200);
  EXPECT_EQ(post(*elsewhere, ada + page), 403);
  EXPECT_EQ(ask(elsewhere->port(), "GET", "/small").status, 200);
  const auto off = server_of(false, false);  // nobody may detach it either
  EXPECT_EQ(post(*off, ada), 403);
}

TEST(OwnAddresses, AreThoseOfThisHost) {
  for (const char* own : {"127.0.0.1", "127.8.9.10", "::1", "::ffff:127.0.0.1"})
    EXPECT_TRUE(is_own_address(own)) << own;
  for (const char* other : {"", "192.0.2.1", "2001:db8::1", "localhost", "0.0.0.0", "12"})
    EXPECT_FALSE(is_own_address(other)) << other;
  ifaddrs* all = nullptr;
  ASSERT_EQ(::getifaddrs(&all), 0);
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    char text[64];
    ASSERT_EQ(::getnameinfo(one->ifa_addr, sizeof(sockaddr_in), text, sizeof text, nullptr, 0,
                            NI_NUMERICHOST),
              0);
    EXPECT_TRUE(is_own_address(text)) << text;
    EXPECT_TRUE(is_own_address("::ffff:" + std::string(text))) << text;
  }
  ::freeifaddrs(all);
}

TEST_F(ServerTest, CompressesWhenAskedButNoRefusalsAndSmallAnswers) {
  const Answer answer = ask(port_, "GET", "/metrics", "Accept-Encoding: deflate, gzip;q=0.5\r\n");
  EXPECT_EQ(answer.headers.at("content-encoding"), "gzip");
  EXPECT_LT(answer.body.size(), long_text().size() / 2);
  EXPECT_EQ(inflated(answer.body), long_text());
  const Answer refused = ask(port_, "GET", "/metrics", "Accept-Encoding: gzip;q=0\r\n");
  EXPECT_FALSE(refused.headers.contains("content-encoding"));
  EXPECT_EQ(refused.body, long_text());
  const Answer small = ask(port_, "GET", "/small", "Accept-Encoding: gzip\r\n");
  EXPECT_FALSE(small.headers.contains("content-encoding"));
  EXPECT_EQ(small.headers.at("vary"), "Accept-Encoding");
}

TEST_F(ServerTest, UnknownPathsAre404AndNoFileIsServed) {
  for (const char* path : {"/", "/nothing", "/metrics/", "/metrics/x", "/etc/passwd",
                           "/../etc/passwd", "/CMakeCache.txt"})
    EXPECT_EQ(ask(port_, "GET", path).status, 404) << path;
}

TEST_F(ServerTest, OtherMethodsAre405) {
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "PATCH", "PROPFIND"}) {
    const Answer answer = ask(port_, method, "/metrics");
    EXPECT_EQ(answer.status, 405) << method;
    EXPECT_EQ(answer.headers.at("allow"), "GET, HEAD") << method;
  }
}

TEST_F(ServerTest, ActionsAreForPostOnlyAndNotForPages) {
  EXPECT_EQ(ask(port_, "POST", "/act").body, "did /act");
  for (const char* origin : {"http://elsewhere", "null"})
    EXPECT_EQ(ask(port_, "POST", "/act", "Origin: " + std::string(origin) + "\r\n").body,
              "403 this is for scripts and the command line, not for pages\n");
  for (const char* method : {"GET", "HEAD", "PUT"}) {
    HttpClient client(port_);
    client.send(std::string(method) + " /act HTTP/1.1\r\nHost: x\r\n\r\n");
    const Answer answer = client.receive(std::string(method) == "HEAD");
    EXPECT_EQ(answer.status, 405) << method;
    EXPECT_EQ(answer.headers.at("allow"), "POST") << method;
  }
}

TEST_F(ServerTest, RequestsWithABodyAndInvalidOnesAreAnswered) {
  HttpClient client(port_);
  client.send("POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n" +
              std::string(100000, 'x'));
  const Answer answer = client.receive();
  EXPECT_EQ(answer.status, 405);
  EXPECT_EQ(answer.headers.at("connection"), "close");
  HttpClient waiting(port_);
  waiting.send("PUT /x HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 10\r\n\r\n");
  EXPECT_EQ(waiting.receive().status, 405);
  EXPECT_TRUE(waiting.closed_within(60'000));
  HttpClient invalid(port_);
  invalid.send("nonsense\r\n\r\n");
  EXPECT_EQ(invalid.receive().status, 400);
}

TEST_F(ServerTest, ThrowingHandlersAre500AndTheServerLives) {
  for (const char* path : {"/throws", "/throws-int", "/throws"}) {
    const Answer answer = ask(port_, "GET", path);
    EXPECT_EQ(answer.status, 500);
    EXPECT_EQ(std::count(answer.body.begin(), answer.body.end(), '\n'), 1);
    EXPECT_EQ(answer.body.find("purpose"), std::string::npos);  // the reason is for the log
  }
  EXPECT_EQ(ask(port_, "GET", "/small").status, 200);
}

TEST(Server, ClosesAfterEachAnswer) {
  ServerOptions options = options_on({"127.0.0.1:0"});
  options.request_timeout = std::chrono::hours(1);  // it is not this that closes
  const auto server = start(std::move(options));
  for (const char* request : {"GET /small HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n\r\n",
                              "GET /small HTTP/1.0\r\n\r\n"}) {
    HttpClient client(server->port());
    client.send(request);
    EXPECT_EQ(client.receive().headers.at("connection"), "close");
    EXPECT_TRUE(client.closed_within(60'000));
  }
}

}  // namespace
}  // namespace ioc_exporter::web

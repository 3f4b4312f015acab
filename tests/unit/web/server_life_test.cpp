// How the server starts and stops, and what it bears in between.
#include "web/server.h"

#include <atomic>
#include <future>
#include <thread>

#include "http_client.h"
#include "inflate.h"
#include "support/value_of.h"
#include "test_server.h"
#include "web/listen_address.h"

namespace ioc_exporter::web {
namespace {

using namespace std::chrono_literals;
using ServerLifeTest = ServerFixture;

TEST(ServerLife, ASilentClientIsClosed) {
  ServerOptions options = options_on({"127.0.0.1:0"});
  options.request_timeout = 1s;
  const auto server = start(std::move(options));
  HttpClient silent(server->port()), slow(server->port());
  slow.send("GET /small HTTP/1.1\r\nHo");
  EXPECT_TRUE(silent.closed_within(60'000));
  EXPECT_NE(slow.receive().status, 200);
}

TEST_F(ServerLifeTest, TellsItsRealPortWhichAnotherOneNames) {
  EXPECT_NE(port_, 0);
  const std::string port = std::to_string(port_);
  EXPECT_EQ(only(server_->addresses()), "127.0.0.1:" + port);
  for (const std::string& taken : {"127.0.0.1:" + port, ":" + port})
    EXPECT_EQ(error_of(Server::start(options_on({taken}))),
              "listen on " + taken + ": Address already in use");
  EXPECT_EQ(ask(port_, "GET", "/small").status, 200);
  const std::string twice =
      "127.0.0.1:" + std::to_string(start(options_on({"127.0.0.1:0"}))->port());
  EXPECT_EQ(error_of(Server::start(options_on({twice, twice}))),
            "listen on " + twice + ": Address already in use");
}

// It waits for none of them, however long a request may take.
TEST(ServerLife, StopsWithIdleConnections) {
  ServerOptions options = options_on({"127.0.0.1:0"});
  options.request_timeout = 1h;
  auto server = start(std::move(options));
  const std::uint16_t port = server->port();
  HttpClient silent(port), idle(port), half(port);
  half.send("GET /small HT");
  idle.send("GET /small HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_EQ(idle.receive().status, 200);
  server.reset();
  EXPECT_TRUE(silent.closed_within(60'000));
  EXPECT_FALSE(HttpClient(port).connected());
  EXPECT_TRUE(Server::start(options_on({"127.0.0.1:" + std::to_string(port)})).ok());
}

TEST(ServerLife, StoppingOneLeavesTheOther) {
  auto one = start(options_on({"127.0.0.1:0"}));
  auto other = start(options_on({"127.0.0.1:0"}));
  HttpClient client(other->port());
  client.send("GET /small HTT");
  one.reset();
  client.send("P/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(client.receive().status, 200);
}

TEST(ServerLife, ListensOnSeveralAddresses) {
  const auto server = start(options_on({"127.0.0.1:0", "127.0.0.2:0"}));
  ASSERT_EQ(server->addresses().size(), 2u);
  const std::string second = server->addresses()[1];
  HttpClient client(static_cast<std::uint16_t>(std::stoul(second.substr(second.rfind(':') + 1))),
                    "127.0.0.2");
  client.send("GET /small HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(client.receive().status, 200);
}

TEST(ServerLife, PortAloneMeansEveryFamilyThatTheLibraryHas) {
  const auto server = start(options_on({":0"}));
  EXPECT_EQ(ask(server->port(), "GET", "/small").status, 200);
  EXPECT_EQ(server->addresses()[0], ":" + std::to_string(server->port()));
  HttpClient client(server->port(), "::1");
  if (!civetweb_has_ipv6()) {
    EXPECT_FALSE(client.connected()) << "IPv4 is all that this civetweb library can do";
    return;
  }
  if (!client.connected()) GTEST_SKIP() << "no IPv6 loopback here";
  client.send("GET /small HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(client.receive().status, 200);
}

TEST(ServerLife, Ipv6Alone) {
  auto server = Server::start(options_on({"[::1]:0"}));
  if (!civetweb_has_ipv6()) {
    ASSERT_FALSE(server.ok());
    EXPECT_EQ(server.error().message(),
              "listen on [::1]:0: the civetweb library of this host was built without IPv6");
    return;
  }
  if (!server && (server.error().code == std::errc::address_family_not_supported ||
                  server.error().code == std::errc::address_not_available))
    GTEST_SKIP() << server.error().message();
  ASSERT_TRUE(server.ok()) << server.error().message();
  HttpClient client((*server)->port(), "::1");
  client.send("GET /small HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(client.receive().status, 200);
  EXPECT_EQ((*server)->addresses()[0], "[::1]:" + std::to_string((*server)->port()));
}

TEST(ServerLife, BadAddressesAreRefused) {
  EXPECT_EQ(error_of(Server::start(options_on({"127.0.0.1:0", "::1:80"}))),
            "listen address \"::1:80\": an IPv6 address stands in brackets, as in [::1]:10064");
  EXPECT_FALSE(Server::start(options_on({})).ok());
}

TEST(ServerLife, ManyRequestsAtATime) {
  ServerOptions options = options_on({"127.0.0.1:0"});
  options.max_requests = 24;
  const auto server = start(std::move(options));
  std::atomic<int> right{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < 8; ++i)
    clients.emplace_back([&] {
      for (int n = 0; n < 5; ++n)
        if (inflated(ask(server->port(), "GET", "/metrics", "Accept-Encoding: gzip\r\n").body) ==
            long_text())
          ++right;
    });
  for (auto& client : clients) client.join();
  EXPECT_EQ(right, 40);
}

// Of two slots each address has one, and answers that cost nothing need none.
class Followed final : public BodyStream {
 public:
  explicit Followed(std::shared_future<void> end) : end_(std::move(end)) {}
  std::optional<std::string> next() override {
    const bool ends = end_.wait_for(std::chrono::milliseconds(5)) == std::future_status::ready;
    return ends ? std::nullopt : std::optional(std::string());
  }

 private:
  std::shared_future<void> end_;
};

TEST(ServerLife, OverTheLimitIs503) {
  std::atomic<int> inside{0}, following{0};
  std::promise<void> open;
  const std::shared_future<void> opened = open.get_future().share();
  ServerOptions options = options_on({"127.0.0.1:0"});
  options.max_requests = 2;
  options.unlimited = {"/small"};
  std::atomic<int> refused{0};
  options.refused = [&](const Request&, const std::string& reason) {
    refused += reason == "requests";
  };
  options.knows = [](const Request& request) { return request.authorization.empty(); };
  options.routes["/held"] = [&inside, opened](const Request&) {
    ++inside;
    opened.wait();
    return Response{};
  };
  options.routes["/followed"] = [&following, opened](const Request&) {
    ++following;
    Response response;
    response.stream = std::make_shared<Followed>(opened);
    return response;
  };
  options.local_actions["/held"] = [](const Request&) { return Response{}; };
  const auto server = start(std::move(options));
  const auto get = [&](const char* path, const std::string& headers = "") {
    return ask(server->port(), "GET", path, headers).status;
  };
  const auto from_other = [&](const char* path) {
    return ask(server->port(), "GET", path, "", "127.0.0.2").status;
  };
  auto followed = std::async(std::launch::async, get, "/followed", "");
  while (following < 1) std::this_thread::yield();
  while (get("/metrics", "") != 200) std::this_thread::yield();  // a follower has its place back
  auto held = std::async(std::launch::async, get, "/held", "");
  while (inside < 1) std::this_thread::yield();
  EXPECT_EQ(get("/metrics"), 503);
  auto other = std::async(std::launch::async, from_other, "/held");
  while (inside < 2) std::this_thread::yield();
  EXPECT_EQ(from_other("/metrics"), 503);
  EXPECT_EQ(get("/small"), 200);
  EXPECT_EQ(ask(server->port(), "POST", "/act").status, 200);
  EXPECT_EQ(ask(server->port(), "POST", "/held").status, 503);  // such as a demand for traces
  EXPECT_EQ(get("/small", "Authorization: unknown\r\n"), 503);  // its check would cost something
  open.set_value();
  EXPECT_EQ(followed.get(), 200);
  EXPECT_EQ(held.get(), 200);
  EXPECT_EQ(other.get(), 200);
  while (refused < 4) std::this_thread::yield();  // told after the answers
  EXPECT_EQ(get("/metrics"), 200);
}

TEST(ServerLife, IsNotAskedUnderAnotherName) {
  ServerOptions options = options_on({"127.0.0.1:0"});
  options.allowed_hosts = {"ioc1.site.org"};
  options.unlimited = {"/throws"};
  const auto server = start(std::move(options));
  const auto status = [&](const std::string& host, const char* method, const char* path) {
    HttpClient client(server->port());
    client.send(std::string(method) + " " + path + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
    return client.receive().status;
  };
  EXPECT_EQ(status("evil.example", "GET", "/small"), 403);
  EXPECT_EQ(status("evil.example", "POST", "/act"), 403);
  EXPECT_EQ(status("evil.example", "GET", "/throws"), 500);  // tells nothing of the host
  EXPECT_EQ(status("ioc1.site.org:10064", "GET", "/small"), 200);
  EXPECT_EQ(status("127.0.0.1", "POST", "/act"), 200);
}

TEST(ServerLife, OnlySomeUsersAct) {
  ServerOptions options = options_on({"127.0.0.1:0"});
  options.action_users = {"alice"};
  options.admit = [](const Request& request) -> Admission {
    return {.user = request.authorization};
  };
  std::atomic<int> acted{0};
  options.acted = [&](const Request&, const std::string& user) { acted += user == "alice"; };
  const auto server = start(std::move(options));
  EXPECT_EQ(ask(server->port(), "POST", "/act").status, 403);
  EXPECT_EQ(ask(server->port(), "POST", "/act", "Authorization: bob\r\n").status, 403);
  EXPECT_EQ(acted, 0);
  EXPECT_EQ(ask(server->port(), "POST", "/act", "Authorization: alice\r\n").status, 200);
  EXPECT_EQ(acted, 1);
  EXPECT_EQ(ask(server->port(), "GET", "/small", "Authorization: bob\r\n").status, 200);
}

TEST(ServerLife, AClientThatDoesNotReadIsCut) {
  ServerOptions options = options_on({"127.0.0.1:0"});
  options.response_timeout = 500ms;
  options.max_requests = 1;
  options.routes["/huge"] = [](const Request&) {
    return Response{200, "text/plain", std::string(64u << 20, 'x')};
  };
  std::promise<std::string> cut;
  options.refused = [&](const Request&, const std::string& reason) { cut.set_value(reason); };
  const auto server = start(std::move(options));
  HttpClient deaf(server->port());
  deaf.send("GET /huge HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(cut.get_future().get(), "not_taken");
  EXPECT_THROW(deaf.receive(), std::runtime_error);
}

}  // namespace
}  // namespace ioc_exporter::web

// Load: hundreds of connections, clients that send slowly or never read.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/unique_fd.h"
#include "http_client.h"
#include "test_server.h"
#include "web/server.h"

namespace ioc_exporter::web {
namespace {

using namespace std::chrono_literals;
using Clients = std::vector<std::unique_ptr<HttpClient>>;

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
    EXPECT_EQ(ask(server_->port(), "GET", "/small", "", "127.0.0.2").status, 200) << to;
  }

  ServerOptions options_ = [] {
    ServerOptions options = options_on({"127.0.0.1:0"});
    options.request_timeout = 1h;  // it is not this that frees threads
    return options;
  }();
  std::unique_ptr<Server> server_ = start(options_);
};

// Sends a byte now and then, until it is destroyed.
class Trickle {
 public:
  explicit Trickle(const Clients& clients)
      : thread_([this, &clients] {
          while (!done_) {
            for (const auto& client : clients) client->send("x");
            std::this_thread::sleep_for(100ms);
          }
        }) {}
  ~Trickle() {
    done_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> done_{false};
  std::thread thread_;
};

// Each would never end its request.
TEST_F(ServerCrowd, DripFedRequestsAreCut) {
  options_.request_timeout = 1s;
  server_ = start(options_);
  const Clients slow = connect(20, "GET /small HTTP/1.1\r\nX-Slow: ");
  const Trickle trickle(slow);
  for (const auto& client : slow) EXPECT_EQ(client->receive().status, 400);
}

// None of them ends, and each keeps a thread.
TEST_F(ServerCrowd, SlowAndIdleConnectionsOfOneAddressDelayNoOther) {
  const Clients silent = connect(100, ""), half = connect(100, "GET /small HTTP/1.1\r\nX-Slow: "),
                body = connect(100,
                               "POST /small HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n");
  const Trickle heads(half), bodies(body);
  for (int i = 0; i < 5; ++i) expect_an_answer("a client beside 300 slow and idle connections");
}

// Each asks for an answer that it does not take.
TEST_F(ServerCrowd, ClientsThatNeverReadDelayNoOtherAddress) {
  options_.routes["/large"] = [](const Request&) {
    return Response{200, "text/plain", std::string(8u << 20, 'x')};
  };
  server_ = start(options_);
  const Clients deaf = connect(140, "GET /large HTTP/1.1\r\nHost: x\r\n\r\n");
  for (int i = 0; i < 5; ++i) expect_an_answer("a client beside 140 that never read");
}

// Asks for /scrape beside 300 connections that send nothing; true: it was answered.
bool answers_beside_silent(std::uint16_t port) {
  Clients silent;
  for (int i = 0; i < 300; ++i) silent.push_back(std::make_unique<HttpClient>(port));
  // A client that is slow on a busy host may be cut: one of a few is not.
  for (int tries = 0; tries < 10; ++tries)
    if (ask(port, "GET", "/scrape").status == 200) return true;
  return false;
}

// A scrape needs descriptors, and connections must leave them.
TEST(ServerDescriptors, AScrapeIsAnsweredWhereConnectionsCouldTakeAll) {
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  const pid_t client = ::fork();  // its descriptors are its own
  if (client == 0) {
    std::uint16_t port = 0;
    const bool told = ::read(pipe[0], &port, sizeof port) == sizeof port;
    ::_exit(told && answers_beside_silent(port) ? 0 : 1);
  }
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{200, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  std::vector<UniqueFd> of_iocs;  // that the exporter holds already
  while (of_iocs.size() < 120) of_iocs.emplace_back(::open("/", O_RDONLY | O_CLOEXEC));
  ServerOptions options = options_on({"127.0.0.1:0"});
  options.request_timeout = 100ms;
  options.routes["/scrape"] = [](const Request&) {
    std::vector<UniqueFd> files;
    for (int i = 0; i < 30; ++i)
      files.emplace_back(::open("/proc/self/stat", O_RDONLY | O_CLOEXEC));
    const bool all = std::ranges::all_of(files, [](const UniqueFd& file) { return bool(file); });
    return Response{all ? 200 : 500, "text/plain", "read"};
  };
  {
    const auto server = start(options);
    const std::uint16_t port = server->port();
    ASSERT_EQ(::write(pipe[1], &port, sizeof port), ssize_t{sizeof port});
    int status = -1;
    EXPECT_EQ(::waitpid(client, &status, 0), client);
    EXPECT_EQ(status, 0);
  }
  ::setrlimit(RLIMIT_NOFILE, &before);
  ::close(pipe[0]);
  ::close(pipe[1]);
}

}  // namespace
}  // namespace ioc_exporter::web

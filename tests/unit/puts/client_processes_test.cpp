#include "puts/client_processes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <utility>

#include "base/unique_fd.h"
#include "base/wall_clock.h"
#include "iocs/find/found_process.h"
#include "support/loopback.h"

namespace ioc_exporter::ca {
namespace {

using std::chrono::minutes;

std::uint64_t now_ns() {
  return clock_ns(CLOCK_MONOTONIC);
}

// A process that is called "sender" and has a connection, until it is ended. `copies`: children
// that have inherited it.
class Sender {
 public:
  explicit Sender(std::uint16_t server, std::uint16_t port = 0, int copies = 0,
                  const char* name = "sender") {
    std::array<int, 2> ready{};
    EXPECT_EQ(::pipe(ready.data()), 0);
    pid_ = ::fork();
    if (pid_ == 0) run(ready[1], port, server, copies, name);
    ::close(ready[1]);
    const UniqueFd reports(ready[0]);
    for (int i = 0; i <= copies; ++i)
      EXPECT_EQ(::read(reports.get(), &port_, sizeof port_), ssize_t{sizeof port_});
  }
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;
  ~Sender() { end(); }

  void end() {
    if (pid_ <= 0) return;
    ::kill(-pid_, SIGKILL);  // its group
    ::waitpid(std::exchange(pid_, 0), nullptr, 0);
  }
  void end_parent() const {  // not waited for: its group keeps its number
    ::kill(pid_, SIGKILL);
    siginfo_t ended{};
    ::waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOWAIT);
  }
  pid_t pid() const { return pid_; }
  std::uint16_t port() const { return port_; }
  std::string end_text() const { return "127.0.0.1:" + std::to_string(port_); }
  std::string name() const { return "sender[" + std::to_string(pid_) + "]"; }

 private:
  [[noreturn]] static void run(int ready, std::uint16_t port, std::uint16_t server, int copies,
                               const char* name) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_NAME, name);
    const UniqueFd fd(::socket(AF_INET, SOCK_STREAM, 0));
    constexpr int kOn = 1;
    constexpr linger kReset{1, 0};  // of a connection that was closed nothing stays
    ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &kOn, sizeof kOn);
    ::setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &kReset, sizeof kReset);
    const sockaddr_in own = loopback(port), other = loopback(server);
    if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0 ||
        ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&other), sizeof other) != 0)
      ::_exit(1);
    for (int i = 0; i < copies; ++i)
      if (::fork() == 0) break;
    const std::uint16_t used = port_of(fd);
    if (::write(ready, &used, sizeof used) != sizeof used) ::_exit(1);
    for (;;) ::pause();
  }

  pid_t pid_ = -1;
  std::uint16_t port_ = 0;
};

// This process serves.
class ClientProcessesTest : public testing::Test {
 protected:
  void look(const std::vector<pid_t>& iocs = {}) {
    std::vector<SocketOwner> owners = {{id_of(::getpid()), net_, "served", {{{}, port_}}}};
    for (const pid_t pid : iocs) owners.push_back({id_of(pid), net_, "writer", {}});
    clients_.look(owners, net_);
    ASSERT_TRUE(clients_.wait(minutes(1)));
  }
  // Again, until it has a name: on a busy host a user's search that took long rests.
  void look_for(const Sender& sender) {
    const auto until = std::chrono::steady_clock::now() + minutes(2);
    do look();
    while (of(sender).empty() && std::chrono::steady_clock::now() < until);
  }
  static iocs::IocId id_of(pid_t pid) { return iocs::read_process_stat(RootedFs(), pid)->id; }
  std::string of(const Sender& sender, std::uint64_t at_ns = now_ns()) {
    return clients_.of("served", sender.end_text(), at_ns);
  }
  std::string of_ports(const std::vector<std::uint16_t>& ports) {
    return clients_.of_ports("served", "127.0.0.1", ports);
  }

  const UniqueFd listener_ = listener_on_loopback();
  const std::uint16_t port_ = port_of(listener_);
  const std::uint64_t net_ = iocs::net_namespace(RootedFs(), "/proc/self");
  ClientProcesses clients_{RootedFs()};
};

TEST_F(ClientProcessesTest, NamesProcessesAndIocs) {
  Sender one(port_), two(port_), ioc(port_);
  EXPECT_EQ(of(one), "") << "nobody has looked";
  const std::uint64_t before = now_ns();
  look({ioc.pid()});
  EXPECT_EQ(of(one), one.name());
  EXPECT_EQ(of(two), two.name());
  EXPECT_EQ(of(ioc), "writer");
  EXPECT_EQ(of(one, before), "") << "the same ends may have been another's";
  EXPECT_EQ(clients_.of("other", one.end_text(), now_ns()), "");
  for (const char* text : {"", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", ":5064", "I:src"})
    EXPECT_EQ(clients_.of("served", text, now_ns()), "") << text;
  EXPECT_EQ(of_ports({one.port(), ioc.port()}), one.name() + ", writer");
  EXPECT_EQ(of_ports({}), "");
  Sender late(port_);
  EXPECT_EQ(of(late), "");
  look_for(late);
  EXPECT_EQ(of(late), late.name());
  EXPECT_EQ(of(one), one.name());
}

TEST_F(ClientProcessesTest, AnotherConnectionWithTheSameEndsIsNotTheFormer) {
  auto first = std::make_unique<Sender>(port_);
  look();
  const std::string name = first->name();
  EXPECT_EQ(of(*first), name);
  const std::uint64_t then = now_ns();
  EXPECT_EQ(of(*first, then), name);
  const std::uint16_t port = first->port();
  first->end();
  const Sender second(port_, port);
  EXPECT_EQ(of(second), "") << "it would be called " << name;
  EXPECT_EQ(of(second, then), name) << "when it was the first one";
  look_for(second);
  EXPECT_EQ(of(second), second.name());
  EXPECT_EQ(of(second, then), "");
}

TEST_F(ClientProcessesTest, ASocketThatManyHave) {
  Sender alone(port_), some(port_, 0, 1), many(port_, 0, 5);
  look();
  EXPECT_EQ(of(alone), alone.name());
  const std::string both = of(some);
  EXPECT_THAT(both, testing::HasSubstr(some.name()));
  EXPECT_THAT(both, testing::MatchesRegex(R"(sender\[[0-9]+\], sender\[[0-9]+\])"));
  EXPECT_THAT(of(many), testing::MatchesRegex(R"((sender\[[0-9]+\], ){3}\.\.\.)"));
}

// Who has inherited the socket of a process that has ended is not called by that one's number.
TEST_F(ClientProcessesTest, AProcessThatHasEndedIsNotNamedForItsHeir) {
  Sender sender(port_, 0, 1);
  look();
  EXPECT_THAT(of(sender), testing::HasSubstr(sender.name()));
  sender.end_parent();
  look_for(sender);
  EXPECT_THAT(of(sender), testing::MatchesRegex(R"(sender\[[0-9]+\])"));
  EXPECT_NE(of(sender), sender.name());
}

TEST_F(ClientProcessesTest, NamesHoldNothingThatStandsBetweenThem) {
  Sender sender(port_, 0, 0, "caput[1], a");
  look();
  EXPECT_EQ(of(sender), "caput_1__ a[" + std::to_string(sender.pid()) + "]");
}

TEST_F(ClientProcessesTest, NoNameOfAClientThatHasEnded) {
  Sender sender(port_);
  look();
  EXPECT_EQ(of(sender), sender.name());
  sender.end();
  EXPECT_EQ(of(sender), "");
  look();
  EXPECT_EQ(of(sender), "");
}

TEST_F(ClientProcessesTest, ManyConnectionsOfOneProcess) {
  Sender sender(port_);
  std::vector<UniqueFd> own;
  for (int i = 0; i < 211; ++i) {
    own.push_back(connected_to(listener_));
    own.emplace_back(::accept(listener_.get(), nullptr, nullptr));
  }
  look();
  EXPECT_EQ(of(sender), sender.name());
  for (std::size_t i = 0; i < own.size(); i += 2)
    ASSERT_EQ(of_ports({port_of(own[i])}), "served") << i;
}

}  // namespace
}  // namespace ioc_exporter::ca

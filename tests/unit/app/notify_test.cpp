// Notifier against a socket of the test's own, in the place of the service manager's.
#include "app/notify.h"

#include "support/value_of.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace ioc_exporter::app {
namespace {

using std::chrono::milliseconds;

// In the abstract namespace: no file is left behind.
class Manager {
 public:
  Manager() : name_("ioc_exporter-notify-" + std::to_string(::getpid())) {
    sockaddr_un own{};
    own.sun_family = AF_UNIX;
    std::memcpy(own.sun_path + 1, name_.data(), name_.size());
    const auto length = offsetof(sockaddr_un, sun_path) + 1 + name_.size();
    EXPECT_EQ(
        ::bind(socket_.get(), reinterpret_cast<sockaddr*>(&own), static_cast<socklen_t>(length)),
        0);
    ::setenv("NOTIFY_SOCKET", ("@" + name_).c_str(), 1);
  }
  // The next datagram; "" when there is none.
  std::string heard() {
    char text[4096];
    const auto length = ::recv(socket_.get(), text, sizeof text, MSG_DONTWAIT);
    return length < 0 ? "" : std::string(text, static_cast<std::size_t>(length));
  }

 private:
  std::string name_;
  UniqueFd socket_{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
};

struct NotifierTest : testing::Test {
  NotifierTest() { clear(); }
  ~NotifierTest() override { clear(); }
  static void clear() {
    for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) ::unsetenv(name);
  }
  static Notifier made() { return value_of(Notifier::from_environment()); }
};

TEST_F(NotifierTest, TellsItsStates) {
  Manager manager;
  const Notifier notifier = made();
  notifier.ready("3 IOCs;\nca_tap");
  EXPECT_EQ(manager.heard(), "READY=1\nSTATUS=3 IOCs; ca_tap");
  notifier.status("4 IOCs");
  EXPECT_EQ(manager.heard(), "STATUS=4 IOCs");
  notifier.reloading();
  const std::string reloading = manager.heard();
  EXPECT_TRUE(reloading.starts_with("RELOADING=1\nMONOTONIC_USEC=")) << reloading;
  notifier.stopping();
  EXPECT_EQ(manager.heard(), "STOPPING=1\nSTATUS=stopping");
  EXPECT_EQ(manager.heard(), "");
}

TEST_F(NotifierTest, FeedsTheWatchdogThreeTimesInItsTime) {
  Manager manager;
  ::setenv("WATCHDOG_USEC", "3000000", 1);
  ::setenv("WATCHDOG_PID", std::to_string(::getpid()).c_str(), 1);
  Notifier notifier = made();
  for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"})
    EXPECT_EQ(std::getenv(name), nullptr) << name;
  const auto now = *notifier.next_alive();
  notifier.alive(now);
  EXPECT_EQ(manager.heard(), "WATCHDOG=1");
  notifier.alive(now + milliseconds(999));
  EXPECT_EQ(manager.heard(), "");
  EXPECT_EQ(*notifier.next_alive(), now + milliseconds(1000));
  notifier.alive(now + milliseconds(1000));
  EXPECT_EQ(manager.heard(), "WATCHDOG=1");
}

TEST_F(NotifierTest, FeedsAWatchdogThatNamesNoProcess) {
  const Manager manager;
  ::setenv("WATCHDOG_USEC", "3000000", 1);
  EXPECT_TRUE(made().next_alive());
}

TEST_F(NotifierTest, FeedsNoWatchdogOfAnotherProcessOrOfABadTime) {
  for (const auto& [time, pid] : {std::pair{"3000000", "1"},
                                  {"0", ""},
                                  {"-1", ""},
                                  {"often", ""},
                                  {"1s", ""},
                                  {"99999999999999999999", ""}}) {
    Manager manager;
    ::setenv("WATCHDOG_USEC", time, 1);
    if (*pid != '\0') ::setenv("WATCHDOG_PID", pid, 1);
    Notifier notifier = made();
    EXPECT_FALSE(notifier.next_alive()) << time;
    notifier.alive();
    EXPECT_EQ(manager.heard(), "") << time;
  }
}

TEST_F(NotifierTest, WithoutManagerItIsSilent) {
  ::setenv("WATCHDOG_USEC", "3000000", 1);
  Notifier notifier = made();
  EXPECT_FALSE(notifier.next_alive());
  notifier.ready("x");
  notifier.stopping();
}

TEST_F(NotifierTest, UnreachableSocketIsAnErrorByName) {
  const std::string long_name = "/" + std::string(200, 'x');
  for (const std::string& name :
       {std::string("/nowhere/notify"), std::string("notify"), std::string("@"), long_name}) {
    ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
    EXPECT_THAT(error_of(Notifier::from_environment()), testing::HasSubstr("NOTIFY_SOCKET=" + name))
        << name;
  }
}

}  // namespace
}  // namespace ioc_exporter::app

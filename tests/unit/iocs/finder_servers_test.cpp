// CA servers that are no IOCs, as the finder sees them: real processes that listen, see target.c.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "iocs/find/finder.h"
#include "target_process.h"

namespace ioc_exporter::iocs {
namespace {

std::string our_name(const std::string& name) {
  return "unit-" + std::to_string(::getpid()) + "-" + name;
}
FinderOptions only_ours() {
  FinderOptions options;
  options.filter = {*Pattern::compile(our_name(".*")), *Pattern::compile(our_name("left-out"))};
  options.maps_interval = std::chrono::milliseconds(0);
  return options;
}
std::vector<std::string> named(const std::string& name) {
  return {"IOC=" + our_name(name)};
}

class FinderOfServers : public testing::Test {
 protected:
  Changes poll() {
    auto changes = finder_.poll();
    EXPECT_TRUE(changes) << changes.error().message();
    return std::move(*changes);
  }
  std::optional<Listener> unclaimed(int port) {
    const auto found = std::ranges::find_if(
        finder_.unclaimed(), [port](const auto& one) { return one.socket.port == port; });
    return found == finder_.unclaimed().end() ? std::nullopt : std::optional(*found);
  }

  Finder finder_{RootedFs("/"), only_ours()};
};

TEST_F(FinderOfServers, AListenerThatSpeaksIsItsProcess) {
  TargetProcess target(TARGET_PLAIN, named("server"));
  const int port = target.command("listen");
  const int other = target.command("listen");
  EXPECT_TRUE(poll().started.empty());
  const auto listener = unclaimed(port);
  ASSERT_TRUE(listener);
  EXPECT_EQ(listener->socket.address, ipv4_address(127, 0, 0, 1));
  EXPECT_TRUE(unclaimed(other));

  finder_.speaks_ca(*listener);
  const Changes changes = poll();
  ASSERT_EQ(changes.started.size(), 1u);
  const Ioc& server = changes.started[0];
  EXPECT_EQ(server.kind, IocKind::ca_server);
  EXPECT_EQ(server.id.pid, target.pid());
  EXPECT_EQ(server.name, our_name("server"));
  EXPECT_EQ(server.ca_port, port);
  EXPECT_EQ(server.listening.size(), 2u) << "whatever it listens on";
  EXPECT_EQ(server.problem, "");
  EXPECT_EQ(server.base_version, "");
  EXPECT_FALSE(server.target);
  EXPECT_TRUE(server.own_net_namespace);
  EXPECT_FALSE(unclaimed(port));
  EXPECT_FALSE(unclaimed(other));
  EXPECT_TRUE(poll().empty()) << "it stays one";

  target.stop();
  EXPECT_EQ(poll().ended.size(), 1u);
  EXPECT_TRUE(finder_.ownerless().empty());
}

TEST_F(FinderOfServers, ThePortThatWasGiven) {
  TargetProcess target(TARGET_PLAIN, named("given"));
  const int port = target.command("listen");
  FinderOptions options = only_ours();
  options.server_ports = {static_cast<std::uint16_t>(port)};
  Finder finder(RootedFs("/"), std::move(options));
  const auto changes = finder.poll();
  ASSERT_TRUE(changes);
  ASSERT_EQ(changes->started.size(), 1u);
  EXPECT_EQ(changes->started[0].name, our_name("given"));
}

TEST_F(FinderOfServers, AServerWhoseMainThreadHasEnded) {
  TargetProcess target(TARGET_PLAIN, named("headless"));
  const int port = target.command("listen");
  target.command("end_main");
  FinderOptions options = only_ours();
  options.server_ports = {static_cast<std::uint16_t>(port)};
  Finder finder(RootedFs("/"), std::move(options));
  const auto changes = finder.poll();
  ASSERT_TRUE(changes);
  ASSERT_EQ(changes->started.size(), 1u);
  EXPECT_EQ(changes->started[0].name, our_name("headless"));
  EXPECT_EQ(changes->started[0].listening.size(), 1u);
}

TEST_F(FinderOfServers, IocsClaimTheirListenersAlsoWhenTheyAreLeftOut) {
  TargetProcess ioc(TARGET_IOC, named("ioc"));
  TargetProcess left_out(TARGET_IOC, named("left-out"));
  const int port = ioc.command("listen");
  const int other = left_out.command("listen");
  EXPECT_EQ(poll().started.size(), 1u);
  EXPECT_FALSE(unclaimed(port));
  EXPECT_FALSE(unclaimed(other));
}

TEST_F(FinderOfServers, TheExporterClaimsItsOwn) {
  const int own = ::socket(AF_INET, SOCK_STREAM, 0);
  ASSERT_EQ(::listen(own, 1), 0);
  sockaddr_in address{};
  socklen_t size = sizeof address;
  ::getsockname(own, reinterpret_cast<sockaddr*>(&address), &size);
  poll();
  EXPECT_FALSE(unclaimed(ntohs(address.sin_port)));
  ::close(own);
}

TEST_F(FinderOfServers, AServerThatTheFilterLeavesOutIsNotTold) {
  TargetProcess target(TARGET_PLAIN, named("left-out"));
  const int port = target.command("listen");
  poll();
  finder_.speaks_ca(*unclaimed(port));
  EXPECT_TRUE(poll().empty());
  EXPECT_FALSE(unclaimed(port));
}

TEST_F(FinderOfServers, AServerThatBecomesAnIocIsOne) {
  TargetProcess target(TARGET_PLAIN, named("late"));
  const int port = target.command("listen");
  poll();
  finder_.speaks_ca(*unclaimed(port));
  ASSERT_EQ(poll().started.size(), 1u);
  ASSERT_EQ(target.command(std::string("load ") + TARGET_LIB), 1);
  const Changes changes = poll();
  ASSERT_EQ(changes.ended.size(), 1u);
  ASSERT_EQ(changes.started.size(), 1u);
  EXPECT_EQ(changes.started[0].kind, IocKind::base);
  EXPECT_EQ(changes.started[0].name, changes.ended[0].name);
}

TEST_F(FinderOfServers, AnotherProgramInTheProcessIsNoServer) {
  TargetProcess target(TARGET_PLAIN, named("exec"));
  const int port = target.command("listen");
  poll();
  finder_.speaks_ca(*unclaimed(port));
  ASSERT_EQ(poll().started.size(), 1u);
  target.command(std::string("exec ") + TARGET_PLAIN);
  const Changes changes = poll();
  EXPECT_EQ(changes.ended.size(), 1u);
  EXPECT_TRUE(changes.started.empty());
}

// A socket whose process is in another pid namespace than /proc shows, say.
TEST(FinderOfServersOnTree, WithoutAProcessItIsNobodys) {
  TemporaryFolder folder;
  folder.write("/proc/stat", "cpu 1\nbtime 1700000000\n");
  folder.write("/proc/thread-self/net/tcp",
               "   0: 0100007F:13C8 00000000:0000 0A 0:0 00:0 0 0 0 50 1\n");
  Finder finder(RootedFs(folder.path()), FinderOptions{});
  ASSERT_TRUE(finder.poll());
  ASSERT_EQ(finder.unclaimed().size(), 1u);
  const Listener listener = *finder.unclaimed().begin();
  finder.speaks_ca(listener);
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(finder.ownerless().empty()) << "it may be a process that came just now";
    ASSERT_TRUE(finder.poll());
  }
  EXPECT_EQ(finder.ownerless(), std::vector{listener});
  folder.write("/proc/thread-self/net/tcp", "");
  ASSERT_TRUE(finder.poll());
  EXPECT_TRUE(finder.ownerless().empty());
  EXPECT_TRUE(finder.unclaimed().empty());
}

}  // namespace
}  // namespace ioc_exporter::iocs

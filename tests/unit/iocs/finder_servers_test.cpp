// CA servers that are no IOCs, as the finder sees them: real processes that listen, see target.c.
#include <gtest/gtest.h>

#include <algorithm>

#include "iocs/find/finder.h"
#include "support/loopback.h"
#include "support/value_of.h"
#include "target_process.h"

namespace ioc_exporter::iocs {
namespace {

class FinderOfServers : public testing::Test {
 protected:
  Changes poll() { return value_of(finder_.poll()); }
  std::optional<Listener> unclaimed(int port) {
    const auto found = std::ranges::find_if(
        finder_.unclaimed(), [port](const auto& one) { return one.socket.port == port; });
    return found == finder_.unclaimed().end() ? std::nullopt : std::optional(*found);
  }
  // The process listens, and answers as one of that kind: what is told then.
  Changes spoken(TargetProcess& target, IocKind kind = IocKind::other_ca) {
    port_ = target.command("listen");
    poll();
    finder_.speaks(value_of(unclaimed(port_)), kind);
    return poll();
  }

  Finder finder_{RootedFs("/"), only_ours()};
  int port_ = 0;
};

TEST_F(FinderOfServers, AListenerThatSpeaksIsItsProcess) {
  TargetProcess target(TARGET_PLAIN, named("server"));
  const int port = target.command("listen");
  const int other = target.command("listen");
  EXPECT_TRUE(poll().started.empty());
  const auto listener = value_of(unclaimed(port));
  EXPECT_EQ(listener.socket.address, ipv4_address(127, 0, 0, 1));
  EXPECT_TRUE(unclaimed(other));

  finder_.speaks(listener, IocKind::other_ca);
  const Ioc& server = only(poll().started);
  EXPECT_EQ(server.kind, IocKind::other_ca);
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

TEST_F(FinderOfServers, AServerForPvAccessHasNoPortOfChannelAccess) {
  TargetProcess target(TARGET_PLAIN, named("pva"));
  const Ioc server = only(spoken(target, IocKind::other_pva).started);
  EXPECT_EQ(server.kind, IocKind::other_pva);
  EXPECT_FALSE(server.ca_port);
}

TEST_F(FinderOfServers, AServerWhoseMainThreadHasEnded) {
  TargetProcess target(TARGET_PLAIN, named("headless"));
  const int port = target.command("listen");
  target.command("end_main");
  FinderOptions options = only_ours();
  options.server_ports = {static_cast<std::uint16_t>(port)};
  Finder finder(RootedFs("/"), std::move(options));
  const auto changes = value_of(finder.poll());
  EXPECT_EQ(only(changes.started).name, our_name("headless"));
  EXPECT_EQ(only(changes.started).listening.size(), 1u);
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
  const UniqueFd own = listener_on_loopback();
  poll();
  EXPECT_FALSE(unclaimed(port_of(own)));
}

TEST_F(FinderOfServers, AServerThatTheFilterLeavesOutIsNotTold) {
  TargetProcess target(TARGET_PLAIN, named("left-out"));
  EXPECT_TRUE(spoken(target).empty());
  EXPECT_FALSE(unclaimed(port_));
}

TEST_F(FinderOfServers, AServerThatBecomesAnIocIsOne) {
  TargetProcess target(TARGET_PLAIN, named("late"));
  ASSERT_EQ(spoken(target).started.size(), 1u);
  ASSERT_EQ(target.command(std::string("load ") + TARGET_LIB), 1);
  const Changes changes = poll();
  ASSERT_EQ(changes.ended.size(), 1u);
  EXPECT_EQ(only(changes.started).kind, IocKind::base);
  EXPECT_EQ(only(changes.started).name, changes.ended[0].name);
}

TEST_F(FinderOfServers, AnotherProgramInTheProcessIsNoServer) {
  TargetProcess target(TARGET_PLAIN, named("exec"));
  ASSERT_EQ(spoken(target).started.size(), 1u);
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
  finder.speaks(listener, IocKind::other_ca);
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

// Ports of CA servers, and sockets that listen.
#include <gtest/gtest.h>

#include "database_image.h"
#include "iocs/find/listening_sockets.h"
#include "support/value_of.h"
#include "target_process.h"

namespace ioc_exporter::iocs {
namespace {

TEST(CaServerPort, FirstThatIsSetOrAnErrorInWords) {
  const auto memory = own_memory();
  ASSERT_NE(memory, nullptr);
  const std::uint16_t ports[]{0, 5064, 7};
  const std::uint64_t all[]{DatabaseImage::address(&ports[0]), DatabaseImage::address(&ports[1]),
                            DatabaseImage::address(&ports[2])};
  EXPECT_EQ(value_of(read_ca_server_port(*memory, all, "ioc X")), 5064);
  EXPECT_FALSE(value_of(read_ca_server_port(*memory, std::span(all).first(1), "ioc X")));
  EXPECT_EQ(error_of(read_ca_server_port(*memory, {}, "ioc X")),
            "read the CA server's port of ioc X: no symbol ca_server_port was found");
  const std::uint64_t unmapped[]{16};
  EXPECT_TRUE(error_of(read_ca_server_port(*memory, unmapped, "ioc X"))
                  .starts_with("read the CA server's port of ioc X: read memory at 0x10"));
}

const ListeningSocket kLoopback5064{ipv4_address(127, 0, 0, 1), 5064};

TEST(Listeners, AddressesAndTheWildcard) {
  TemporaryFolder folder;
  const std::string rest = ":0000 0A 0:0 00:0 0 0 0 ";
  folder.write("/proc/7/net/tcp", "   0: 0100007F:13C8 00000000" + rest + "50 1\n" +
                                      "   1: 00000000:13D3 00000000" + rest + "60 1\n");
  const std::string zeros(24, '0');
  folder.write("/proc/7/net/tcp6", "   0: " + zeros + "00000000:13C9 " + zeros + "00000000" + rest +
                                       "70 1\n" + "   1: " + zeros + "01000000:13CA " + zeros +
                                       "00000000" + rest + "80 1\n");
  auto sockets = value_of(SocketTable::of_process(RootedFs(folder.path()), 7));
  const auto listeners = value_of(read_listeners(sockets));
  InetAddress loopback{};
  loopback[15] = 1;
  EXPECT_EQ(
      listeners,
      (Listeners{{50, kLoopback5064}, {60, {{}, 5075}}, {70, {{}, 5065}}, {80, {loopback, 5066}}}));
}

TEST(SocketInodes, OtherDescriptorsHaveNone) {
  TemporaryFolder folder;
  const RootedFs fs(folder.path());
  EXPECT_TRUE(socket_inodes(fs, 7).empty());
  folder.link("/proc/7/fd/3", "socket:[50]");
  folder.link("/proc/7/fd/4", "/dev/null");
  folder.link("/proc/7/fd/5", "socket:[x]");
  folder.link("/proc/7/fd/6", "socket:[51");
  folder.link("/proc/7/fd/7", "socket:[52]]");
  EXPECT_EQ(socket_inodes(fs, 7), std::set<std::uint64_t>{50});
}

TEST(OwnedSockets, DescriptorsAreReadAgainOnlyForANewListener) {
  TemporaryFolder folder;
  const RootedFs fs(folder.path());
  folder.link("/proc/7/fd/3", "socket:[50]");
  folder.link("/proc/7/fd/4", "/dev/null");
  const ListeningSocket other{{}, 80};
  Listeners listeners{{50, kLoopback5064}, {60, other}};
  OwnedSockets sockets;
  EXPECT_EQ(sockets.update(fs, 7, listeners, false), std::vector{kLoopback5064});
  folder.link("/proc/7/fd/5", "socket:[60]");
  EXPECT_EQ(sockets.update(fs, 7, listeners, false), std::vector{kLoopback5064})
      << "known: not read";
  EXPECT_EQ(sockets.update(fs, 7, listeners, true), (std::vector{other, kLoopback5064}));
  EXPECT_EQ(sockets.inodes(), (std::set<std::uint64_t>{50, 60}));
  listeners.erase(60);
  EXPECT_EQ(sockets.update(fs, 7, listeners, false), std::vector{kLoopback5064});
  listeners.emplace(70, other);
  folder.link("/proc/7/fd/6", "socket:[70]");
  EXPECT_EQ(sockets.update(fs, 7, listeners, false).size(), 2u);
}

}  // namespace
}  // namespace ioc_exporter::iocs

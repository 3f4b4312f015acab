#include "discovery/listening_sockets.h"

#include <gtest/gtest.h>

#include "target_process.h"

namespace ioc_exporter::discovery {
namespace {

// Address bytes as the kernel of a little-endian machine prints them.
std::string line(const std::string& local, const std::string& state, int inode) {
  return "   0: " + local + " 00000000:0000 " + state +
         " 00000000:00000000 00:00000000 00000000     0        0 " + std::to_string(inode) +
         " 1 0000000000000000 100 0 0 10 0\n";
}
const std::string kHeader = "  sl  local_address rem_address   st tx_queue rx_queue tr ...\n";
const ListeningSocket kLoopback5064{{{127, 0, 0, 1}}, 5064};

TEST(TcpLine, Addresses) {
  const auto loopback = parse_tcp_line(line("0100007F:13C8", "0A", 77));
  ASSERT_TRUE(loopback);
  EXPECT_TRUE(loopback->listening);
  EXPECT_EQ(loopback->inode, 77u);
  EXPECT_EQ(loopback->socket, kLoopback5064);
  EXPECT_EQ(parse_tcp_line(line("00000000:13C8", "0A", 77))->socket, (ListeningSocket{{}, 5064}));
  EXPECT_FALSE(parse_tcp_line(line("0100007F:13C8", "01", 77))->listening);
  const std::string zeros = "000000000000000000000000";
  EXPECT_EQ(parse_tcp_line(line(zeros + "00000000:13C8", "0A", 7))->socket,
            (ListeningSocket{{}, 5064}));
  EXPECT_EQ(parse_tcp_line(line("0000000000000000FFFF00000100007F:13C8", "0A", 7))->socket,
            kLoopback5064);
  EXPECT_FALSE(parse_tcp_line(line(zeros + "01000000:13C8", "0A", 7))->socket)
      << "::1 takes no IPv4";
  for (const char* bad :
       {"", "0: x:y", "0: 0100007F:13C8 0:0 0A", "0: 0100007F13C8 0:0 0A 0 0 0 0 0 7",
        "0: 010000:13C8 0:0 0A 0 0 0 0 0 7", "0: 0100007G:13C8 0:0 0A 0 0 0 0 0 7"})
    EXPECT_FALSE(parse_tcp_line(bad)) << bad;
}

TEST(Listeners, ReadingEndsAtTheFirstOtherLine) {
  TemporaryFolder folder;
  const RootedFs fs(folder.path());
  EXPECT_FALSE(read_listeners(fs, 7));
  std::string many = kHeader;
  for (int i = 0; i < 200; ++i) many += line("0100007F:13C8", "0A", 100 + i);
  folder.write("/proc/7/net/tcp",
               many + line("0100007F:9999", "01", 1) + line("0100007F:13C9", "0A", 2));
  const auto only_v4 = read_listeners(fs, 7);
  ASSERT_TRUE(only_v4) << "no IPv6 in the kernel";
  EXPECT_EQ(only_v4->size(), 200u);
  folder.write("/proc/7/net/tcp6", kHeader + line(std::string(32, '0') + ":13D3", "0A", 3));
  const auto both = read_listeners(fs, 7);
  ASSERT_TRUE(both);
  EXPECT_EQ(both->size(), 201u);
  EXPECT_EQ(both->at(3), (ListeningSocket{{}, 5075}));
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
  listeners.erase(60);
  EXPECT_EQ(sockets.update(fs, 7, listeners, false), std::vector{kLoopback5064});
  listeners.emplace(70, other);
  folder.link("/proc/7/fd/6", "socket:[70]");
  EXPECT_EQ(sockets.update(fs, 7, listeners, false).size(), 2u);
}

}  // namespace
}  // namespace ioc_exporter::discovery

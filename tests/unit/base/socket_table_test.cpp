#include "base/socket_table.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <vector>

#include "support/loopback.h"
#include "support/temporary_folder.h"
#include "support/value_of.h"

namespace ioc_exporter {
namespace {

const std::string kTail = " 00000000:00000000 00:00000000 00000000     0        0 ";
const std::string kZeros(24, '0');

TEST(SocketLine, EndsStateAndInode) {
  const auto line = parse_socket_line("   1: 0100007F:13C8 0200007F:9C40 01 00000007:00000017" +
                                      kTail.substr(kTail.find(" 00:")) + "77 1 0 100 0 0 10 0");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->state, 1u);
  EXPECT_EQ(line->socket.local, ipv4_address(127, 0, 0, 1));
  EXPECT_EQ(line->socket.local_port, 5064);
  EXPECT_EQ(line->socket.remote, ipv4_address(127, 0, 0, 2));
  EXPECT_EQ(line->socket.remote_port, 40000);
  EXPECT_EQ(line->socket.inode, 77u);
  EXPECT_EQ(line->socket.unread, 0x17u);
  EXPECT_EQ(line->socket.cookie, 0u);
}

TEST(SocketLine, Ipv6) {
  const auto mapped = parse_socket_line("   0: 0000000000000000FFFF00000100007F:13C8 " + kZeros +
                                        "00000000:0000 0A" + kTail + "7 1");
  ASSERT_TRUE(mapped);
  EXPECT_EQ(mapped->socket.local, ipv4_address(127, 0, 0, 1));
  EXPECT_TRUE(is_any_address(mapped->socket.remote));
  const auto loopback = parse_socket_line("   0: " + kZeros + "01000000:13C8 " + kZeros +
                                          "00000000:0000 0A" + kTail + "7 1");
  ASSERT_TRUE(loopback);
  InetAddress one{};
  one[15] = 1;
  EXPECT_EQ(loopback->socket.local, one);
  EXPECT_FALSE(is_any_address(loopback->socket.local));
}

TEST(SocketLine, NonsenseIsNone) {
  const std::string good = "   0: 0100007F:13C8 0200007F:9C40 01" + kTail + "77 1";
  ASSERT_TRUE(parse_socket_line(good));
  for (std::size_t cut = 0; cut < good.size() - 4; ++cut)
    EXPECT_FALSE(parse_socket_line(good.substr(0, cut))) << cut;
  for (const std::string& bad :
       {std::string("  sl  local_address rem_address   st tx_queue rx_queue tr"),
        "   0: 0100007X:13C8 0200007F:9C40 01" + kTail + "77 1",
        "   0: 0100007F13C8 0200007F:9C40 01" + kTail + "77 1",
        "   0: 0100007F:13C8 0200007F:9C40 zz" + kTail + "77 1",
        "   0: 0100007F:13C8 0200007F:9C40 01" + kTail + "x 1"})
    EXPECT_FALSE(parse_socket_line(bad)) << bad;
}

std::vector<InetSocket> all(SocketTable& table, SocketKind kind) {
  std::vector<InetSocket> sockets;
  must_succeed(table.for_each(kind, [&](const InetSocket& one) { sockets.push_back(one); }));
  return sockets;
}

class SocketFiles : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& content) {
    folder_.write("/proc/7/net/" + name, "  sl  local_address\n" + content);
  }
  static std::string line(const std::string& local, const std::string& state, int inode) {
    return "   0: " + local + " 00000000:0000 " + state + kTail + std::to_string(inode) + " 1\n";
  }
  std::vector<std::uint64_t> inodes(SocketKind kind) {
    auto table = value_of(SocketTable::of_process(RootedFs(folder_.path()), 7));
    std::vector<std::uint64_t> found;
    for (const InetSocket& socket : all(table, kind)) found.push_back(socket.inode);
    return found;
  }
  const TemporaryFolder folder_;
};

TEST_F(SocketFiles, EachKind) {
  write("tcp", line("0100007F:0001", "0A", 1) + line("0100007F:0002", "0A", 2) +
                   line("0100007F:0003", "01", 3) + line("0100007F:0004", "06", 4) +
                   line("0100007F:0005", "07", 5) + line("0100007F:0006", "03", 6) +
                   line("0100007F:0007", "08", 7));
  write("tcp6", line("0100007F:0008", "0A", 8));
  write("udp", line("0100007F:0001", "07", 11) + line("0100007F:0002", "01", 12));
  EXPECT_EQ(inodes(SocketKind::listening), (std::vector<std::uint64_t>{1, 2, 8}));
  EXPECT_EQ(inodes(SocketKind::connected), (std::vector<std::uint64_t>{3, 6, 7}));
  EXPECT_EQ(inodes(SocketKind::udp), (std::vector<std::uint64_t>{11, 12})) << "no udp6 is no error";
}

TEST_F(SocketFiles, ListenersEndAtTheFirstOtherLine) {
  std::string many;
  for (int i = 0; i < 200; ++i) many += line("0100007F:13C8", "0A", 100 + i);
  write("tcp", many + line("0100007F:9999", "01", 1) + line("0100007F:13C9", "0A", 2));
  EXPECT_EQ(inodes(SocketKind::listening).size(), 200u);
}

TEST_F(SocketFiles, AnErrorNamesTheFile) {
  auto table = value_of(SocketTable::of_process(RootedFs(folder_.path()), 8));
  EXPECT_THAT(error_of(table.for_each(SocketKind::udp, [](const InetSocket&) {})),
              testing::HasSubstr("/proc/8/net/udp: No such file"));
}

UniqueFd bound_to_loopback(int family, int type) {
  UniqueFd fd(::socket(family, type, 0));
  sockaddr_storage address{};
  address.ss_family = static_cast<sa_family_t>(family);
  if (family == AF_INET)
    reinterpret_cast<sockaddr_in&>(address).sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  else
    reinterpret_cast<sockaddr_in6&>(address).sin6_addr = in6addr_loopback;
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) fd.reset();
  return fd;
}

std::uint64_t inode_of(const UniqueFd& fd) {
  struct stat status {};
  ::fstat(fd.get(), &status);
  return status.st_ino;
}

std::optional<InetSocket> find(const std::vector<InetSocket>& sockets, std::uint64_t inode) {
  const auto found = std::ranges::find(sockets, inode, &InetSocket::inode);
  return found == sockets.end() ? std::nullopt : std::optional(*found);
}

// The host's own sockets, by netlink and from the files alike.
class SocketsOfHost : public testing::TestWithParam<bool> {
 protected:
  // "/." is the host's root too, but not known for it: its files are read.
  SocketTable table_ = SocketTable::of_thread(RootedFs(GetParam() ? "/" : "/."));

  void SetUp() override {
    if (GetParam() && !Netlink::open(NETLINK_SOCK_DIAG, "ask"))
      GTEST_SKIP() << "this kernel has no sock_diag";
  }
};

TEST_P(SocketsOfHost, ListenerAndItsConnection) {
  const UniqueFd listener = listener_on_loopback();
  const auto listening = value_of(find(all(table_, SocketKind::listening), inode_of(listener)));
  EXPECT_EQ(listening.local, ipv4_address(127, 0, 0, 1));
  EXPECT_EQ(listening.local_port, port_of(listener));
  EXPECT_TRUE(is_any_address(listening.remote));
  EXPECT_FALSE(find(all(table_, SocketKind::connected), inode_of(listener)));

  const UniqueFd client = connected_to(listener);
  UniqueFd server(::accept(listener.get(), nullptr, nullptr));
  const auto connected = all(table_, SocketKind::connected);
  const auto at_server = find(connected, inode_of(server));
  const auto at_client = find(connected, inode_of(client));
  ASSERT_TRUE(at_server && at_client);
  EXPECT_EQ(at_server->local_port, port_of(listener));
  EXPECT_EQ(at_server->remote_port, port_of(client));
  EXPECT_EQ(at_client->remote_port, port_of(listener));
  EXPECT_EQ(at_client->remote, ipv4_address(127, 0, 0, 1));
  if (GetParam()) {
    EXPECT_NE(at_server->cookie, 0u);
    EXPECT_NE(at_server->cookie, at_client->cookie);
    EXPECT_EQ(find(all(table_, SocketKind::connected), inode_of(server))->cookie,
              at_server->cookie);
  }
}

TEST_P(SocketsOfHost, Ipv6Listener) {
  const UniqueFd listener = bound_to_loopback(AF_INET6, SOCK_STREAM);
  if (!listener) GTEST_SKIP() << "this host has no IPv6";
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  const auto listening = value_of(find(all(table_, SocketKind::listening), inode_of(listener)));
  InetAddress loopback{};
  loopback[15] = 1;
  EXPECT_EQ(listening.local, loopback);
}

TEST_P(SocketsOfHost, UdpPort) {
  const UniqueFd bound = bound_to_loopback(AF_INET, SOCK_DGRAM);
  EXPECT_EQ(value_of(find(all(table_, SocketKind::udp), inode_of(bound))).local_port,
            port_of(bound));
}

// More than one answer's worth.
TEST_P(SocketsOfHost, ManyListeners) {
  std::vector<UniqueFd> listeners;
  for (int i = 0; i < 701; ++i) listeners.push_back(listener_on_loopback());
  const auto listening = all(table_, SocketKind::listening);
  for (const UniqueFd& listener : listeners) EXPECT_TRUE(find(listening, inode_of(listener)));
}

INSTANTIATE_TEST_SUITE_P(Ways, SocketsOfHost, testing::Bool(), [](const auto& way) {
  return way.param ? std::string("Netlink") : std::string("Files");
});

// A child in a network namespace of its own that listens on loopback; its port.
class OtherNamespace {
 public:
  OtherNamespace() {
    int pipe[2];
    if (::pipe(pipe) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      std::uint16_t port = 0;
      const bool apart = ::unshare(CLONE_NEWNET) == 0;
      // Loopback is down there, and its address not assigned: any address will do.
      const UniqueFd listener(::socket(AF_INET, SOCK_STREAM, 0));
      if (apart && ::listen(listener.get(), 1) == 0) port = port_of(listener);
      if (::write(pipe[1], &port, sizeof port) == sizeof port) ::pause();
      ::_exit(0);
    }
    if (::read(pipe[0], &port_, sizeof port_) != sizeof port_) port_ = 0;
    ::close(pipe[0]);
    ::close(pipe[1]);
  }
  ~OtherNamespace() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }
  std::uint16_t port() const { return port_; }

 private:
  pid_t pid_ = -1;
  std::uint16_t port_ = 0;
};

TEST(SocketTable, ReadsAnotherNamespace) {
  const OtherNamespace other;
  if (other.port() == 0) GTEST_SKIP() << "a network namespace of its own needs CAP_SYS_ADMIN";
  for (const char* root : {"/", "/."}) {
    auto table = value_of(SocketTable::of_process(RootedFs(root), other.pid()));
    EXPECT_EQ(only(all(table, SocketKind::listening)).local_port, other.port());
  }
}

TEST(SocketTable, AnEndedProcessIsAnError) {
  EXPECT_THAT(error_of(SocketTable::of_process(RootedFs(), 0x7FFFFFFF)),
              testing::HasSubstr("/proc/2147483647/ns/net: No such file"));
}

// By local and remote port: sockets of other tests are there, too.
std::map<std::pair<std::uint16_t, std::uint16_t>, InetSocket> by_ports() {
  std::map<std::pair<std::uint16_t, std::uint16_t>, InetSocket> all;
  must_succeed(value_of(SocketTable::of_process(RootedFs(), ::getpid()))
                   .for_each(SocketKind::traffic, [&all](const InetSocket& one) {
                     all[{one.local_port, one.remote_port}] = one;
                   }));
  return all;
}

TEST(TcpTraffic, BothEndsOfAConnectionAndItsBytes) {
  const UniqueFd listener = listener_on_loopback(), client = connected_to(listener);
  const UniqueFd server(::accept(listener.get(), nullptr, nullptr));
  ASSERT_EQ(::send(client.get(), "23 bytes of a telegram.", 23, 0), 23);
  char bytes[23];
  ASSERT_EQ(::recv(server.get(), bytes, sizeof bytes, MSG_WAITALL), 23);
  auto all = by_ports();
  const InetSocket& at_server = all[{port_of(listener), port_of(client)}];
  const InetSocket& at_client = all[{port_of(client), port_of(listener)}];
  EXPECT_EQ(at_server.local_port, port_of(listener));
  EXPECT_EQ(at_server.remote, ipv4_address(127, 0, 0, 1));
  EXPECT_EQ(at_server.received, 23u);
  EXPECT_EQ(at_client.received, 0u);
  EXPECT_NE(at_server.cookie, at_client.cookie);
}

}  // namespace
}  // namespace ioc_exporter

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include <map>

#include "base/socket_table.h"
#include "base/unique_fd.h"

namespace ioc_exporter {
namespace {

std::uint16_t port_of(const UniqueFd& fd) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

std::map<std::uint16_t, InetSocket> by_remote_port() {
  std::map<std::uint16_t, InetSocket> all;
  auto table = SocketTable::of_process(RootedFs(), ::getpid());
  if (!table) {
    ADD_FAILURE() << table.error().message();
    return all;
  }
  const auto done = table->for_each(SocketKind::traffic,
                                    [&all](const InetSocket& one) { all[one.remote_port] = one; });
  EXPECT_TRUE(done) << done.error().message();
  return all;
}

TEST(TcpTraffic, BothEndsOfAConnectionAndItsBytes) {
  const UniqueFd listener(::socket(AF_INET, SOCK_STREAM, 0));
  const UniqueFd client(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  address.sin_port = htons(port_of(listener));
  ASSERT_EQ(::connect(client.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  const UniqueFd server(::accept(listener.get(), nullptr, nullptr));
  ASSERT_EQ(::send(client.get(), "23 bytes of a telegram.", 23, 0), 23);
  char bytes[23];
  ASSERT_EQ(::recv(server.get(), bytes, sizeof bytes, MSG_WAITALL), 23);
  auto all = by_remote_port();
  const InetSocket &at_server = all[port_of(client)], &at_client = all[port_of(listener)];
  EXPECT_EQ(at_server.local_port, port_of(listener));
  EXPECT_EQ(at_server.remote, ipv4_address(127, 0, 0, 1));
  EXPECT_EQ(at_server.received, 23u);
  EXPECT_EQ(at_client.received, 0u);
  EXPECT_NE(at_server.cookie, at_client.cookie);
}

TEST(TcpTraffic, AProcessThatIsGoneIsAnError) {
  EXPECT_FALSE(SocketTable::of_process(RootedFs(), 0x3FFFFFFF));
}

}  // namespace
}  // namespace ioc_exporter

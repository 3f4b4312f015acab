#include "base/socket_cookies.h"

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <utility>

#include "puts/tap/connections.h"

namespace {

using namespace ioc_exporter;

std::uint64_t cookie_of(const UniqueFd& fd) {
  std::uint64_t cookie = 0;
  socklen_t length = sizeof cookie;
  EXPECT_EQ(::getsockopt(fd.get(), SOL_SOCKET, SO_COOKIE, &cookie, &length), 0);
  return cookie;
}

template <class Address>
Address local_end(const UniqueFd& fd) {
  Address address{};
  socklen_t length = sizeof address;
  EXPECT_EQ(::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &length), 0);
  return address;
}

// A connection on loopback: server's end, client's end, and what the tap calls it.
struct Connection {
  UniqueFd listener, server, client;
  iocx_ca_flow_key key{};

  template <class Address>
  void open(int family, Address address) {
    listener.reset(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(::listen(listener.get(), 1), 0);
    address = local_end<Address>(listener);
    client.reset(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::connect(client.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    server.reset(::accept(listener.get(), nullptr, nullptr));
    ASSERT_GE(server.get(), 0);
  }
};

class SocketCookiesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = SocketCookies::open();
    if (!opened) GTEST_SKIP() << opened.error().message();
    cookies_.emplace(std::move(*opened));
  }
  void open_v4(Connection& connection) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connection.open(AF_INET, address);
    connection.key.client = connection.key.server = ca::ca_address_v4({127, 0, 0, 1});
    connection.key.client_port = ntohs(local_end<sockaddr_in>(connection.client).sin_port);
    connection.key.server_port = ntohs(local_end<sockaddr_in>(connection.server).sin_port);
  }
  std::optional<std::uint64_t> find(const iocx_ca_flow_key& key) {
    auto found = cookies_->find(key);
    EXPECT_TRUE(found) << found.error().message();
    return found ? *found : std::nullopt;
  }

  std::optional<SocketCookies> cookies_;
};

TEST_F(SocketCookiesTest, FindsTheServersEnd) {
  Connection connection;
  open_v4(connection);
  EXPECT_EQ(find(connection.key), cookie_of(connection.server));
  std::swap(connection.key.client_port, connection.key.server_port);
  EXPECT_EQ(find(connection.key), cookie_of(connection.client));
}

TEST_F(SocketCookiesTest, FindsIPv6) {
  Connection connection;
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  UniqueFd probe(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!probe || ::bind(probe.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    GTEST_SKIP() << "this host has no IPv6";
  connection.open(AF_INET6, address);
  connection.key.client.bytes[15] = connection.key.server.bytes[15] = 1;
  connection.key.client_port = ntohs(local_end<sockaddr_in6>(connection.client).sin6_port);
  connection.key.server_port = ntohs(local_end<sockaddr_in6>(connection.server).sin6_port);
  EXPECT_EQ(find(connection.key), cookie_of(connection.server));
}

TEST_F(SocketCookiesTest, ListenersAndWhatIsGoneAreNoConnections) {
  Connection connection;
  open_v4(connection);
  auto other = connection.key;
  other.client_port = 1;  // the kernel answers with the listener
  EXPECT_EQ(find(other), std::nullopt);
  const linger at_once{1, 0};
  ASSERT_EQ(::setsockopt(connection.client.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once),
            0);
  connection.client.reset();
  connection.server.reset();
  EXPECT_EQ(find(connection.key), std::nullopt);
}

}  // namespace

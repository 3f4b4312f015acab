// Client and server of a Channel Access circuit, as raw sockets that send byte literals. On
// loopback, unless namespaces are named.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>

#include "base/unique_fd.h"
#include "support/in_net_namespace.h"
#include "support/loopback.h"
#include "unit/puts/bytes.h"

namespace ioc_exporter::testing {

// An IPv4 or IPv6 address and port as the socket calls take them.
class Endpoint {
 public:
  Endpoint(const std::string& address, std::uint16_t port) {
    auto* v4 = reinterpret_cast<sockaddr_in*>(&storage_);
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&storage_);
    if (::inet_pton(AF_INET, address.c_str(), &v4->sin_addr) == 1) {
      v4->sin_family = AF_INET;
      v4->sin_port = htons(port);
    } else {
      EXPECT_EQ(::inet_pton(AF_INET6, address.c_str(), &v6->sin6_addr), 1) << address;
      v6->sin6_family = AF_INET6;
      v6->sin6_port = htons(port);
    }
  }
  int family() const { return storage_.ss_family; }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage_); }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t size() const {
    return family() == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  }

 private:
  sockaddr_storage storage_{};
};

// Nothing waits for ever: a call on the socket fails after some seconds.
inline void limit_waiting(const UniqueFd& fd) {
  constexpr timeval kLimit{60, 0};
  for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO})
    ASSERT_EQ(::setsockopt(fd.get(), SOL_SOCKET, option, &kLimit, sizeof kLimit), 0);
}

// A stream socket in the network namespace of `ns_fd`; -1: in the caller's.
inline UniqueFd stream_socket(int family, int ns_fd) {
  UniqueFd fd;
  const auto open = [&] { fd.reset(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)); };
  if (ns_fd < 0)
    open();
  else
    EXPECT_TRUE(in_net_namespace(ns_fd, open));
  EXPECT_GE(fd.get(), 0);
  limit_waiting(fd);
  return fd;
}

inline void set_flag(const UniqueFd& fd, int level, int option) {
  const int on = 1;
  ASSERT_EQ(::setsockopt(fd.get(), level, option, &on, sizeof on), 0);
}

// A listening socket, on a free port when that is 0.
class Listener {
 public:
  explicit Listener(const std::string& address = "127.0.0.1", std::uint16_t port = 0,
                    int ns_fd = -1)
      : address_(address), fd_(stream_socket(Endpoint(address, 0).family(), ns_fd)) {
    set_flag(fd_, SOL_SOCKET, SO_REUSEADDR);
    const Endpoint local(address, port);
    EXPECT_EQ(::bind(fd_.get(), local.get(), local.size()), 0);
    EXPECT_EQ(::listen(fd_.get(), 400), 0);
    port_ = port_of(fd_);
  }
  const std::string& address() const { return address_; }
  std::uint16_t port() const { return port_; }
  int fd() const { return fd_.get(); }

 private:
  std::string address_;
  UniqueFd fd_;
  std::uint16_t port_ = 0;
};

// Sends what the socket takes without waiting: at least one byte, as long as the peer reads.
inline std::size_t send_some(const UniqueFd& fd, const std::uint8_t* bytes, std::size_t size) {
  const ssize_t n = ::send(fd.get(), bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  EXPECT_GT(n, 0);
  return n > 0 ? static_cast<std::size_t>(n) : 0;
}

// A connection with both of its ends. What one end sends is read by the other at once, so that the
// peer's buffer never fills and every call returns with all of its packets seen by the tap.
class Circuit {
 public:
  // `client_port` 0: any.
  explicit Circuit(const Listener& listener, std::uint16_t client_port = 0) {
    connect(listener, listener.address(), client_port, -1);
  }
  // A client in another network namespace, to the listener at that address.
  Circuit(const Listener& listener, const std::string& address, int client_ns) {
    connect(listener, address, 0, client_ns);
  }

  void to_server(const Bytes& bytes) { transfer(client_, server_, bytes, bytes.size()); }
  // As many segments as there are pieces.
  void to_server_in_pieces(const Bytes& bytes, std::size_t piece) {
    transfer(client_, server_, bytes, piece);
  }
  void to_client(const Bytes& bytes) { transfer(server_, client_, bytes, bytes.size()); }
  void to_client_in_pieces(const Bytes& bytes, std::size_t piece) {
    transfer(server_, client_, bytes, piece);
  }
  // FIN: the client sends no more, and still receives.
  void end_of_client() { ASSERT_EQ(::shutdown(client_.get(), SHUT_WR), 0); }
  // VERSION and identity, then channels CID = SID - 100, named by `names`.
  void open(const std::string& user, const std::string& host,
            const std::vector<std::string>& names) {
    Bytes request = version() + host_name(host) + client_name(user);
    Bytes answer = version();
    for (std::uint32_t i = 0; i < names.size(); ++i) {
      request = request + create(i, names[i]);
      answer = answer + created(i, 100 + i);
    }
    to_server(request);
    to_client(answer);
  }
  std::uint16_t client_port() const { return port_of(client_); }
  // With RST, so that the 4-tuple can be used again at once.
  void abort() {
    const linger at_once{1, 0};
    ASSERT_EQ(::setsockopt(client_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), 0);
    client_.reset();
    server_.reset();
  }

 private:
  void connect(const Listener& listener, const std::string& address, std::uint16_t client_port,
               int client_ns) {
    const Endpoint peer(address, listener.port());
    const Endpoint local(peer.family() == AF_INET ? "0.0.0.0" : "::", client_port);
    client_ = stream_socket(peer.family(), client_ns);
    set_flag(client_, IPPROTO_TCP, TCP_NODELAY);
    set_flag(client_, SOL_SOCKET, SO_REUSEADDR);
    EXPECT_EQ(::bind(client_.get(), local.get(), local.size()), 0);
    EXPECT_EQ(::connect(client_.get(), peer.get(), peer.size()), 0) << address;
    server_.reset(::accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC));
    ASSERT_GE(server_.get(), 0);
    set_flag(server_, IPPROTO_TCP, TCP_NODELAY);
    limit_waiting(server_);
  }
  static void transfer(const UniqueFd& from, const UniqueFd& to, const Bytes& bytes,
                       std::size_t piece) {
    Bytes buffer(1 << 20);
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t wanted = std::min({piece, bytes.size() - at, std::size_t{32768} * 4});
      const std::size_t size = send_some(from, bytes.data() + at, wanted);
      ASSERT_GT(size, 0u);
      for (std::size_t got = 0; got < size;) {
        const ssize_t n = ::recv(to.get(), buffer.data(), buffer.size(), 0);
        ASSERT_GT(n, 0);
        got += static_cast<std::size_t>(n);
      }
      at += size;
    }
  }

  UniqueFd client_;
  UniqueFd server_;
};

}  // namespace ioc_exporter::testing

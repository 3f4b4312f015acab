// Client and server of a Channel Access circuit on loopback, as raw sockets that send byte
// literals.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "unit/protocol/ca_bytes.h"
#include "util/unique_fd.h"

namespace ioc_exporter::testing {

inline sockaddr_in loopback_address(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

inline void set_flag(const UniqueFd& fd, int level, int option) {
  const int on = 1;
  ASSERT_EQ(::setsockopt(fd.get(), level, option, &on, sizeof on), 0);
}

// A listening socket on a free port.
class Listener {
 public:
  Listener() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    set_flag(fd_, SOL_SOCKET, SO_REUSEADDR);
    sockaddr_in address = loopback_address(0);
    EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(fd_.get(), 400), 0);
    socklen_t length = sizeof address;
    EXPECT_EQ(::getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&address), &length), 0);
    port_ = ntohs(address.sin_port);
  }
  std::uint16_t port() const { return port_; }
  int fd() const { return fd_.get(); }

 private:
  UniqueFd fd_;
  std::uint16_t port_ = 0;
};

inline void send_all(const UniqueFd& fd, const Bytes& bytes) {
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t n = ::send(fd.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    ASSERT_GT(n, 0);
    sent += static_cast<std::size_t>(n);
  }
}

// A connection with both of its ends. What one end sends is read by the other at once, so that the
// peer's buffer never fills and every call returns with all of its packets seen by the tap.
class Circuit {
 public:
  // `client_port` 0: any.
  explicit Circuit(const Listener& listener, std::uint16_t client_port = 0) {
    client_.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    set_flag(client_, IPPROTO_TCP, TCP_NODELAY);
    set_flag(client_, SOL_SOCKET, SO_REUSEADDR);
    sockaddr_in local = loopback_address(client_port);
    EXPECT_EQ(::bind(client_.get(), reinterpret_cast<sockaddr*>(&local), sizeof local), 0);
    const sockaddr_in peer = loopback_address(listener.port());
    EXPECT_EQ(::connect(client_.get(), reinterpret_cast<const sockaddr*>(&peer), sizeof peer), 0);
    server_.reset(::accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC));
    EXPECT_GE(server_.get(), 0);
    set_flag(server_, IPPROTO_TCP, TCP_NODELAY);
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
  std::uint16_t client_port() const {
    sockaddr_in address{};
    socklen_t length = sizeof address;
    EXPECT_EQ(::getsockname(client_.get(), reinterpret_cast<sockaddr*>(&address), &length), 0);
    return ntohs(address.sin_port);
  }
  // With RST, so that the 4-tuple can be used again at once.
  void abort() {
    const linger at_once{1, 0};
    ASSERT_EQ(::setsockopt(client_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), 0);
    client_.reset();
    server_.reset();
  }

 private:
  static void transfer(const UniqueFd& from, const UniqueFd& to, const Bytes& bytes,
                       std::size_t piece) {
    Bytes buffer(1 << 20);
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t size = std::min({piece, bytes.size() - at, std::size_t{32768} * 4});
      send_all(from, Bytes(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                           bytes.begin() + static_cast<std::ptrdiff_t>(at + size)));
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

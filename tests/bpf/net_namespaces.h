// Network namespaces, virtual devices and datagrams for tests. Nothing of it outlives the process.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>

#include "base/unique_fd.h"
#include "support/in_net_namespace.h"
#include "support/loopback.h"
#include "support/value_of.h"
#include "unit/puts/bytes.h"

namespace ioc_exporter::testing {

// A new network namespace with a loopback device that is up.
class NetNamespace {
 public:
  // The calling thread moves into it.
  static NetNamespace enter() {
    EXPECT_EQ(::unshare(CLONE_NEWNET), 0);
    NetNamespace made(current());
    made.command("ip link set lo up");
    return made;
  }
  // The calling thread stays where it is.
  static NetNamespace make() {
    NetNamespace made{UniqueFd()};
    const UniqueFd here = current();
    must_succeed(in_net_namespace(here.get(), [&made] { made = enter(); }));
    return made;
  }

  void run(const std::function<void()>& work) const {
    must_succeed(in_net_namespace(fd_.get(), work));
  }
  // A shell command in the namespace, that must succeed.
  void command(const std::string& line) const {
    run([&line] { EXPECT_EQ(std::system(line.c_str()), 0) << line; });
  }
  // Likewise; whether it succeeded.
  bool try_command(const std::string& line) const {
    int status = -1;
    run([&] { status = std::system(line.c_str()); });
    return status == 0;
  }
  // For "ip link set DEVICE netns ...".
  std::string path() const {
    return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(fd_.get());
  }
  int fd() const { return fd_.get(); }

 private:
  explicit NetNamespace(UniqueFd fd) : fd_(std::move(fd)) {}
  static UniqueFd current() {
    return UniqueFd(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
  }
  UniqueFd fd_;
};

// While it lives, the calling thread is in that namespace.
class InNamespace {
 public:
  explicit InNamespace(const NetNamespace& where)
      : before_(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)) {
    EXPECT_EQ(::setns(where.fd(), CLONE_NEWNET), 0);
  }
  InNamespace(const InNamespace&) = delete;
  InNamespace& operator=(const InNamespace&) = delete;
  ~InNamespace() { EXPECT_EQ(::setns(before_.get(), CLONE_NEWNET), 0); }

 private:
  UniqueFd before_;
};

inline sockaddr_in ipv4(const std::string& address, std::uint16_t port) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  EXPECT_EQ(::inet_pton(AF_INET, address.c_str(), &to.sin_addr), 1);
  return to;
}

// A socket for datagrams in the calling thread's namespace.
class UdpSocket {
 public:
  explicit UdpSocket(const std::string& address = "0.0.0.0", std::uint16_t port = 0)
      : fd_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    constexpr int kOn = 1;
    constexpr timeval kTimeout{60, 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_BROADCAST, &kOn, sizeof kOn);
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &kTimeout, sizeof kTimeout);
    const sockaddr_in local = ipv4(address, port);
    EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&local), sizeof local), 0);
  }
  std::uint16_t port() const { return port_of(fd_); }
  void send(const Bytes& bytes, const std::string& address, std::uint16_t port) const {
    const sockaddr_in to = ipv4(address, port);
    EXPECT_EQ(::sendto(fd_.get(), bytes.data(), bytes.size(), 0,
                       reinterpret_cast<const sockaddr*>(&to), sizeof to),
              static_cast<ssize_t>(bytes.size()));
  }
  // Whether a datagram comes within the time; it is dropped.
  bool comes_within(std::chrono::milliseconds time) const {
    pollfd ready{fd_.get(), POLLIN, 0};
    if (::poll(&ready, 1, static_cast<int>(time.count())) != 1) return false;
    receive();
    return true;
  }
  // The next datagram; empty after the time is over.
  Bytes receive() const {
    Bytes bytes(65536);
    const ssize_t size = ::recv(fd_.get(), bytes.data(), bytes.size(), 0);
    EXPECT_GE(size, 0) << "no datagram came";
    bytes.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
    return bytes;
  }

 private:
  UniqueFd fd_;
};

}  // namespace ioc_exporter::testing

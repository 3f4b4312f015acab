// A Channel Access circuit as single TCP segments, in any order and with any bytes: raw IP packets
// that are sent out of the loopback interface of a network namespace without any connection behind
// them.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include "base/unique_fd.h"
#include "bpf/tcp_checksum.h"
#include "unit/puts/bytes.h"

namespace ioc_exporter::testing {

// While it lives, the calling thread is in a network namespace of its own, with its loopback
// interface up.
class OwnNamespace {
 public:
  OwnNamespace() : before_(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)) {
    if (!before_ || ::unshare(CLONE_NEWNET) != 0) {
      why_not_ = std::string("no network namespace: ") + std::strerror(errno);
      return;
    }
    const UniqueFd fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq request{};
    std::strcpy(request.ifr_name, "lo");
    request.ifr_flags = IFF_UP;
    if (::ioctl(fd.get(), SIOCSIFFLAGS, &request) != 0)
      why_not_ = std::string("no loopback interface: ") + std::strerror(errno);
  }
  OwnNamespace(const OwnNamespace&) = delete;
  OwnNamespace& operator=(const OwnNamespace&) = delete;
  ~OwnNamespace() {
    if (before_) {
      EXPECT_EQ(::setns(before_.get(), CLONE_NEWNET), 0) << std::strerror(errno);
    }
  }
  // Empty when all is well.
  const std::string& why_not() const { return why_not_; }

 private:
  UniqueFd before_;
  std::string why_not_;
};

class RawCircuit {
 public:
  enum Direction { to_server, to_client };
  static constexpr std::uint8_t kFin = 0x01, kSyn = 0x02, kRst = 0x04, kPush = 0x08, kAck = 0x10,
                                kUrgent = 0x20;
  static constexpr std::uint32_t kClient = 0x0A630001;

  // The first bytes of the two directions have the sequence numbers first[0] and first[1]. With
  // `sender` it sends by that one's socket: closing one takes the kernel milliseconds.
  explicit RawCircuit(std::uint16_t server_port, std::uint16_t client_port = 40001,
                      std::vector<std::uint32_t> first = {1000, 2000},
                      std::uint32_t client = kClient, const RawCircuit* sender = nullptr)
      : client_(client),
        ports_{client_port, server_port},
        first_(std::move(first)),
        fd_(sender != nullptr ? ::fcntl(sender->fd_.get(), F_DUPFD_CLOEXEC, 0)
                              : ::socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    EXPECT_GE(fd_.get(), 0);
  }

  // SYN+ACK: what follows is seen from its first byte.
  void begin() { send(to_client, first_[1] - 1, first_[0], kSyn | kAck, {}); }
  // Bytes that stand at `offset` of the direction's stream. The receiver acknowledges at once what
  // it has, when that fills a hole, as Linux does.
  void segment(Direction direction, std::size_t offset, const Bytes& bytes,
               std::uint8_t flags = kAck | kPush) {
    lone_segment(direction, offset, bytes, flags);
    if (bytes.empty()) return;
    auto& ahead = ahead_[direction];
    auto& has = has_[direction];
    const std::size_t before = has;
    ahead.emplace(offset, offset + bytes.size());
    for (auto next = ahead.begin(); next != ahead.end() && next->first <= has;) {
      has = std::max(has, next->second);
      next = ahead.erase(next);
    }
    if (has > before && has != offset + bytes.size()) acknowledge(direction, has);
    if (flags & kFin) fin_[direction] = offset + bytes.size();
    if (fin_[direction] != 0 && has == fin_[direction] && has != before)
      acknowledge(direction, has + 1);
  }
  // The receiver says nothing.
  void lone_segment(Direction direction, std::size_t offset, const Bytes& bytes,
                    std::uint8_t flags = kAck | kPush) {
    send(direction, first_[direction] + static_cast<std::uint32_t>(offset),
         first_[!direction] + static_cast<std::uint32_t>(acked_[!direction]), flags, bytes);
  }
  // A part of the direction's stream.
  void part(Direction direction, const Bytes& stream, std::size_t from, std::size_t to,
            std::uint8_t flags = kAck | kPush) {
    const auto begin = stream.begin();
    segment(
        direction, from,
        Bytes(begin + static_cast<std::ptrdiff_t>(from), begin + static_cast<std::ptrdiff_t>(to)),
        flags);
  }
  // The receiver says that it has all of the direction's bytes before `offset`.
  void acknowledge(Direction direction, std::size_t offset) {
    acked_[direction] = std::max(acked_[direction], offset);
    has_[direction] = std::max(has_[direction], offset);
    lone_segment(direction == to_server ? to_client : to_server, sent_[!direction], {}, kAck);
  }
  // How far the direction's stream is, for the sequence numbers of acknowledgements.
  void set_sent(Direction direction, std::size_t offset) { sent_[direction] = offset; }

 private:
  void send(Direction direction, std::uint32_t seq, std::uint32_t ack, std::uint8_t flags,
            const Bytes& bytes) {
    const bool forth = direction == to_server;
    Bytes packet;
    append_u16(packet, 0x4500);
    append_u16(packet, static_cast<std::uint32_t>(40 + bytes.size()));
    append_u32(packet, 0);
    append_u32(packet, 64u << 24 | 6u << 16);  // hops, TCP; nobody looks at this checksum
    append_u32(packet, forth ? client_ : kServer);
    append_u32(packet, forth ? kServer : client_);
    append_u16(packet, ports_[forth ? 0 : 1]);
    append_u16(packet, ports_[forth ? 1 : 0]);
    append_u32(packet, seq);
    append_u32(packet, ack);
    append_u16(packet, 5u << 12 | flags);
    append_u16(packet, 0xFFFF);
    append_u16(packet, 0);
    append_u16(packet, 0);
    packet.insert(packet.end(), bytes.begin(), bytes.end());
    complete_ip_checksum(packet);
    complete_tcp_checksum(packet, 20);
    sockaddr_ll to{};
    to.sll_family = AF_PACKET;
    to.sll_protocol = htons(ETH_P_IP);
    to.sll_ifindex = 1;
    const ssize_t sent = ::sendto(fd_.get(), packet.data(), packet.size(), 0,
                                  reinterpret_cast<const sockaddr*>(&to), sizeof to);
    ASSERT_EQ(sent, static_cast<ssize_t>(packet.size())) << std::strerror(errno);
  }

  // Addresses that nobody has: the kernel drops what it gets back from its loopback interface.
  static constexpr std::uint32_t kServer = 0x0A630002;
  std::uint32_t client_;
  std::uint32_t ports_[2];
  std::vector<std::uint32_t> first_;
  std::size_t acked_[2] = {0, 0};
  std::size_t sent_[2] = {0, 0};
  std::multimap<std::size_t, std::size_t> ahead_[2];  // bytes that the receiver has ahead of holes
  std::size_t has_[2] = {0, 0}, fin_[2] = {0, 0};
  UniqueFd fd_;
};

}  // namespace ioc_exporter::testing

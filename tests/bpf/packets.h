// TCP segments, IP packets and Ethernet frames as bytes, and ways to send them as they are.
#pragma once

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cstring>
#include <utility>

#include "bpf/ca_conversation.h"
#include "bpf/tcp_checksum.h"
#include "bpf/test_network.h"
#include "unit/puts/bytes.h"

namespace ioc_exporter::testing {

enum TcpFlags : std::uint8_t { kSynAck = 0x12, kPushAck = 0x18 };

inline Bytes tcp_segment(std::uint16_t from, std::uint16_t to, std::uint32_t seq = 1,
                         std::uint32_t ack = 1, std::uint8_t flags = kPushAck,
                         const Bytes& payload = Bytes(16, 0x41)) {
  Bytes bytes;
  append_u16(bytes, from);
  append_u16(bytes, to);
  append_u32(bytes, seq);
  append_u32(bytes, ack);
  return bytes + Bytes{0x50, flags, 1, 0, 0, 0, 0, 0} + payload;
}

// Addresses as in Endpoint. `fragment`: flags and offset field; `options`: a multiple of 4 bytes.
inline Bytes ipv4_packet(const std::string& from, const std::string& to, const Bytes& payload,
                         std::uint16_t fragment = 0, const Bytes& options = {}) {
  Bytes bytes{static_cast<std::uint8_t>(0x45 + options.size() / 4), 0};
  append_u16(bytes, static_cast<std::uint32_t>(20 + options.size() + payload.size()));
  append_u16(bytes, 1);
  append_u16(bytes, fragment);
  bytes = bytes + Bytes{9, IPPROTO_TCP, 0, 0} + Bytes(8, 0);
  EXPECT_EQ(::inet_pton(AF_INET, from.c_str(), &bytes[12]), 1);
  EXPECT_EQ(::inet_pton(AF_INET, to.c_str(), &bytes[16]), 1);
  return bytes + options + payload;
}

inline void send_on_loopback_v4(std::uint16_t fragment, const Bytes& payload,
                                const Bytes& options = {}) {
  const Bytes packet = ipv4_packet("127.0.0.1", "127.0.0.1", payload, fragment, options);
  const Endpoint to("127.0.0.1", 0);
  const UniqueFd fd(::socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW));
  ASSERT_EQ(::sendto(fd.get(), packet.data(), packet.size(), 0, to.get(), to.size()),
            static_cast<ssize_t>(packet.size()));
}

// EtherType and tag (priority and VLAN), outermost first.
using Tags = std::vector<std::pair<std::uint16_t, std::uint16_t>>;

// The two ends of a TestNetwork's cable, to send frames on. To be made before the tap looks into
// either of them: a frame that has arrived here was seen by every packet socket that is younger
// (dev_add_pack() adds them in front).
class FrameCable {
 public:
  enum End { kClient, kServer };

  explicit FrameCable(const TestNetwork& network) {
    open(network.client, ends_[kClient]);
    open(network.server, ends_[kServer]);
  }
  // Sends an IP packet from one end to the other and waits until it has arrived there.
  void send(End from, const Tags& tags, const Bytes& packet) const {
    const Device &by = ends_[from], &to = ends_[1 - from];
    Bytes frame(to.address.sll_addr, to.address.sll_addr + ETH_ALEN);
    frame.insert(frame.end(), by.address.sll_addr, by.address.sll_addr + ETH_ALEN);
    for (const auto& [type, tag] : tags) {
      append_u16(frame, type);
      append_u16(frame, tag);
    }
    append_u16(frame, ETH_P_IP);
    frame = frame + packet;
    sockaddr_ll address = by.address;
    address.sll_protocol = htons(tags.empty() ? std::uint16_t{ETH_P_IP} : tags.front().first);
    ASSERT_EQ(::sendto(by.fd.get(), frame.data(), frame.size(), 0,
                       reinterpret_cast<const sockaddr*>(&address), sizeof address),
              static_cast<ssize_t>(frame.size()));
    wait_for(to, packet);
  }

 private:
  struct Device {
    UniqueFd fd;
    sockaddr_ll address{};  // of eth0
    UniqueFd arrivals;      // for received packets
  };
  static void open(const NetNamespace& where, Device& device) {
    const auto make = [&] {
      device.fd.reset(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
      device.arrivals.reset(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL)));
    };
    ASSERT_TRUE(in_net_namespace(where.fd(), make));
    ifreq request{};
    std::strcpy(request.ifr_name, "eth0");
    ASSERT_EQ(::ioctl(device.fd.get(), SIOCGIFHWADDR, &request), 0);
    std::memcpy(device.address.sll_addr, request.ifr_hwaddr.sa_data, ETH_ALEN);
    ASSERT_EQ(::ioctl(device.fd.get(), SIOCGIFINDEX, &request), 0);
    device.address.sll_family = AF_PACKET;
    device.address.sll_halen = ETH_ALEN;
    device.address.sll_ifindex = request.ifr_ifindex;
  }
  static void wait_for(const Device& device, const Bytes& end) {
    Bytes buffer(1 << 17);
    for (;;) {
      const ssize_t n = ::recv(device.arrivals.get(), buffer.data(), buffer.size(), 0);
      ASSERT_GT(n, 0);
      const auto size = static_cast<std::size_t>(n);
      if (size >= end.size() &&
          std::memcmp(buffer.data() + size - end.size(), end.data(), end.size()) == 0)
        return;
    }
  }

  Device ends_[2];
};

// A connection as frames on a cable, without sockets.
class FrameCircuit {
 public:
  struct End {
    std::string address;
    std::uint16_t port;
  };
  FrameCircuit(const FrameCable& cable, Tags tags, End client, End server)
      : cable_(cable),
        tags_(std::move(tags)),
        client_(std::move(client)),
        server_(std::move(server)) {}

  // The answer to the client's SYN.
  void begin() {
    send(FrameCable::kServer, server_, client_, to_client_++, to_server_, kSynAck, {});
  }
  void to_server(const Bytes& bytes) {
    send(FrameCable::kClient, client_, server_, to_server_, to_client_, kPushAck, bytes);
    to_server_ += static_cast<std::uint32_t>(bytes.size());
  }
  void to_client(const Bytes& bytes) {
    send(FrameCable::kServer, server_, client_, to_client_, to_server_, kPushAck, bytes);
    to_client_ += static_cast<std::uint32_t>(bytes.size());
  }

 private:
  void send(FrameCable::End by, const End& from, const End& to, std::uint32_t seq,
            std::uint32_t ack, std::uint8_t flags, const Bytes& payload) const {
    const Bytes segment = tcp_segment(from.port, to.port, seq, ack, flags, payload);
    Bytes packet = ipv4_packet(from.address, to.address, segment);
    complete_ip_checksum(packet);
    complete_tcp_checksum(packet, packet.size() - segment.size());
    cable_.send(by, tags_, packet);
  }

  const FrameCable& cable_;
  Tags tags_;
  End client_, server_;
  std::uint32_t to_server_ = 1000, to_client_ = 4000000000;
};

}  // namespace ioc_exporter::testing

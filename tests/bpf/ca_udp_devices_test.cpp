// Datagrams that pass several devices: a bridge with containers on it, VLAN tags.
//
//   here: br0 10.77.0.1 ── to_b ═ eth0 10.77.0.2 :b
//                       └─ to_c ═ eth0 10.77.0.3 :c
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/ip.h>
#include <netinet/udp.h>

#include <array>
#include <cstdlib>
#include <cstring>

#include "bpf/ca_udp_fixture.h"
#include "puts/tap/connections.h"
#include "support/value_of.h"

namespace {

using namespace ioc_exporter;
using namespace ioc_exporter::testing;

constexpr const char *kHere = "10.77.0.1", *kB = "10.77.0.2", *kC = "10.77.0.3";
constexpr const char* kEverybody = "10.77.0.255";

class CaUdpDevicesTest : public CaUdpTest {
 protected:
  void SetUp() override {
    CaUdpTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    b_.emplace(NetNamespace::make());
    c_.emplace(NetNamespace::make());
    if (std::system("ip link add br0 type bridge && ip link add v0 type veth && ip link del v0") !=
        0)
      GTEST_SKIP() << "needs a kernel with bridges and veth pairs";
    here_->command("ip addr add 10.77.0.1/24 broadcast + dev br0 && ip link set br0 up");
    connect(*b_, "to_b", kB);
    connect(*c_, "to_c", kC);
    wait_for_bridge();
    watch({});
  }
  // The kernel puts a new port of a bridge to work some time after it is up. On a port that nobody
  // watches.
  void wait_for_bridge() {
    constexpr std::uint16_t kEcho = 7;
    const UdpSocket all[] = {in(*here_, kEcho), in(*b_, kEcho), in(*c_, kEcho)};
    for (const auto& from : all) {
      bool everybody = false;
      for (int tries = 0; tries < 600 && !everybody; ++tries) {
        from.send({1}, kEverybody, kEcho);
        everybody = true;
        for (const auto& to : all)
          if (&to != &from && !to.comes_within(std::chrono::milliseconds(100))) everybody = false;
      }
      ASSERT_TRUE(everybody) << "the bridge forwards nothing";
    }
  }
  void connect(const NetNamespace& there, const std::string& port, const std::string& address) {
    here_->command("ip link add " + port + " type veth peer name eth0 netns " + there.path());
    here_->command("ip link set " + port + " master br0 && ip link set " + port + " up");
    there.command("ip addr add " + address + "/24 broadcast + dev eth0 && ip link set eth0 up");
  }
  static UdpSocket in(const NetNamespace& there, std::uint16_t port = 0) {
    std::optional<UdpSocket> socket;
    there.run([&] { socket.emplace("0.0.0.0", port); });
    return std::move(*socket);
  }
  std::optional<std::uint32_t> remote_server(std::uint8_t host, std::uint16_t port) {
    iocx_ca_server key{};
    key.address = iocx_ca_address{{10, 77, 0, host}};
    key.port = port;
    key.remote = 1;
    return server(key);
  }

  std::optional<NetNamespace> b_, c_;
};

TEST_F(CaUdpDevicesTest, ABroadcastFromAContainerCountsOnce) {
  const UdpSocket client = in(*b_), server = in(*here_, kCaPort), in_c = in(*c_, kCaPort);
  for (int i = 0; i < 23; ++i) {
    client.send(version() + search(1, "NO:SUCH"), kEverybody, kCaPort);
    server.receive();
    in_c.receive();
  }
  EXPECT_EQ(searches(), (Counts{{kB, 23}}));
  EXPECT_EQ(names(), (Counts{{"10.77.0.2 NO:SUCH", 23}}));
  expect_nothing_lost();
}

TEST_F(CaUdpDevicesTest, ABroadcastOfThisHostCountsOnce) {
  const UdpSocket client = in(*here_), in_b = in(*b_, kCaPort), in_c = in(*c_, kCaPort);
  for (int i = 0; i < 23; ++i) {
    client.send(version() + search(1, "NO:SUCH"), kEverybody, kCaPort);
    in_b.receive();
    in_c.receive();
  }
  EXPECT_EQ(searches(), (Counts{{kHere, 23}}));
  expect_nothing_lost();
}

// The device belongs to the bridge only while it is one of its ports.
TEST_F(CaUdpDevicesTest, DevicesMayComeAndGo) {
  const UdpSocket client = in(*b_), server = in(*here_, kCaPort);
  here_->command("ip link set to_b nomaster && ip addr del 10.77.0.1/24 dev br0");
  here_->command("ip addr add 10.77.0.1/24 broadcast + dev to_b");
  watch({});
  for (int i = 0; i < 7; ++i) {
    client.send(search(1, "A"), kHere, kCaPort);
    server.receive();
  }
  EXPECT_EQ(searches(), (Counts{{kB, 7}}));
  here_->command("ip addr del 10.77.0.1/24 dev to_b && ip link set to_b master br0");
  here_->command("ip addr add 10.77.0.1/24 broadcast + dev br0");
  wait_for_bridge();
  watch({});
  for (int i = 0; i < 5; ++i) {
    client.send(search(1, "A"), kEverybody, kCaPort);
    server.receive();
  }
  EXPECT_EQ(searches(), (Counts{{kB, 12}}));
}

TEST_F(CaUdpDevicesTest, OnlyServersOfThisHostAreLearned) {
  const UdpSocket server_b = in(*b_, kCaPort), server_here = in(*here_, kCaPort),
                  client_b = in(*b_), client_here = in(*here_), beacons_b = in(*b_, kBeaconPort),
                  beacons = in(*here_, kBeaconPort);
  server_b.send(answer(1, 40001), kHere, client_here.port());
  client_here.receive();
  client_b.send(beacon(1, 40002), kEverybody, kBeaconPort);
  beacons.receive();
  EXPECT_EQ(local_server(40001), std::nullopt);
  EXPECT_EQ(remote_server(2, 40001), std::nullopt);
  EXPECT_EQ(local_server(40002), std::nullopt);

  server_here.send(answer(2, 40003), kB, client_b.port());
  client_here.send(beacon(1, 40004), kEverybody, kBeaconPort);
  // For another server, as a name server does; and the address of this one, said in words.
  server_here.send(answer(3, 40005, 0x0A4D0003), kB, client_b.port());
  server_here.send(answer(4, 40006, 0x0A4D0001), kB, client_b.port());
  EXPECT_EQ(local_server(40003), IOCX_CA_IOC_TO_COME);
  EXPECT_EQ(local_server(40004), IOCX_CA_IOC_TO_COME);
  EXPECT_EQ(local_server(40005), std::nullopt);
  EXPECT_EQ(local_server(40006), IOCX_CA_IOC_TO_COME);

  const auto all = collect().beacons;
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].server, "10.77.0.1:40004");
  EXPECT_EQ(all[0].beacons, 1u);
  EXPECT_EQ(all[1].server, "10.77.0.2:40002");
  EXPECT_EQ(all[1].beacons, 1u);
}

TEST_F(CaUdpDevicesTest, ServersElsewhereAreLearnedWhenAskedFor) {
  puts::CaUdpOptions options;
  options.remote = true;
  start(options);
  const UdpSocket server_b = in(*b_, kCaPort), client = in(*here_);
  for (int i = 0; i < 7; ++i) client.send(search(1, "PV"), kB, kCaPort);
  server_b.send(answer(1, 40001), kHere, client.port());
  client.receive();
  server_b.send(answer(2, 40002, 0x0A4D0003), kHere, client.port());  // c has it
  client.receive();
  EXPECT_EQ(remote_server(2, 40001), IOCX_CA_IOC_REMOTE);
  EXPECT_EQ(remote_server(3, 40002), IOCX_CA_IOC_REMOTE);
  EXPECT_EQ(local_server(40001), std::nullopt);
}

// A frame as it is on the wire: Ethernet, a VLAN tag, IPv4, UDP, a search for one name.
Bytes tagged_search(std::uint16_t vlan) {
  const Bytes payload = search(1, "NO:SUCH");
  iphdr ip{};
  ip.version = 4;
  ip.ihl = 5;
  ip.tot_len = htons(static_cast<std::uint16_t>(sizeof ip + sizeof(udphdr) + payload.size()));
  ip.ttl = 64;
  ip.protocol = IPPROTO_UDP;
  ::inet_pton(AF_INET, kB, &ip.saddr);
  ::inet_pton(AF_INET, kEverybody, &ip.daddr);
  udphdr udp{};
  udp.source = htons(40000);
  udp.dest = htons(kCaPort);
  udp.len = htons(static_cast<std::uint16_t>(sizeof udp + payload.size()));
  Bytes frame(12, 0xFF);  // to everybody
  frame[6] = 2;           // from an address that is nobody's
  append_u16(frame, ETH_P_8021Q);
  append_u16(frame, vlan);
  append_u16(frame, ETH_P_IP);
  const std::size_t at = frame.size();
  frame.resize(at + sizeof ip + sizeof udp);
  std::memcpy(frame.data() + at, &ip, sizeof ip);
  std::memcpy(frame.data() + at + sizeof ip, &udp, sizeof udp);
  return std::move(frame) + payload;
}

// A tagged frame belongs to another network, and passes again on that network's device if there is
// one. Tag 0 is a priority.
TEST_F(CaUdpDevicesTest, FramesWithAVlanTagAreCopies) {
  here_->command("ip link set to_b nomaster");  // else the bridge would take the frame
  look();
  const UdpSocket after = in(*b_);
  b_->run([&] {
    const UniqueFd raw(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
    sockaddr_ll to{};
    to.sll_family = AF_PACKET;
    to.sll_protocol = htons(ETH_P_8021Q);
    to.sll_ifindex = static_cast<int>(::if_nametoindex("eth0"));
    to.sll_halen = ETH_ALEN;
    for (const std::uint16_t vlan : std::array<std::uint16_t, 5>{5, 0, 0xE000, 5, 4095}) {
      const Bytes frame = tagged_search(vlan);
      EXPECT_EQ(::sendto(raw.get(), frame.data(), frame.size(), 0, reinterpret_cast<sockaddr*>(&to),
                         sizeof to),
                static_cast<ssize_t>(frame.size()));
    }
  });
  const UdpSocket last = in(*here_, kCaPort);
  here_->command("ip addr add 10.77.0.9/32 dev to_b && ip route add 10.77.0.2/32 dev to_b");
  after.send(search(2, "LAST"), "10.77.0.9", kCaPort);
  last.receive();
  EXPECT_EQ(searches(), (Counts{{kB, 3}}));
}

}  // namespace

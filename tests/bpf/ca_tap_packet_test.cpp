// Which packets the tap reads: tags, devices, fragments; each put once.
#include "bpf/ca_tap_network_fixture.h"
#include "bpf/packets.h"

namespace {

using namespace ioc_exporter;
using namespace ioc_exporter::testing;

class CaTapPacketTest : public CaTapNetworkTest {
 protected:
  // Puts and answers of every size between the network's two ends.
  void expect_each_put_once(const TestNetwork& network) {
    enter(network.server);
    const Listener listener("::", 0, network.server.fd());
    watch(listener);
    Circuit circuit(listener, kServer, network.client.fd());
    circuit.open("u", "h", {"A", "WF"});
    circuit.to_server(repeat(write(100), 23) + repeat(write_notify(101), 29));
    circuit.to_server_in_pieces(repeat(write(100), 31), 7);
    circuit.to_client(long_message(1, 6, 50000, 1, 1, Bytes(400000, 1)) + created(7, 107));
    circuit.to_server(long_message(4, 6, 50000, 101, 0, Bytes(400000, 1)) + write(100));
    for (const auto& one : collect().puts) EXPECT_EQ(one.labels.client, kClient);
    EXPECT_EQ(all_puts(), 23u + 29u + 31u + 2u);
    expect_nothing_lost();
  }
};

// The longest packet that waits at the socket.
std::size_t longest(const UniqueFd& packets) {
  std::size_t most = 0;
  for (;;) {
    const ssize_t size = ::recv(packets.get(), nullptr, 0, MSG_TRUNC | MSG_DONTWAIT);
    if (size < 0) return most;
    most = std::max(most, static_cast<std::size_t>(size));
  }
}

// Packets whose length does not fit into the IP header (BIG TCP).
TEST_F(CaTapPacketTest, CountsPacketsOver64KiB) {
  const TestNetwork network;
  network.give_addresses("eth0", "eth0");
  for (const NetNamespace* one : {&network.client, &network.server}) {
    if (!one->try_command("ip link set eth0 gso_max_size 200000 gro_max_size 200000 2>/dev/null"))
      GTEST_SKIP() << "the kernel or iproute2 has no BIG TCP";
    one->command("echo 4096 8388608 16777216 | tee /proc/sys/net/ipv4/tcp_[rw]mem > /dev/null");
    one->try_command(
        "ip link set eth0 gso_ipv4_max_size 200000 gro_ipv4_max_size 200000 2>/dev/null");
  }
  enter(network.server);
  const Listener listener("::", 0, network.server.fd());
  watch(listener);
  UniqueFd packets;
  network.server.run(
      [&] { packets.reset(::socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, htons(ETH_P_IP))); });
  constexpr int kRoom = 1 << 28;
  ASSERT_EQ(::setsockopt(packets.get(), SOL_SOCKET, SO_RCVBUFFORCE, &kRoom, sizeof kRoom), 0);
  Circuit circuit(listener, kServer, network.client.fd());
  circuit.open("u", "h", {"A", "WF"});
  for (int i = 0; i < 7; ++i) circuit.to_server(repeat(write(100), 40009));
  circuit.to_server(long_message(4, 6, 50000, 101, 0, Bytes(400000, 1)));
  if (longest(packets) <= 66000u) GTEST_SKIP() << "the kernel has no BIG TCP over IPv4";
  EXPECT_EQ(puts("A"), 7u * 40009);
  EXPECT_EQ(puts("WF"), 1u);
  expect_nothing_lost();
}

// Devices between the cable and an end's address. Those at both ends, or at the server's alone, are
// what a kernel may not have.
TEST_F(CaTapPacketTest, CountsOverEachKindOfDevice) {
  struct Row {
    std::string at_both, at_server;  // of "ip link add"
    const char *then_both, *then_server, *client, *server;
  };
  const std::string vlan = "link eth0 name vlan7 type vlan ";
  const Row rows[] = {
      {"", "", "true", "true", "eth0", "eth0"},
      {vlan + "id 7", "", "true", "true", "vlan7", "vlan7"},
      // The tag stands in front of the IP header in what the device is given to send, and looks
      // like one.
      {vlan + "id 1280 reorder_hdr off egress-qos-map 0:2", "", "true", "true", "vlan7", "vlan7"},
      {"link eth0 name outer type vlan protocol 802.1ad id 7", "",
       "ip link add link outer name inner type vlan id 11 && ip link set outer up", "true", "inner",
       "inner"},
      {"", "br0 type bridge", "true", "ip link set eth0 master br0", "eth0", "br0"},
      {"", "bond0 type bond mode active-backup", "true",
       "ip link set eth0 down && ip link set eth0 master bond0", "eth0", "bond0"}};
  std::string missing;
  for (const Row& row : rows) {
    SCOPED_TRACE(row.at_both + row.at_server);
    const TestNetwork network;
    const auto add = [](const NetNamespace& where, const std::string& device) {
      return device.empty() || where.try_command("ip link add " + device + " 2>/dev/null");
    };
    if (!add(network.client, row.at_both) || !add(network.server, row.at_both) ||
        !add(network.server, row.at_server)) {
      missing += " " + row.at_both + row.at_server + ";";
      continue;
    }
    for (const NetNamespace* one : {&network.client, &network.server}) one->command(row.then_both);
    network.server.command(row.then_server);
    network.give_addresses(row.client, row.server);
    expect_each_put_once(network);
    tap_.reset();
    inside_.reset();
  }
  if (!missing.empty()) GTEST_SKIP() << "the kernel has no devices:" << missing;
}

// Packets that cross the host on their way to another one belong to no IOC here.
TEST_F(CaTapPacketTest, ForwardedPacketsAreNotOurs) {
  const TestNetwork network;
  const auto far = NetNamespace::make();
  network.give_addresses("eth0", "eth0");
  network.server.command("ip link add far0 type veth peer name eth0 netns " + far.path());
  network.server.command("ip addr add 10.8.0.1/24 dev far0 && ip link set far0 up");
  network.server.command("echo 1 > /proc/sys/net/ipv4/ip_forward");
  far.command("ip addr add 10.8.0.2/24 dev eth0 && ip link set eth0 up");
  far.command("ip route add default via 10.8.0.1");
  network.client.command("ip route add default via 10.7.0.2");
  enter(network.server);
  const Listener listener("0.0.0.0", 0, far.fd());
  watch(listener);
  Circuit circuit(listener, "10.8.0.2", network.client.fd());
  circuit.open("u", "h", {"A"});
  circuit.to_server(repeat(write(100), 23));
  EXPECT_EQ(all_puts(), 0u);
  EXPECT_EQ(entries("ca_circuits"), 0u);
  expect_nothing_lost();
}

TEST_F(CaTapPacketTest, FragmentsOfWatchedPortsAreCounted) {
  const Bytes watched = tcp_segment(5, listener_.port()), other = tcp_segment(5, 6);
  constexpr std::uint16_t kMore = 0x2000, kFurther = 0x0010;
  send_on_loopback_v4(kMore, watched);
  send_on_loopback_v4(kMore, tcp_segment(listener_.port(), 5));
  send_on_loopback_v4(kFurther, watched);  // no ports in it: what looks like them is data
  send_on_loopback_v4(kMore | kFurther, watched);
  send_on_loopback_v4(kMore, other);
  EXPECT_EQ(drop(IOCX_CA_DROP_NOT_PARSED), 2u);
}

// Options stand where the ports are in other packets. That they are read shows in what they count.
TEST_F(CaTapPacketTest, PortsBehindIpv4OptionsAreFound) {
  const Bytes watched = tcp_segment(5, listener_.port()), other = tcp_segment(5, 6);
  const Bytes options[] = {{0x94, 4, 0, 0},                               // router alert
                           {1, 1, 1, 1},                                  // no operation
                           {0, 0, 0, 0},                                  // end of the list
                           {1, 0x83, 7, 4, 127, 0, 0, 1},                 // source route
                           {1, 1, 0x82, 6, 0, 0, 0, 0},                   // security
                           Bytes{0x07, 39, 4} + Bytes(36, 0) + Bytes{0},  // record route
                           Bytes{0x44, 40, 5, 0} + Bytes(36, 0)};         // timestamp
  constexpr std::uint16_t kMore = 0x2000;
  std::uint64_t sent = 0;
  for (const Bytes& one : options) {
    send_on_loopback_v4(kMore, other, one);
    send_on_loopback_v4(kMore, watched, one);
    EXPECT_EQ(drop(IOCX_CA_DROP_NOT_PARSED), ++sent);
  }
}

// Frames as a switch sends them to a port with tagged VLANs; no device of the VLAN is there.
TEST_F(CaTapPacketTest, ReadsTaggedFrames) {
  // The last one looks like the start of an IPv4 header: priority 2, VLAN 1280.
  const std::vector<Tags> tags{
      {{0x8100, 7}}, {{0x88A8, 7}, {0x8100, 11}}, {{0x8100, 7}, {0x8100, 11}}, {{0x8100, 0x4500}}};
  const TestNetwork network;
  network.give_addresses("eth0", "eth0");
  const FrameCable cable(network);
  enter(network.server);
  const Listener listener("::", 0, network.server.fd());
  watch(listener);
  std::uint16_t client_port = 40000;
  std::uint64_t sent = 0;
  for (const Tags& tag : tags) {
    FrameCircuit circuit(cable, tag, {kClient, ++client_port}, {kServer, listener.port()});
    circuit.begin();
    circuit.to_server(version() + client_name("u") + create(1, "A"));
    circuit.to_client(version() + created(1, 100));
    circuit.to_server(repeat(write(100), 23));
    circuit.to_server(write_notify(100));
    sent += 24;
    EXPECT_EQ(all_puts(), sent) << tag.size() << " tags";
  }
  expect_nothing_lost();
}

}  // namespace

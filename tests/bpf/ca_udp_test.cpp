// Datagrams on loopback.
#include <gtest/gtest.h>

#include <chrono>

#include "bpf/ca_udp_fixture.h"
#include "support/value_of.h"

namespace {

using namespace ioc_exporter;
using namespace ioc_exporter::testing;

constexpr const char* kHost = "127.0.0.1";

TEST_F(CaUdpTest, CountsWhatAClientSearches) {
  const UdpSocket client, other("127.0.0.9");
  for (std::uint32_t i = 0; i < 23; ++i)
    client.send(version() + search(i, "A:1") + search(100 + i, "A:2") + search(200 + i, "A:3"),
                kHost, kCaPort);
  other.send(version() + search(1, "A:1"), kHost, kCaPort);
  client.send(version() + search(1, "A:1"), kHost, kCaPort + 2);  // nobody's port
  EXPECT_EQ(searches(), (Counts{{"127.0.0.1", 69}, {"127.0.0.9", 1}}));
  expect_nothing_lost();
}

TEST_F(CaUdpTest, ListsTheNamesThatNobodyHas) {
  const double before =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  const UdpSocket client, another;
  for (int i = 0; i < 7; ++i) client.send(version() + search(1, "NO:SUCH:PV"), kHost, kCaPort);
  for (int i = 0; i < 4; ++i) another.send(version() + search(1, "NO:SUCH:PV"), kHost, kCaPort);
  for (int i = 0; i < 4; ++i) client.send(search(2, "RARE"), kHost, kCaPort);
  for (int i = 0; i < 5; ++i) client.send(search(3, std::string(94, 'x')), kHost, kCaPort);
  const double after =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  const auto reading = collect();
  ASSERT_EQ(reading.names.size(), 2u);
  EXPECT_EQ(reading.names[0].client, kHost);
  EXPECT_EQ(reading.names[0].name, "NO:SUCH:PV");
  EXPECT_EQ(reading.names[0].requests, 11u);
  EXPECT_EQ(reading.names[1].name, std::string(94, 'x'));
  EXPECT_EQ(reading.names[1].requests, 5u);
  constexpr double kBetweenClocks = 0.01;  // two clocks are read one after the other
  for (const auto& name : reading.names) {
    EXPECT_GE(name.first_time_seconds, before - kBetweenClocks);
    EXPECT_LE(name.first_time_seconds, name.last_time_seconds);
    EXPECT_LE(name.last_time_seconds, after + kBetweenClocks);
  }
  EXPECT_EQ(entries("ca_searches"), 3u);
  expect_nothing_lost();
}

// Also at a server whose channels are not kept.
TEST_F(CaUdpTest, AChannelEndsASearch) {
  const UdpSocket client, server("0.0.0.0", kCaPort);
  const Listener listener;
  puts::TapServer one;
  one.port = listener.port();
  one.ioc = kWatchedIoc;
  for (const bool probed : {false, true}) {
    watch({one});
    tap_->set_probed_ports(probed ? puts::ProbedPorts{{one.port, {.ioc = one.ioc}}}
                                  : puts::ProbedPorts{});
    for (int i = 0; i < 7; ++i)
      client.send(search(1, "FOUND") + search(2, "NOT:FOUND") + search(3, "FOUND:NOT"), kHost,
                  kCaPort);
    server.send(version() + answer(1, listener.port()), kHost, client.port());
    Circuit circuit(listener);
    circuit.open("operator", "console-1", {"FOUND", std::string(96, 'x')});
    const std::uint64_t times = probed ? 14 : 7;
    EXPECT_EQ(names(), (Counts{{"127.0.0.1 FOUND:NOT", times}, {"127.0.0.1 NOT:FOUND", times}}));
  }
  // It is lost, and searched again.
  for (int i = 0; i < 5; ++i) client.send(search(1, "FOUND"), kHost, kCaPort);
  EXPECT_EQ(names().at("127.0.0.1 FOUND"), 5u);
  EXPECT_EQ(entries("ca_searches"), 3u);
  EXPECT_EQ(searches(), (Counts{{"127.0.0.1", 47}}));
}

// Servers are learned all the same.
TEST_F(CaUdpTest, NothingIsCountedUnlessThatIsWanted) {
  searches_ = false;
  start({});
  const UdpSocket client, server("0.0.0.0", kCaPort);
  for (int i = 0; i < 7; ++i) client.send(version() + search(1, "A:1"), kHost, kCaPort);
  server.send(version() + answer(1, 40001), kHost, client.port());
  server.send(beacon(0, 40002), kHost, kBeaconPort);
  EXPECT_EQ(local_server(40001), IOCX_CA_IOC_TO_COME);
  EXPECT_EQ(local_server(40002), IOCX_CA_IOC_TO_COME);
  look(std::chrono::minutes(11));
  const auto reading = collect();
  EXPECT_TRUE(reading.searches.empty() && reading.names.empty() && reading.beacons.empty());
  EXPECT_TRUE(reading.maps.empty());
  expect_nothing_lost();
}

// The port of an IOC that did not get 5064 is watched before its first client connects: no circuit
// of it is joined late, and no put is without a name.
TEST_F(CaUdpTest, AnAnswerMakesItsServerWatched) {
  const UdpSocket client, server_socket("0.0.0.0", kCaPort);
  const Listener listener;
  EXPECT_EQ(local_server(listener.port()), std::nullopt);
  client.send(version() + search(1, "PS:1"), kHost, kCaPort);
  server_socket.send(version() + answer(1, listener.port()), kHost, client.port());
  EXPECT_EQ(local_server(listener.port()), IOCX_CA_IOC_TO_COME);

  Circuit circuit(listener);
  circuit.open("operator", "console-1", {"PS:1"});
  circuit.to_server(repeat(write(100), 23));
  puts::TapServer server;
  server.port = listener.port();
  server.ioc = kWatchedIoc;
  watch({server});
  auto reading = value_of(tap_->collect());
  EXPECT_EQ(only(reading.puts).labels,
            (puts::PutLabels{kWatchedIoc, "PS:1", kHost, "operator", "console-1"}));
  EXPECT_EQ(only(reading.puts).count, 23u);
  for (const auto& [reason, count] : reading.drops) EXPECT_EQ(count, 0u) << reason.second;
}

TEST_F(CaUdpTest, ABeaconMakesItsServerWatched) {
  const UdpSocket server, repeater("0.0.0.0", kBeaconPort);
  const auto servers = [this] {
    EXPECT_TRUE(tap_->servers().learned());
    const auto reading = tap_->collect();
    EXPECT_TRUE(reading);
    for (const MapSample& map : reading->maps)
      if (map.map == "ca_servers") return map.entries;
    return std::uint64_t{0};
  };
  EXPECT_EQ(servers(), 0u);
  server.send(beacon(0, 40001), kHost, kBeaconPort);
  EXPECT_EQ(servers(), 1u);  // unnamed servers, too
  EXPECT_EQ(local_server(40001), IOCX_CA_IOC_TO_COME);
  // A repeater's copy goes to a port that nobody watches.
  repeater.send(beacon(0, 40002, 0x0A000001), kHost, server.port());
  EXPECT_EQ(local_server(40002), std::nullopt);
}

// A gateway is started again at its port, while that is watched for its next IOC.
TEST_F(CaUdpTest, AServerThatComesBackIsLearnedAgain) {
  const UdpSocket server;
  const auto now = puts::CaUdp::Clock::now();
  const std::vector<puts::TapServer> expected{{{}, 40001, puts::kIocToCome, false}},
      named{{{}, 40001, kWatchedIoc, false}};
  const auto learned = [this](auto when) {
    std::vector<std::uint16_t> ports;
    for (const puts::TapServer& one : value_of(tap_->servers().learned(when)))
      ports.push_back(one.port);
    return ports;
  };
  for (const auto& at_rest : {std::vector<puts::TapServer>{}, expected})
    for (const auto since : {std::chrono::seconds(0), std::chrono::seconds(1000)}) {
      watch(named);
      server.send(beacon(0, 40001), kHost, kBeaconPort);
      must_succeed(tap_->set_servers(at_rest, now + since));
      EXPECT_TRUE(learned(now + since).empty()) << "it spoke when it was known";
      server.send(beacon(0, 40001), kHost, kBeaconPort);
      EXPECT_EQ(learned(now + since), std::vector<std::uint16_t>{40001});
      must_succeed(tap_->set_servers(at_rest, now + since));
      EXPECT_EQ(learned(now + since), std::vector<std::uint16_t>{40001});
      must_succeed(tap_->set_servers(named, now + since));
      EXPECT_TRUE(learned(now + since).empty());
    }
  // At one address of several.
  const puts::TapServer here{{{127, 0, 0, 1}}, 40002, puts::kIocToCome, false};
  must_succeed(tap_->set_servers({here}, now));
  server.send(beacon(0, 40002, 0x7F000001), kHost, kBeaconPort);
  EXPECT_EQ(learned(now), std::vector<std::uint16_t>{40002});
  must_succeed(tap_->set_servers({here}, now + puts::WatchedServers::kKeep));
  EXPECT_TRUE(learned(now).empty()) << "nobody took it";
}

TEST_F(CaUdpTest, CountsBeaconsByServer) {
  const UdpSocket server;
  for (const std::uint32_t number : {0u, 0u, 1u, 7u, 0u})
    server.send(beacon(number, 5064), kHost, kBeaconPort);
  server.send(beacon(0xFFFFFFFF, 5066, 0xC0A80001), kHost, kBeaconPort);
  const auto beacons = collect().beacons;
  ASSERT_EQ(beacons.size(), 2u);
  EXPECT_EQ(beacons[0].server, "127.0.0.1:5064");
  EXPECT_EQ(beacons[0].beacons, 5u);
  EXPECT_EQ(beacons[1].server, "192.168.0.1:5066");
  EXPECT_EQ(beacons[1].beacons, 1u);
  expect_nothing_lost();
}

TEST_F(CaUdpTest, ReadsTheLargestDatagram) {
  Bytes bytes = version();
  std::uint64_t count = 0;
  for (; bytes.size() + 24 <= 65507; ++count)
    bytes = std::move(bytes) + search(static_cast<std::uint32_t>(count), "X");
  const UdpSocket client, server("0.0.0.0", kCaPort);
  for (int i = 0; i < 5; ++i) client.send(bytes, kHost, kCaPort);
  EXPECT_EQ(searches(), (Counts{{"127.0.0.1", count * 5}}));
  EXPECT_EQ(names(), (Counts{{"127.0.0.1 X", count * 5}}));
  // As many messages as a datagram can hold.
  Bytes smallest;
  while (smallest.size() + 16 <= 65507) smallest = std::move(smallest) + version();
  client.send(smallest, kHost, kCaPort);
  expect_nothing_lost();
}

TEST_F(CaUdpTest, UnreadableDatagramsAreCounted) {
  const UdpSocket client;
  client.send({'h', 'e', 'l', 'l', 'o'}, kHost, kCaPort);
  client.send(search(1, "GOOD") + Bytes{1, 2, 3}, kHost, kCaPort);
  client.send({}, kHost, kBeaconPort);
  client.send(search(2, std::string(120, 'n')), kHost, kCaPort);
  EXPECT_EQ(drop(IOCX_CA_UDP_DROP_NOT_PARSED), 2u);
  EXPECT_EQ(drop(IOCX_CA_UDP_DROP_NAME_CUT), 1u);
  EXPECT_EQ(searches(), (Counts{{"127.0.0.1", 2}}));
}

TEST_F(CaUdpTest, ClientsWithoutRoomCountAsOther) {
  start({.sizes = {.max_clients = 6}});
  for (int host = 1; host <= 7; ++host) {
    const UdpSocket client("127.0.0." + std::to_string(host));
    for (int i = 0; i < host; ++i) client.send(search(1, "A"), kHost, kCaPort);
  }
  here_->command("ip addr add 10.1.0.1/16 dev lo");
  UdpSocket("10.1.0.1").send(search(1, "A"), kHost, kCaPort);
  // Those of one network get half of all places.
  EXPECT_EQ(
      searches(),
      (Counts{
          {"127.0.0.1", 1}, {"127.0.0.2", 2}, {"127.0.0.3", 3}, {"10.1.0.1", 1}, {"(other)", 22}}));
  EXPECT_EQ(drop(IOCX_CA_UDP_DROP_CLIENTS_FULL), 22u);
}

TEST_F(CaUdpTest, OldSearchesAndBeaconsAreForgotten) {
  const UdpSocket client, server;
  for (int i = 0; i < 7; ++i) client.send(search(1, "NO:SUCH"), kHost, kCaPort);
  server.send(beacon(1, 40001), kHost, kBeaconPort);
  look(std::chrono::minutes(11));
  EXPECT_EQ(names(), Counts{});
  EXPECT_EQ(entries("ca_searches"), 0u);
  EXPECT_EQ(searches(), (Counts{{"127.0.0.1", 7}}));
  look(std::chrono::hours(25));
  EXPECT_EQ(searches(), (Counts{{"(other)", 7}}));
  EXPECT_TRUE(collect().beacons.empty());
  EXPECT_EQ(entries("ca_search_clients"), 0u);
  client.send(search(2, "AGAIN"), kHost, kCaPort);
  EXPECT_EQ(searches(), (Counts{{"127.0.0.1", 1}, {"(other)", 7}}));
  expect_nothing_lost();
}

TEST_F(CaUdpTest, NobodyReadsOnWhenItIsGone) {
  const UdpSocket client;
  udp_.reset();
  client.send(search(1, "A"), kHost, kCaPort);
  // The tap goes on as if there were no datagrams.
  auto reading = value_of(tap_->collect());
  for (const auto& [reason, count] : reading.drops) EXPECT_EQ(count, 0u) << reason.second;
}

}  // namespace

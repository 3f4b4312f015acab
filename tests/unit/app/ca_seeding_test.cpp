#include "app/ca_seeding.h"

#include <gtest/gtest.h>

namespace ioc_exporter::app {
namespace {

iocx_ca_flow_key flow(std::uint8_t client, std::uint16_t client_port, std::uint8_t server) {
  iocx_ca_flow_key key{};
  key.client = probes::ca_address_v4({10, 0, 0, client});
  key.server = probes::ca_address_v4({10, 0, 0, server});
  key.client_port = client_port;
  key.server_port = 5064;
  return key;
}

ioc::CaPeer peer(std::uint8_t client, std::uint16_t port) {
  ioc::CaPeer at;
  at.address = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 0, 0, client};
  at.port = port;
  return at;
}

TEST(CaSeeding, FarEndsWithTheirConnections) {
  const CaConnections connections =
      connections_of({flow(7, 4001, 1), flow(7, 4002, 1), flow(8, 4001, 1)});
  EXPECT_EQ(connections.peers, (ioc::CaPeers{peer(7, 4001), peer(7, 4002), peer(8, 4001)}));
  const iocx_ca_flow_key& key = connections.keys.at(peer(7, 4002));
  EXPECT_EQ(key.client_port, 4002);
  EXPECT_EQ(key.server_port, 5064);
  EXPECT_EQ(probes::ca_address_text(key.server), "10.0.0.1");
}

TEST(CaSeeding, AFarEndWithTwoConnectionsIsNotGuessed) {
  const CaConnections connections =
      connections_of({flow(7, 4001, 1), flow(7, 4001, 2), flow(8, 4001, 1)});
  EXPECT_EQ(connections.peers, (ioc::CaPeers{peer(8, 4001)}));
  EXPECT_EQ(connections.keys.size(), 1u);
}

TEST(CaSeeding, ClientsGoToTheTapUnderTheirConnection) {
  const CaConnections connections = connections_of({flow(7, 4001, 1), flow(8, 513, 2)});
  ioc::CaServerTables tables;
  tables.clients.push_back({peer(8, 513), "bob", "h2", {}});
  tables.clients.push_back(
      {peer(7, 4001),
       "ann",
       "h1",
       {{1, 11, "A", 2, CaServerSample::read}, {3, 13, "B", 0, CaServerSample::read_write}}});
  tables.clients.push_back({peer(9, 1), "gone", "h3", {}});
  const probes::CaSeed seed = seed_of(23, tables, connections);
  EXPECT_EQ(seed.ioc, 23u);
  ASSERT_EQ(seed.circuits.size(), 2u);
  EXPECT_EQ(seed.circuits[0].user, "bob");
  EXPECT_EQ(seed.circuits[0].key.client_port, 513);
  const probes::CaSeedCircuit& ann = seed.circuits[1];
  EXPECT_EQ(ann.user, "ann");
  EXPECT_EQ(ann.host, "h1");
  EXPECT_EQ(probes::ca_address_text(ann.key.client), "10.0.0.7");
  ASSERT_EQ(ann.channels.size(), 2u);
  EXPECT_EQ(ann.channels[0].cid, 1u);
  EXPECT_EQ(ann.channels[0].sid, 11u);
  EXPECT_EQ(ann.channels[0].name, "A");
  EXPECT_EQ(ann.channels[0].monitors, 2u);
  EXPECT_EQ(ann.channels[0].access, std::uint32_t{CaServerSample::read});
  EXPECT_EQ(ann.channels[1].access, std::uint32_t{CaServerSample::read_write});
}

}  // namespace
}  // namespace ioc_exporter::app

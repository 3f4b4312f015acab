// Servers that are somewhere else, and those that the programs find.
#include "bpf/ca_tap_network_fixture.h"
#include "support/value_of.h"

namespace {

using namespace ioc_exporter;
using namespace ioc_exporter::testing;
using puts::Tap;
using puts::TapServer;

class CaTapRemoteTest : public CaTapNetworkTest {
 protected:
  std::vector<TapServer> learned(Tap::Clock::time_point now = Tap::Clock::now()) {
    return value_of(tap_->servers().learned(now));
  }
};

void put_some(Circuit& circuit, std::size_t count, const std::string& pv = "A") {
  circuit.open("u", "h", {pv});
  circuit.to_server(repeat(write(100), count));
}

// As the program that reads datagrams does (learn_server() of bpf/tap/servers.bpf.h).
TEST_F(CaTapRemoteTest, ServersThatTheProgramsLearnAreHandedOver) {
  const Listener named, forgotten;
  const auto servers =
      kernel::MapView<iocx_ca_server, std::uint32_t>::from_fd(tap_->object().shared_maps().servers);
  ASSERT_TRUE(servers);
  for (const Listener* one : {&named, &forgotten})
    ASSERT_TRUE(servers->update({{}, one->port(), 0}, puts::kIocToCome));
  const auto now = Tap::Clock::now();
  const auto found = learned(now);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].ioc, puts::kIocToCome);
  EXPECT_FALSE(found[0].remote);
  // Its clients are counted before anybody has named it.
  Circuit early(named), lost(forgotten);
  put_some(early, 23);
  put_some(lost, 29);
  reap();
  EXPECT_EQ(entries("ca_circuits"), 2u);
  EXPECT_EQ(all_puts(), 0u);
  ASSERT_TRUE(tap_->set_servers({server_at(named.port(), 4)}, now));
  EXPECT_EQ(puts_of(4, "A"), 23u);
  EXPECT_EQ(learned(now).size(), 1u);
  ASSERT_TRUE(tap_->set_servers({server_at(named.port(), 4)}, now + puts::WatchedServers::kKeep));
  EXPECT_TRUE(learned(now + puts::WatchedServers::kKeep).empty());
  reap_all();
  lost.to_server(write(100));
  early.to_server(write(100));
  EXPECT_EQ(entries("ca_circuits"), 1u);
  EXPECT_EQ(puts_of(4, "A"), 24u);
}

// Clients here, their servers on another host.
TEST_F(CaTapRemoteTest, CountsPutsToServersElsewhere) {
  const TestNetwork network;
  network.give_addresses("eth0", "eth0");
  enter(network.client, true);
  const Listener listener("::", 0, network.server.fd());
  const auto everywhere = server_at(listener.port(), puts::kRemoteServer, "0.0.0.0", true);
  set_servers({everywhere});
  Circuit circuit(listener, kServer, network.client.fd());
  put_some(circuit, 23);
  EXPECT_EQ(all_puts(), 0u);  // of whom is not said yet
  reap();
  const auto found = learned();
  ASSERT_EQ(found.size(), 1u);
  TapServer one = found.front();
  EXPECT_TRUE(one.remote);
  EXPECT_EQ(one.ioc, puts::kRemoteServer);
  EXPECT_EQ(one.port, listener.port());
  EXPECT_EQ(puts::ca_address_text(one.address), kServer);
  one.ioc = 4;
  set_servers({everywhere, one});
  EXPECT_TRUE(learned().empty());
  circuit.to_server(write(100));
  circuit.to_client(Bytes(long_message(1, 6, 50000, 1, 1, Bytes(400000, 1))));
  EXPECT_EQ(puts_of(4, "A"), 24u);
  // Their sockets are found as the clients' that they are.
  const auto later = Tap::Clock::now() + std::chrono::hours(1);
  for (int look = 0; look < 5; ++look) ASSERT_TRUE(tap_->reap(later + std::chrono::minutes(look)));
  EXPECT_EQ(entries("ca_circuits"), 1u);
  circuit.to_server(write(100));
  EXPECT_EQ(puts_of(4, "A"), 25u);
  expect_nothing_lost();
}

// The same port here and elsewhere.
TEST_F(CaTapRemoteTest, LocalAndRemoteServersOfOnePortAreToldApart) {
  const TestNetwork network;
  network.give_addresses("eth0", "eth0");
  enter(network.client, true);
  const Listener there("::", 0, network.server.fd()), here("::", there.port(), network.client.fd());
  set_servers({server_at(there.port(), 4), server_at(there.port(), 5, "0.0.0.0", true)});
  Circuit to_there(there, kServer, network.client.fd());
  Circuit to_here(here, kClient, network.server.fd());
  Circuit inside(here, "127.0.0.1", network.client.fd());
  put_some(to_there, 23);
  put_some(to_here, 29);
  put_some(inside, 31);
  reap_all();
  EXPECT_EQ(puts_of(5, "A"), 23u);
  EXPECT_EQ(puts_of(4, "A"), 60u);
  EXPECT_EQ(entries("ca_circuits"), 3u);
  expect_nothing_lost();
}

TEST_F(CaTapRemoteTest, ServersElsewhereAreLeftAloneUnlessAskedFor) {
  const TestNetwork network;
  network.give_addresses("eth0", "eth0");
  const Listener listener("::", 0, network.server.fd());
  enter(network.client);
  set_servers({server_at(listener.port(), 4, "0.0.0.0", true)});
  Circuit circuit(listener, kServer, network.client.fd());
  put_some(circuit, 23);
  EXPECT_EQ(entries("ca_circuits"), 0u);
  EXPECT_EQ(all_puts(), 0u);
}

}  // namespace

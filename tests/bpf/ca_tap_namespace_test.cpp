// Servers in network namespaces that come and go, and servers that are somewhere else.
#include <fcntl.h>

#include "bpf/ca_tap_network_fixture.h"
#include "support/value_of.h"

namespace {

using namespace ioc_exporter;
using namespace ioc_exporter::testing;
using ca::CaServer;
using ca::CaTap;

class CaTapNamespaceTest : public CaTapNetworkTest {
 protected:
  void start_with_remote() {
    ca::CaTapOptions options;
    options.sizes.max_channels = 4096;
    options.lock = GetParam();
    options.remote_servers = true;
    tap_.reset();
    tap_ = value_of(CaTap::start(std::move(options)));
  }
  std::vector<CaServer> learned(CaTap::Clock::time_point now = CaTap::Clock::now()) {
    return value_of(tap_->servers().learned(now));
  }
};

void put_some(Circuit& circuit, std::size_t count, const std::string& pv = "A") {
  circuit.open("u", "h", {pv});
  circuit.to_server(repeat(write(100), count));
}

TEST_P(CaTapNamespaceTest, EachNamespaceHasItsOwnServers) {
  const auto one = NetNamespace::make(), two = NetNamespace::make();
  const Listener in_one("127.0.0.1", 0, one.fd());
  const Listener in_two("127.0.0.1", in_one.port(), two.fd());
  set_servers({server_at(add(one), in_one.port(), 8), server_at(add(two), in_one.port(), 9)});
  Circuit to_one(in_one, "127.0.0.1", one.fd()), to_two(in_two, "127.0.0.1", two.fd());
  put_some(to_one, 23);
  put_some(to_two, 29);
  EXPECT_EQ(puts_of(8, "A"), 23u);
  EXPECT_EQ(puts_of(9, "A"), 29u);
  // Only where it is watched, and no longer.
  ASSERT_TRUE(tap_->remove_namespace(1));
  to_one.to_server(repeat(write(100), 31));
  to_two.to_server(repeat(write(100), 37));
  EXPECT_EQ(puts_of(8, "A"), 23u);
  EXPECT_EQ(puts_of(9, "A"), 66u);
  expect_nothing_lost();
}

TEST_P(CaTapNamespaceTest, AWatchedNamespaceKeepsItsNumber) {
  const auto one = NetNamespace::make(), two = NetNamespace::make();
  EXPECT_EQ(add(one), 1u);
  EXPECT_EQ(add(two), 2u);
  EXPECT_EQ(add(one), 1u);
  const UniqueFd own(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(*tap_->namespaces().add(own.get()), 0u);
  EXPECT_FALSE(tap_->remove_namespace(0));
  EXPECT_FALSE(tap_->set_servers({server_at(3, 5064)}));
  EXPECT_FALSE(tap_->namespaces().add(listener_.fd()));  // no namespace at all
}

TEST_P(CaTapNamespaceTest, RemovedNamespacesKeepTheirCounts) {
  for (int round = 1; round <= 3; ++round) {
    const auto space = NetNamespace::make();
    const std::uint32_t net = add(space);
    EXPECT_EQ(net, 1u);
    const Listener listener("127.0.0.1", 0, space.fd());
    watch_in(net, listener);
    Circuit open(listener, "127.0.0.1", space.fd()), unseen(listener, "127.0.0.1", space.fd());
    put_some(open, 23);
    EXPECT_EQ(puts("A"),
              23u * static_cast<unsigned>(round) + 29u * static_cast<unsigned>(round - 1));
    put_some(unseen, 29);  // not looked at before it goes
    ASSERT_TRUE(tap_->remove_namespace(net));
    EXPECT_EQ(entries("ca_servers"), 1u);  // listener_, which is watched on
    reap_all();
    EXPECT_EQ(puts("A"), 52u * static_cast<unsigned>(round));
    EXPECT_EQ(entries("ca_channels"), 0u);
    EXPECT_EQ(entries("ca_circuits"), 0u);
  }
  expect_nothing_lost();
}

TEST_P(CaTapNamespaceTest, NamespacesAreLimited) {
  std::vector<NetNamespace> spaces;
  for (std::uint32_t net = 1; net < IOCX_CA_NAMESPACES; ++net) {
    spaces.push_back(NetNamespace::make());
    ASSERT_EQ(add(spaces.back()), net);
  }
  const auto one_more = NetNamespace::make();
  EXPECT_EQ(error_of(tap_->namespaces().add(one_more.fd())),
            "watch a network namespace: 64 are watched already");
  ASSERT_TRUE(tap_->remove_namespace(17));
  EXPECT_EQ(add(one_more), 17u);
}

TEST_P(CaTapNamespaceTest, CircuitsInNamespacesStayWhileTheyHaveASocket) {
  const auto space = NetNamespace::make();
  const Listener listener("127.0.0.1", 0, space.fd());
  watch_in(add(space), listener);
  Circuit circuit(listener, "127.0.0.1", space.fd());
  put_some(circuit, 23);
  const auto later = CaTap::Clock::now() + std::chrono::hours(1);
  for (int look = 0; look < 5; ++look) ASSERT_TRUE(tap_->reap(later + std::chrono::minutes(look)));
  circuit.to_server(repeat(write(100), 29));
  EXPECT_EQ(puts("A"), 52u);
  EXPECT_EQ(entries("ca_circuits"), 1u);
  expect_nothing_lost();
}

// As the program that reads datagrams does (learn_server() of bpf/tap/servers.bpf.h).
TEST_P(CaTapNamespaceTest, ServersThatTheProgramsLearnAreHandedOver) {
  const Listener named, forgotten;
  const auto servers =
      kernel::MapView<iocx_ca_server, std::uint32_t>::from_fd(tap_->object().shared_maps().servers);
  ASSERT_TRUE(servers);
  for (const Listener* one : {&named, &forgotten})
    ASSERT_TRUE(servers->update({{}, one->port(), 0, 0}, ca::kCaIocToCome));
  const auto now = CaTap::Clock::now();
  const auto found = learned(now);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].ioc, ca::kCaIocToCome);
  EXPECT_FALSE(found[0].remote);
  // Its clients are counted before anybody has named it.
  Circuit early(named), lost(forgotten);
  put_some(early, 23);
  put_some(lost, 29);
  reap();
  EXPECT_EQ(entries("ca_circuits"), 2u);
  EXPECT_EQ(all_puts(), 0u);
  ASSERT_TRUE(tap_->set_servers({server_at(0, named.port(), 4)}, now));
  EXPECT_EQ(puts_of(4, "A"), 23u);
  EXPECT_EQ(learned(now).size(), 1u);
  ASSERT_TRUE(tap_->set_servers({server_at(0, named.port(), 4)}, now + ca::WatchedServers::kKeep));
  EXPECT_TRUE(learned(now + ca::WatchedServers::kKeep).empty());
  reap_all();
  lost.to_server(write(100));
  early.to_server(write(100));
  EXPECT_EQ(entries("ca_circuits"), 1u);
  EXPECT_EQ(puts_of(4, "A"), 24u);
  EXPECT_EQ(drop("not_an_ioc"), 29u);
}

// Clients here, their servers on another host.
TEST_P(CaTapNamespaceTest, CountsPutsToServersElsewhere) {
  start_with_remote();
  const TestNetwork network;
  network.give_addresses("eth0", "eth0");
  const std::uint32_t net = add(network.client);
  const Listener listener("::", 0, network.server.fd());
  const auto everywhere = server_at(net, listener.port(), ca::kCaRemote, "0.0.0.0", true);
  set_servers({everywhere});
  Circuit circuit(listener, kServer, network.client.fd());
  put_some(circuit, 23);
  EXPECT_EQ(all_puts(), 0u);  // of whom is not said yet
  reap();
  const auto found = learned();
  ASSERT_EQ(found.size(), 1u);
  CaServer one = found.front();
  EXPECT_TRUE(one.remote);
  EXPECT_EQ(one.ioc, ca::kCaRemote);
  EXPECT_EQ(one.port, listener.port());
  EXPECT_EQ(one.net, net);
  EXPECT_EQ(ca::ca_address_text(one.address), kServer);
  one.ioc = 4;
  set_servers({everywhere, one});
  EXPECT_TRUE(learned().empty());
  circuit.to_server(write(100));
  circuit.to_client(Bytes(long_message(1, 6, 50000, 1, 1, Bytes(400000, 1))));
  EXPECT_EQ(puts_of(4, "A"), 24u);
  // Their sockets are found as the clients' that they are.
  const auto later = CaTap::Clock::now() + std::chrono::hours(1);
  for (int look = 0; look < 5; ++look) ASSERT_TRUE(tap_->reap(later + std::chrono::minutes(look)));
  EXPECT_EQ(entries("ca_circuits"), 1u);
  circuit.to_server(write(100));
  EXPECT_EQ(puts_of(4, "A"), 25u);
  expect_nothing_lost();
}

// The server's end is looked into as well: its circuit is there, and nowhere else.
TEST_P(CaTapNamespaceTest, ServersInAnotherNamespaceOfTheHostAreNotElsewhere) {
  start_with_remote();
  const TestNetwork network;
  network.give_addresses("eth0", "eth0");
  const std::uint32_t client = add(network.client), server = add(network.server);
  const Listener listener("::", 0, network.server.fd());
  set_servers({server_at(client, listener.port(), 4, "0.0.0.0", true),
               server_at(server, listener.port(), 5)});
  Circuit circuit(listener, kServer, network.client.fd());
  put_some(circuit, 23);
  EXPECT_EQ(all_puts(), 23u);
  EXPECT_EQ(puts_of(5, "A"), 23u);
  expect_nothing_lost();
}

// The same port here and elsewhere.
TEST_P(CaTapNamespaceTest, LocalAndRemoteServersOfOnePortAreToldApart) {
  start_with_remote();
  const TestNetwork network;
  network.give_addresses("eth0", "eth0");
  const std::uint32_t net = add(network.client);
  const Listener there("::", 0, network.server.fd()), here("::", there.port(), network.client.fd());
  set_servers({server_at(net, there.port(), 4), server_at(net, there.port(), 5, "0.0.0.0", true)});
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

TEST_P(CaTapNamespaceTest, ServersElsewhereAreLeftAloneUnlessAskedFor) {
  const TestNetwork network;
  network.give_addresses("eth0", "eth0");
  const Listener listener("::", 0, network.server.fd());
  set_servers({server_at(add(network.client), listener.port(), 4, "0.0.0.0", true)});
  Circuit circuit(listener, kServer, network.client.fd());
  put_some(circuit, 23);
  EXPECT_EQ(entries("ca_circuits"), 0u);
  EXPECT_EQ(all_puts(), 0u);
}

IOCX_WITH_CHOSEN_LOCK(CaTapNamespaceTest);

}  // namespace

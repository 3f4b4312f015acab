// The channel table from one run of the tap to the next, of IOCs in other network namespaces.
#include <gmock/gmock.h>

#include <memory>

#include "bpf/ca_tap_pin_fixture.h"
#include "bpf/test_network.h"

namespace {

using namespace ioc_exporter;
using namespace ioc_exporter::testing;
using ca::CaTap;
using ::testing::HasSubstr;

class CaTapPinNamespaceTest : public CaTapPinTest {
 protected:
  void SetUp() override {
    if (::geteuid() == 0 && !has_ip_command()) GTEST_SKIP() << "needs the ip command (iproute2)";
    CaTapPinTest::SetUp();
  }
  std::uint32_t add(const NetNamespace& where) {
    auto net = tap_->add_namespace(where.fd());
    EXPECT_TRUE(net) << net.error().message();
    return net ? *net : 0;
  }
  // The server is found in its namespace.
  void find(std::uint32_t net, const Listener& server) {
    auto ok = tap_->set_servers({{{}, server.port(), kIoc, net, false}});
    ASSERT_TRUE(ok) << ok.error().message();
  }
};

TEST_P(CaTapPinNamespaceTest, NoNameIsLostWhateverTheNamespaceIsCalled) {
  if (!SocketCookies::open()) GTEST_SKIP() << "the kernel has no inet_diag";
  TestNetwork network, twin;  // with the same addresses
  for (TestNetwork* one : {&network, &twin}) one->give_addresses("eth0", "eth0");
  const Listener server("0.0.0.0", 0, network.server.fd());
  const Listener other("0.0.0.0", server.port(), twin.server.fd());
  const std::uint32_t net = add(network.server);
  find(net, server);
  Circuit circuit(server, "10.7.0.2", network.client.fd(), 0, 40007);
  auto gone = std::make_unique<Circuit>(server, "10.7.0.2", network.client.fd());
  circuit.open("anna", "h1", {"A", "B"});
  gone->open("anna", "h1", {"C"});
  circuit.to_server(repeat(write(100), 23));
  EXPECT_EQ(puts("A"), 23u);
  stop();
  gone->abort();
  Circuit alike(other, "10.7.0.2", twin.client.fd(), 0, 40007);
  start_blind({});
  EXPECT_THAT(tap_->pin_report(), HasSubstr("took over 2 circuits with 3 named channels"));
  EXPECT_EQ(entries("ca_circuits"), 0u);
  ASSERT_TRUE(tap_->reap());  // nothing of theirs is freed
  add(twin.server);
  EXPECT_EQ(entries("ca_circuits"), 0u);
  const std::uint32_t again = add(network.server);
  EXPECT_NE(again, net);
  find(again, server);
  circuit.to_server(repeat(write(100), 29) + repeat(write(101), 31));
  EXPECT_EQ(puts("A", PutOp::write, "anna"), 29u);
  EXPECT_EQ(puts("B", PutOp::write, "anna"), 31u);
  EXPECT_EQ(all_puts(), 60u);
  // What has no socket any more goes in its time.
  const auto later = CaTap::Clock::now() + CaTap::kKeepServer;
  for (const auto now : {later, later + CaTap::kPatience}) ASSERT_TRUE(tap_->reap(now));
  EXPECT_EQ(entries("ca_circuits"), 1u);
  EXPECT_EQ(entries("ca_channels"), 2u);
  circuit.to_server(repeat(write(101), 7));
  EXPECT_EQ(puts("B"), 38u);
}

// It is not looked into any more: its IOC runs no longer.
TEST_P(CaTapPinNamespaceTest, ANamespaceThatDoesNotComeBackIsForgotten) {
  if (!SocketCookies::open()) GTEST_SKIP() << "the kernel has no inet_diag";
  TestNetwork network;
  network.give_addresses("eth0", "eth0");
  const Listener server("0.0.0.0", 0, network.server.fd());
  find(add(network.server), server);
  Circuit circuit(server, "10.7.0.2", network.client.fd());
  circuit.open("anna", "h1", {"A", "B"});
  stop();
  start_blind({});
  EXPECT_EQ(entries("ca_channels"), 2u);
  const auto later = CaTap::Clock::now() + CaTap::kKeepServer;
  for (const auto now : {later, later + CaTap::kPatience}) ASSERT_TRUE(tap_->reap(now));
  EXPECT_EQ(entries("ca_channels"), 0u);
  find(add(network.server), server);
  circuit.to_client(version());  // with the server's first word the circuit is known
  circuit.to_server(repeat(write(100), 23));
  give_up_on_seed();
  EXPECT_EQ(puts(""), 23u);
}

IOCX_WITH_CHOSEN_LOCK(CaTapPinNamespaceTest);

}  // namespace

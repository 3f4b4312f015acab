// Servers whose clients come by another port, which the host redirects: packets carry that one.
#include <sys/resource.h>

#include <algorithm>
#include <memory>

#include "bpf/ca_tap_network_fixture.h"

namespace {

using namespace ioc_exporter;
using namespace ioc_exporter::testing;
using ca::CaRedirects;
using ca::CaTap;

constexpr std::uint16_t kWire = 4071, kElsewhere = 4073;
const Bytes kEcho = message(23, 0, 0, 0, 0);

class CaTapRedirectTest : public CaTapNetworkTest {
 protected:
  void SetUp() override {
    CaTapNetworkTest::SetUp();
    if (IsSkipped()) return;
    network_.give_addresses("eth0", "eth0");
    server_ = std::make_unique<Listener>("0.0.0.0", 0, network_.server.fd());
    const std::string ports = std::to_string(kWire) + " " + std::to_string(server_->port());
    if (!network_.server.try_command(REDIRECT " " + ports))
      GTEST_SKIP() << "the kernel has no nf_tables with NAT, or there is no python3";
    net_ = add(network_.server);
    watch_in(net_, *server_);
    look();  // circuits that come from now on are not from before
  }
  Circuit far(std::uint16_t client_port = 0) {
    return Circuit(*server_, kServers[0], network_.client.fd(), kWire, client_port);
  }
  void look(std::chrono::seconds later = CaRedirects::kLook) {
    now_ += later;
    auto ok = tap_->reap(now_);
    ASSERT_TRUE(ok) << ok.error().message();
    // As each look for IOCs does: ports that are not needed any more go.
    const auto servers = tap_->set_servers({server_at(net_, server_->port())}, now_);
    ASSERT_TRUE(servers) << servers.error().message();
  }
  // The connection is noticed, and sought since it goes on.
  void notice(Circuit& circuit, const Bytes& more = kEcho) {
    look();
    circuit.to_server(more);
    look();
  }
  std::uint64_t unread() {
    std::uint64_t bytes = 0;
    for (const auto& server : collect().servers)
      if (server.number == kIoc) bytes += server.unread_bytes;
    return bytes;
  }
  std::uint64_t unnamed() {
    collect(now_);
    collect(now_ + CaTap::kSeedPatience);
    return puts("");
  }

  TestNetwork network_;
  std::unique_ptr<Listener> server_;
  std::uint32_t net_ = 0;
  CaTap::Clock::time_point now_ = CaTap::Clock::now();
};

TEST_P(CaTapRedirectTest, APortIsLearnedFromOneConnection) {
  const Bytes first = version() + host_name("h") + client_name("u") + create(1, "A");
  const Bytes lost = repeat(write(100), 23), more = repeat(write(100), 29);
  Circuit late = far();
  late.to_server(first);
  late.to_client(version() + created(1, 100));
  late.to_server(lost);
  EXPECT_EQ(all_puts(), 0u);
  notice(late, more);
  late.to_client(kEcho);  // this is how it is found
  look(std::chrono::seconds(1));
  EXPECT_EQ(entries("ca_redirects"), 1u);
  EXPECT_EQ(all_puts(), 0u);
  late.to_server(repeat(write(100), 31));
  look(std::chrono::seconds(1));
  EXPECT_EQ(unread(), first.size() + lost.size() + more.size());
  EXPECT_EQ(unnamed(), 31u);  // the server's memory would name it
  // Others are followed from their first byte.
  Circuit next = far();
  next.open("v", "h", {"B", "C"});
  next.to_server(repeat(write(100), 37) + repeat(write(101), 20011));
  look();
  EXPECT_EQ(puts("B", PutOp::write, "v"), 37u);
  EXPECT_EQ(puts("C"), 20011u);
  EXPECT_EQ(all_puts(), 31u + 37u + 20011u);
  for (const auto& one : collect().puts) EXPECT_EQ(one.labels.client, kClients[0]);
  EXPECT_EQ(unread(), first.size() + lost.size() + more.size());
  EXPECT_EQ(drop("joined_late"), 1u);
  EXPECT_EQ(drop("doubtful"), 0u);      // checksums are those of the packet's own addresses
  for (int i = 0; i < 12; ++i) look();  // they are the server's, for all who look
  EXPECT_EQ(entries("ca_circuits"), 2u);
  next.to_server(write(100));
  EXPECT_EQ(puts("B"), 38u);
}

// What goes to the server carries its own port there, and answers carry the other.
TEST_P(CaTapRedirectTest, APortIsRedirectedOnLoopback) {
  const auto near = [this] { return Circuit(*server_, "127.0.0.1", network_.server.fd(), kWire); };
  Circuit late = near();
  late.open("u", "h", {"A"});
  late.to_server(repeat(write(100), 23));
  notice(late);
  late.to_client(kEcho);
  look(std::chrono::seconds(1));
  EXPECT_EQ(entries("ca_redirects"), 1u);
  EXPECT_EQ(unnamed(), 23u);
  Circuit next = near();
  next.open("v", "h", {"B"});
  next.to_server(repeat(write(100), 37));
  EXPECT_EQ(puts("B", PutOp::write, "v"), 37u);
  EXPECT_EQ(unread(), version().size());  // what it was joined at
}

// It would keep others from being sought.
TEST_P(CaTapRedirectTest, AConnectionThatIsIdleIsNotSought) {
  Circuit idle = far();
  idle.to_server(version());
  for (int i = 0; i < 3; ++i) look();
  idle.to_client(kEcho);
  look(std::chrono::seconds(1));
  EXPECT_EQ(entries("ca_redirects"), 0u);
  idle.to_server(kEcho);
  look();
  idle.to_client(kEcho);
  look(std::chrono::seconds(1));
  EXPECT_EQ(entries("ca_redirects"), 1u);
}

// A client may have connections to others from the same port: nobody's puts become another's.
TEST_P(CaTapRedirectTest, AnotherServersPortIsNotTaken) {
  const Listener other("0.0.0.0", kElsewhere, network_.server.fd());
  Circuit idle = far(40005);
  idle.to_server(version());
  notice(idle);
  Circuit decoy(other, kServers[0], network_.client.fd(), 0, 40005);
  decoy.open("u", "h", {"A"});
  decoy.to_server(repeat(write(100), 23));
  look(std::chrono::seconds(1));
  EXPECT_EQ(entries("ca_redirects"), 0u);
  Circuit victim(other, kServers[0], network_.client.fd());
  victim.open("u", "h", {"A"});
  victim.to_server(repeat(write(100), 29));
  EXPECT_EQ(all_puts(), 0u);
}

// Nor where the other is redirected as well, so that no socket has the port.
TEST_P(CaTapRedirectTest, AnotherServersRedirectedPortIsNotTaken) {
  const Listener other("0.0.0.0", kElsewhere, network_.server.fd());
  ASSERT_TRUE(network_.server.try_command(REDIRECT " 4075 4073"));
  Circuit active = far(40005);
  active.to_server(version());
  notice(active);
  Circuit decoy(other, kServers[0], network_.client.fd(), 4075, 40005);
  decoy.open("u", "h", {"A"});
  look(std::chrono::seconds(1));
  EXPECT_EQ(entries("ca_redirects"), 0u);
}

TEST_P(CaTapRedirectTest, APortThatIsUsedAgainIsForgotten) {
  Circuit late = far();
  late.to_server(version());
  notice(late);
  late.to_client(kEcho);
  look(std::chrono::seconds(1));
  EXPECT_EQ(entries("ca_redirects"), 1u);
  const Listener other("0.0.0.0", kWire, network_.server.fd());
  look();
  EXPECT_EQ(entries("ca_redirects"), 0u);
  late.to_server(repeat(write(100), 23));
  look(std::chrono::seconds(1));
  EXPECT_EQ(all_puts(), 0u);
}

// Its clients would write under this server's name.
TEST_P(CaTapRedirectTest, ARedirectThatLeadsElsewhereIsForgotten) {
  Circuit late = far();
  late.to_server(version());
  notice(late);
  late.to_client(kEcho);
  look(std::chrono::seconds(1));
  EXPECT_EQ(entries("ca_redirects"), 1u);
  const Listener other("0.0.0.0", kElsewhere, network_.server.fd());
  ASSERT_TRUE(network_.server.try_command(REDIRECT " " + std::to_string(kWire) + " " +
                                          std::to_string(kElsewhere)));
  Circuit moved(other, kServers[0], network_.client.fd(), kWire);
  moved.open("u", "h", {"A"});
  look();
  EXPECT_EQ(entries("ca_redirects"), 1u);  // it may have ended in this moment
  moved.to_server(repeat(write(100), 23));
  look();
  EXPECT_EQ(entries("ca_redirects"), 0u);
  const auto counted = all_puts();
  moved.to_server(repeat(write(100), 29));
  EXPECT_EQ(all_puts(), counted);
}

// Who connects and says nothing keeps nobody from being found.
TEST_P(CaTapRedirectTest, IdleConnectionsOfOneClientKeepNobodyElse) {
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  const rlimit before = files;
  files.rlim_cur = std::min<rlim_t>(files.rlim_max, 4096);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &files), 0);
  std::vector<std::unique_ptr<Circuit>> idle;
  for (std::size_t i = 0; i < CaRedirects::kMostMissing + 7; ++i)
    idle.push_back(std::make_unique<Circuit>(*server_, kServers[0], network_.client.fd()));
  Circuit late(*server_, "127.0.0.1", network_.server.fd(), kWire);
  late.to_server(version());
  notice(late);
  late.to_client(version());
  look(std::chrono::seconds(1));
  EXPECT_EQ(entries("ca_redirects"), 1u);
  Circuit next(*server_, "127.0.0.1", network_.server.fd(), kWire);
  next.open("v", "h", {"B"});
  next.to_server(repeat(write(100), 37));
  EXPECT_EQ(puts("B"), 37u);
  idle.front()->open("v", "h", {"A"});
  idle.front()->to_server(repeat(write(100), 23));
  EXPECT_EQ(puts("A"), 23u);
  idle.clear();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

IOCX_WITH_CHOSEN_LOCK(CaTapRedirectTest);

}  // namespace

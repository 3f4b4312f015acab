// A sender takes all that it can get of each table: others are counted, and named, as ever.
#include <gtest/gtest.h>

#include <chrono>

#include "bpf/ca_udp_fixture.h"

namespace {

using namespace ioc_exporter;
using namespace ioc_exporter::testing;

constexpr const char* kHost = "127.0.0.1";
constexpr int kOthers = 8;
constexpr std::uint32_t kRoom = 256;

class CaUdpCapsTest : public CaUdpTest, public ::testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    CaUdpTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    // All of its addresses are here.
    here_->command("ip addr add 10.1.0.1/16 dev lo && ip addr add 10.2.0.1/16 dev lo");
    puts::CaUdpOptions options;
    options.sizes = {.max_clients = kRoom, .max_beacons = kRoom};
    start(options, kRoom);
  }
  // From which all is taken.
  static std::string greedy() { return GetParam(); }
  static std::string other(int network) { return "10.2." + std::to_string(network) + ".7"; }
};

TEST_P(CaUdpCapsTest, NamesThatNobodyHas) {
  const UdpSocket client(greedy()), late(other(1)), early(other(2));
  const auto flood = [&] {
    for (std::uint32_t cid = 0; cid < 3 * kRoom; ++cid)
      client.send(search(cid, "G" + std::to_string(cid)), kHost, kCaPort);
  };
  const auto ask = [](const UdpSocket& from, const std::string& name) {
    for (std::uint32_t times = 0; times < 7; ++times)
      for (std::uint32_t cid = 0; cid < kOthers; ++cid)
        from.send(search(cid, name + std::to_string(cid)), kHost, kCaPort);
  };
  ask(early, "E");
  flood();
  const std::uint64_t kept = entries("ca_searches");
  ask(late, "L");
  ask(early, "E");
  Counts expected;
  for (int i = 0; i < kOthers; ++i) {
    expected[other(1) + " L" + std::to_string(i)] = 7;
    expected[other(2) + " E" + std::to_string(i)] = 14;
  }
  EXPECT_EQ(names(), expected);
  EXPECT_LT(kept, kRoom * 3 / 4);
  EXPECT_EQ(kept + drop(IOCX_CA_UDP_DROP_SEARCHES_FULL), kOthers + 3 * kRoom);

  look(puts::CaUdp::kSearchOver + std::chrono::minutes(1));
  EXPECT_EQ(entries("ca_searches"), 0u);
  ask(early, "E");
  flood();
  EXPECT_EQ(entries("ca_searches"), kept);
}

TEST_P(CaUdpCapsTest, Beacons) {
  const UdpSocket liar(greedy());
  const auto flood = [&] {
    for (std::uint32_t i = 0; i < 2 * kRoom; ++i)
      liar.send(beacon(1, 5064, 0x0A030000 + i), kHost, kBeaconPort);
  };
  const auto from_others = [](int first, std::uint32_t number) {
    for (int i = first; i < first + kOthers; ++i)
      UdpSocket(other(i)).send(beacon(number, 5064), kHost, kBeaconPort);
  };
  from_others(0, 1);
  flood();
  for (std::uint32_t number = 2; number <= 7; ++number) from_others(0, number);
  for (std::uint32_t number = 1; number <= 7; ++number) from_others(kOthers, number);
  std::map<std::string, BeaconSample> all;
  for (const auto& one : collect().beacons) all[one.server] = one;
  for (int i = 0; i < 2 * kOthers; ++i) {
    const auto& one = all[other(i) + ":5064"];
    EXPECT_EQ(one.beacons, 7u) << other(i);
  }
  const std::uint64_t taken = entries("ca_beacons");
  EXPECT_LT(taken, kRoom * 3 / 4);
  EXPECT_EQ(drop(IOCX_CA_UDP_DROP_BEACONS_FULL), 2 * kRoom + 2 * kOthers - taken);

  look(puts::CaUdp::kSilentWhenCrowded + std::chrono::minutes(1));
  EXPECT_EQ(entries("ca_beacons"), 0u);
  from_others(0, 1);
  flood();
  from_others(kOthers, 1);
  EXPECT_EQ(entries("ca_beacons"), taken);
}

INSTANTIATE_TEST_SUITE_P(From, CaUdpCapsTest, ::testing::Values("127.0.0.1", "10.1.0.1"),
                         [](const auto& from) {
                           return std::string(from.param == "127.0.0.1" ? "Loopback" : "ANetwork");
                         });

}  // namespace

// Names of open channels from one run of the tap to the next, through their files.
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "bpf/ca_tap_fixture.h"
#include "bpf/test_network.h"
#include "puts/tap/kept_channels.h"
#include "support/full_disk.h"

namespace {

using namespace ioc_exporter;
using namespace ioc_exporter::testing;
using ca::CaTap;
using ca::ChannelsKeeper;

constexpr std::uint32_t kAgain = 11;  // the IOC's number in the next run

class CaTapKeptTest : public CaTapTest {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "channels.XXXXXX";
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
    CaTapTest::SetUp();
    if (!IsSkipped()) open();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void open() { keeper_.emplace().open(folder_, boot_, now_); }
  // The exporter ends and starts again. It has found no server yet.
  void restart() {
    ASSERT_TRUE(keeper_->keep_now(*tap_, telling_));
    restart_killed();
  }
  void restart_killed() {
    keeper_.reset();
    start_blind({});
    open();
  }
  void look() {
    auto ok = keeper_->look(*tap_, telling_, now_);
    ASSERT_TRUE(ok) << ok.error().message();
  }
  void find_again(const Listener& server) {
    watch(server, kAgain);
    look();
  }
  ca::ReadChannels on_disk() {
    std::string problem;
    return StateFiles::read_latest<ca::ReadChannels>(
        folder_, ca::kChannelFiles, ca::kLargestChannelFile, ca::channels_from_bytes, problem);
  }
  std::uint64_t puts_of_anna(const std::string& pv, const std::string& client = "127.0.0.1") {
    const ca::CaPutLabels wanted{kAgain, pv, client, "anna", "h1"};
    std::uint64_t sum = 0;
    for (const auto& one : collect().puts)
      if (one.labels == wanted) sum += one.count;
    return sum;
  }

  std::string folder_, boot_ = "a boot";
  ChannelsKeeper::Telling telling_;
  ChannelsKeeper::Clock::time_point now_ = ChannelsKeeper::Clock::now();
  std::optional<ChannelsKeeper> keeper_;
};

TEST_P(CaTapKeptTest, TheSameSocketHasItsNames) {
  Circuit circuit(listener_);
  circuit.open("anna", "h1", {"A", "B", "C", "D"});
  circuit.to_server(repeat(write(100), 23));
  EXPECT_EQ(puts("A"), 23u);
  restart();
  circuit.to_server(repeat(write(100), 1009));  // nobody counts
  watch(listener_, kAgain);
  circuit.to_server(proof(100) + repeat(write(100), 29) + clear(102, 2) + clear(103, 3) +
                    create(9, "NEW"));
  circuit.to_client(created(9, 103));
  look();
  circuit.to_server(repeat(write(101), 31) + repeat(write(102), 7) + repeat(write(103), 5));
  EXPECT_EQ(puts_of_anna("A"), 29u);
  EXPECT_EQ(puts_of_anna("B"), 31u);
  EXPECT_EQ(puts_of_anna("C"), 0u) << "it was seen to be closed";
  EXPECT_EQ(puts_of_anna("NEW"), 5u) << "it was seen to be opened";
  give_up_on_seed();
  EXPECT_EQ(all_puts(), 72u);
  circuit.abort();
  reap_all();
  EXPECT_EQ(entries("ca_channels"), 0u);
}

TEST_P(CaTapKeptTest, AnotherSocketOfTheSamePortsHasNone) {
  auto before = std::make_unique<Circuit>(listener_);
  before->open("anna", "h1", {"A"});
  EXPECT_EQ(all_puts(), 0u);
  const std::uint16_t port = before->client_port();
  restart();
  before->abort();
  Circuit after(listener_, port);
  find_again(listener_);
  after.to_server(proof(100) + repeat(write(100), 23));
  give_up_on_seed();
  EXPECT_EQ(puts_of(kAgain, ""), 23u);
  EXPECT_EQ(all_puts(), 23u);
}

TEST_P(CaTapKeptTest, OfNamespacesWhateverTheyAreCalled) {
  if (!has_ip_command()) GTEST_SKIP() << "needs the ip command (iproute2)";
  TestNetwork network, twin;  // with the same addresses
  for (TestNetwork* one : {&network, &twin}) one->give_addresses("eth0", "eth0");
  const Listener server("0.0.0.0", 0, network.server.fd());
  const Listener other("0.0.0.0", server.port(), twin.server.fd());
  const auto find = [&](const NetNamespace& where, std::uint32_t ioc) {
    auto net = tap_->namespaces().add(where.fd());
    ASSERT_TRUE(net) << net.error().message();
    auto ok = tap_->set_servers({{{}, server.port(), ioc, *net, false}});
    ASSERT_TRUE(ok) << ok.error().message();
    look();
    ASSERT_TRUE(tap_->reap());
  };
  find(network.server, kIoc);
  Circuit circuit(server, "10.7.0.2", network.client.fd(), 0, 40007);
  circuit.open("anna", "h1", {"A", "B"});
  EXPECT_EQ(all_puts(), 0u);
  restart();
  Circuit alike(other, "10.7.0.2", twin.client.fd(), 0, 40007);
  find(twin.server, kIoc);
  EXPECT_EQ(entries("ca_circuits"), 0u);
  find(network.server, kAgain);
  EXPECT_EQ(entries("ca_circuits"), 1u);
  circuit.to_server(proof(100) + repeat(write(100), 29) + repeat(write(101), 31));
  EXPECT_EQ(puts_of(kAgain, "A"), 29u);
  EXPECT_EQ(puts_of(kAgain, "B"), 31u);
}

TEST_P(CaTapKeptTest, AKilledExporterLosesHalfAMinute) {
  Circuit circuit(listener_);
  circuit.open("anna", "h1", {"A", "B"});
  EXPECT_EQ(all_puts(), 0u);
  now_ += ChannelsKeeper::kPause;
  while (on_disk().generation < 1) look();
  restart_killed();
  find_again(listener_);
  circuit.to_server(proof(100) + repeat(write(101), 29));
  EXPECT_EQ(puts_of_anna("B"), 29u);
  for (int i = 0; i < 3; ++i) {
    now_ += ChannelsKeeper::kPause;
    look();
  }
  ASSERT_TRUE(keeper_->keep_now(*tap_, telling_));
  EXPECT_EQ(on_disk().generation, 1u) << "what has not changed is not written again";
}

TEST_P(CaTapKeptTest, AnExporterThatEndsBeforeItFindsTheServerKeepsTheNames) {
  Circuit circuit(listener_);
  circuit.open("anna", "h1", {"A"});
  EXPECT_EQ(all_puts(), 0u);
  for (int run = 0; run < 3; ++run) {
    restart();
    look();
  }
  find_again(listener_);
  circuit.to_server(proof(100) + repeat(write(100), 29));
  EXPECT_EQ(puts_of_anna("A"), 29u);
  restart();
  now_ += ChannelsKeeper::kPatience;
  find_again(listener_);
  circuit.to_server(proof(100) + repeat(write(100), 31));
  give_up_on_seed();
  EXPECT_EQ(puts_of(kAgain, ""), 31u) << "too late: channels may have been closed unseen";
}

TEST_P(CaTapKeptTest, MemoryAndAnotherBootOfTheHostAreBelievedMore) {
  Circuit circuit(listener_);
  circuit.open("anna", "h1", {"A"});
  EXPECT_EQ(all_puts(), 0u);
  restart();
  telling_ = {kAgain};
  find_again(listener_);
  EXPECT_EQ(entries("ca_channels"), 0u) << "its memory tells";
  telling_ = {kIoc};
  watch(listener_);
  Circuit told(listener_);
  told.open("ben", "h2", {"B"});
  EXPECT_EQ(all_puts(), 0u);
  restart();
  EXPECT_TRUE(on_disk().circuits.empty());
  telling_ = {};
  watch(listener_);
  Circuit third(listener_);
  third.open("cleo", "h3", {"C"});
  EXPECT_EQ(all_puts(), 0u);
  restart();
  EXPECT_EQ(on_disk().circuits.size(), 1u);
  boot_ = "the next boot";
  restart_killed();
  find_again(listener_);
  EXPECT_EQ(entries("ca_channels"), 0u) << "cookies begin anew";
}

// Files may grow no more, as on a disk that is full.
TEST_P(CaTapKeptTest, AFullDiskIsToldAndTriedAgain) {
  Circuit circuit(listener_);
  circuit.open("anna", "h1", {"A"});
  EXPECT_EQ(all_puts(), 0u);
  now_ += ChannelsKeeper::kPause;
  {
    const FullDisk full;
    while (keeper_->problem().empty()) look();
  }
  EXPECT_EQ(keeper_->sample().write, 1u);
  now_ += ChannelsKeeper::kPause;
  while (!keeper_->problem().empty()) look();
  EXPECT_EQ(on_disk().circuits.size(), 1u);
}

IOCX_WITH_CHOSEN_LOCK(CaTapKeptTest);

}  // namespace

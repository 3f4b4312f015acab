// Circuits that were open before the tap, told to it as if from the IOC's memory.

#include <atomic>
#include <thread>

#include "bpf/ca_tap_fixture.h"
#include "support/value_of.h"

namespace {

using namespace ioc_exporter;
using namespace ioc_exporter::testing;
using ca::CaSeed;
using ca::CaSeedChannel;
using ca::CaSeedCircuit;
using ca::CaSeedResult;
using ca::CaTap;

class CaTapSeedTest : public CaTapTest {
 protected:
  // A circuit whose channels SID 100, 101, ... are open when its port begins to be watched.
  std::unique_ptr<Circuit> open_before(const std::vector<std::string>& names) {
    auto circuit = std::make_unique<Circuit>(earlier_);
    circuit->open("operator", "console-1", names);
    return circuit;
  }
  CaSeedCircuit memory_of(const Circuit& circuit, const std::vector<std::string>& names) {
    CaSeedCircuit memory;
    memory.key.client = memory.key.server = iocx_ca_address{{127, 0, 0, 1}};
    memory.key.client_port = circuit.client_port();
    memory.key.server_port = earlier_.port();
    memory.user = "operator";
    memory.host = "console-1";
    for (std::uint32_t i = 0; i < names.size(); ++i)
      memory.channels.push_back({i, 100 + i, names[i], 0, IOCX_CA_ACCESS_READ_WRITE});
    return memory;
  }
  CaSeedResult seed(const std::vector<CaSeedCircuit>& circuits) {
    return value_of(tap_->seed({kIoc, circuits}));
  }
  // Puts under exactly these labels.
  std::uint64_t named_puts(const std::string& pv) {
    const ca::CaPutLabels wanted{kIoc, pv, "127.0.0.1", "operator", "console-1"};
    std::uint64_t sum = 0;
    for (const auto& one : collect().puts)
      if (one.labels == wanted) sum += one.count;
    return sum;
  }

  Listener earlier_;
};

TEST_P(CaTapSeedTest, QuietCircuitsAreAdded) {
  auto circuit = open_before({"A", "B"});
  watch(earlier_);
  const auto result = seed({memory_of(*circuit, {"A", "B"})});
  EXPECT_EQ(result.circuits_added, 1u);
  EXPECT_EQ(result.channels_added, 2u);
  circuit->to_server(proof(100) + repeat(write(100), 23) + repeat(write_notify(101), 29));
  EXPECT_EQ(named_puts("A"), 23u);
  EXPECT_EQ(named_puts("B"), 29u);
  EXPECT_EQ(all_puts(), 52u);
  EXPECT_EQ(drop("joined_late"), 0u);
  EXPECT_EQ(drop("unnamed_put"), 0u);
}

TEST_P(CaTapSeedTest, PutsBetweenStartAndSeedAreAttributed) {
  auto circuit = open_before({"A", "B"});
  watch(earlier_);
  circuit->to_server(proof(100) + repeat(write(100), 23));
  circuit->to_server(repeat(write_notify(100), 2));
  EXPECT_EQ(all_puts(), 0u);  // held back
  ASSERT_TRUE(tap_->reap());
  EXPECT_EQ(tap_->channels().unnamed(), (std::map<std::uint32_t, std::uint64_t>{{kIoc, 1}}));
  const auto result = seed({memory_of(*circuit, {"A", "B"})});
  EXPECT_EQ(result.circuits_completed, 1u);
  EXPECT_EQ(result.channels_named, 1u);
  EXPECT_EQ(result.channels_added, 1u);
  ASSERT_TRUE(tap_->reap());
  EXPECT_TRUE(tap_->channels().unnamed().empty());
  circuit->to_server(repeat(write(100), 29) + repeat(write(101), 31));
  EXPECT_EQ(named_puts("A"), 54u);
  EXPECT_EQ(named_puts("B"), 31u);
  give_up_on_seed();
  EXPECT_EQ(all_puts(), 85u);
}

TEST_P(CaTapSeedTest, ChannelsSeededTooLateHaveNoName) {
  auto circuit = open_before({"A"});
  watch(earlier_);
  circuit->to_server(proof(100) + repeat(write(100), 23));
  give_up_on_seed();
  EXPECT_EQ(puts(""), 23u);
  ASSERT_TRUE(tap_->reap());
  EXPECT_EQ(tap_->channels().unnamed(), (std::map<std::uint32_t, std::uint64_t>{{kIoc, 1}}));
  seed({memory_of(*circuit, {"A"})});
  circuit->to_server(repeat(write(100), 29));
  EXPECT_EQ(puts(""), 23u);  // counters never shrink
  EXPECT_EQ(named_puts("A"), 29u);
}

TEST_P(CaTapSeedTest, ChannelsClearedMeanwhileStayCleared) {
  auto circuit = open_before({"A", "B"});
  watch(earlier_);
  circuit->to_server(proof(100) + clear(100, 0) + write(101));
  const auto result = seed({memory_of(*circuit, {"A", "B"})});
  EXPECT_EQ(result.channels_ended, 1u);
  EXPECT_EQ(result.channels_named, 1u);
  circuit->to_server(write(100));
  EXPECT_EQ(named_puts("A"), 0u);
  EXPECT_EQ(puts(""), 1u);
  EXPECT_EQ(named_puts("B"), 1u);
}

TEST_P(CaTapSeedTest, PutsBeforeAClearGetTheirName) {
  auto circuit = open_before({"A", "B"});
  watch(earlier_);
  circuit->to_server(proof(100) + repeat(write(100), 23) + clear(100, 0) + repeat(write(101), 29));
  circuit->to_server(clear(101, 1));
  ASSERT_TRUE(tap_->reap());
  const auto result = seed({memory_of(*circuit, {"A", "B"})});
  EXPECT_EQ(result.channels_ended, 2u);
  EXPECT_EQ(named_puts("A"), 23u);
  EXPECT_EQ(named_puts("B"), 29u);
  reap_all();
  EXPECT_EQ(all_puts(), 52u);
  EXPECT_EQ(entries("ca_channels"), 0u);
}

TEST_P(CaTapSeedTest, NewChannelThatTakesTheSidKeepsItsName) {
  auto circuit = open_before({"A"});
  watch(earlier_);
  circuit->to_server(proof(100) + repeat(write(100), 23) + clear(100, 0) + create(0, "NEW"));
  circuit->to_client(created(0, 100));
  circuit->to_server(repeat(write(100), 29));
  // The tables were read before the change.
  const auto result = seed({memory_of(*circuit, {"A"})});
  EXPECT_EQ(result.channels_known, 1u);
  EXPECT_EQ(named_puts("NEW"), 29u);
  circuit->to_server(clear(100, 0));
  EXPECT_EQ(seed({memory_of(*circuit, {"A"})}).channels_ended, 1u);
  circuit->to_server(write(100));
  give_up_on_seed();
  EXPECT_EQ(named_puts("NEW"), 29u);
  EXPECT_EQ(named_puts("A"), 0u);
  EXPECT_EQ(all_puts(), 53u);  // 23 of the channel that was there first: whose, is not known
}

TEST_P(CaTapSeedTest, SeedingAgainChangesNothing) {
  auto circuit = open_before({"A", "B"});
  watch(earlier_);
  circuit->to_server(proof(100) + repeat(write(100), 23));
  seed({memory_of(*circuit, {"A", "B"})});
  circuit->to_server(repeat(write(101), 29));
  const auto result = seed({memory_of(*circuit, {"A", "B", "C"})});
  EXPECT_EQ(result.circuits_completed, 1u);
  EXPECT_EQ(result.channels_known, 2u);
  EXPECT_EQ(result.channels_added, 1u);
  circuit->to_server(write(100) + write(101) + write(102));
  EXPECT_EQ(named_puts("A"), 24u);
  EXPECT_EQ(named_puts("B"), 30u);
  EXPECT_EQ(named_puts("C"), 1u);
  EXPECT_EQ(entries("ca_channels"), 3u);
}

TEST_P(CaTapSeedTest, CircuitsThatTheTapFollowsArePassedOver) {
  watch(earlier_);
  auto circuit = open_before({"A"});
  EXPECT_EQ(seed({memory_of(*circuit, {"OTHER", "B"})}).circuits_followed, 1u);
  circuit->to_server(write(100));
  EXPECT_EQ(named_puts("A"), 1u);
  const auto memory = memory_of(*circuit, {"A"});
  circuit->abort();
  EXPECT_EQ(seed({memory}).circuits_ended, 1u);
  EXPECT_EQ(entries("ca_channels"), 1u);
}

// Channels that are made after the tap has joined: the kernel has their names, not their client's.
TEST_P(CaTapSeedTest, ClientsOfJoinedCircuitsAreTold) {
  auto circuit = open_before({"A"});
  watch(earlier_);
  circuit->to_server(proof(100) + write(100));
  circuit->to_server(create(1, "EARLY"));
  circuit->to_client(created(1, 101));
  circuit->to_server(repeat(write(101), 23));
  EXPECT_EQ(all_puts(), 0u);
  seed({memory_of(*circuit, {"A", "EARLY"})});
  EXPECT_EQ(named_puts("EARLY"), 23u);
  circuit->to_server(create(2, "LATE"));
  circuit->to_client(created(2, 102));
  circuit->to_server(repeat(write(102), 29));
  EXPECT_EQ(named_puts("LATE"), 29u);
  ASSERT_TRUE(tap_->reap());
  EXPECT_EQ(named_puts("EARLY"), 23u);
}

TEST_P(CaTapSeedTest, SeededChannelsEndLikeOthers) {
  auto circuit = open_before({"A", "B", "C"});
  watch(earlier_);
  seed({memory_of(*circuit, {"A", "B", "C"})});
  circuit->to_server(proof(100) + repeat(write(100), 23) + clear(100, 0));
  circuit->to_server(write(101));
  circuit->to_client(message(9, 0, 0, 0, 0));  // the boundaries of this direction
  circuit->to_client(server_disconnect(1));
  reap_all();
  EXPECT_EQ(entries("ca_channels"), 1u);
  circuit->to_server(create(0, "NEW"));
  circuit->to_client(created(0, 100));
  circuit->to_server(repeat(write(100), 29));
  EXPECT_EQ(named_puts("A"), 23u);
  EXPECT_EQ(named_puts("NEW"), 29u);
  circuit->abort();
  reap_all();
  EXPECT_EQ(entries("ca_channels"), 0u);
  EXPECT_EQ(entries("ca_circuits"), 0u);
  EXPECT_EQ(named_puts("B"), 1u);
}

TEST_P(CaTapSeedTest, FullTablesAreSaid) {
  ca::CaTapSizes sizes;
  sizes.max_channels = 8;  // of which a circuit gets half
  sizes.max_circuits = 1;
  start(sizes);
  auto circuit = open_before({"A", "B", "C", "D", "E"});
  auto other = open_before({"A"});
  watch(earlier_);
  const auto result =
      seed({memory_of(*circuit, {"A", "B", "C", "D", "E"}), memory_of(*other, {"A"})});
  EXPECT_EQ(result.circuits_added, 1u);
  EXPECT_EQ(result.circuits_no_room, 1u);
  EXPECT_EQ(result.channels_added, 4u);
  EXPECT_EQ(result.channels_no_room, 1u);
  circuit->to_server(proof(100) + write(103));
  EXPECT_EQ(named_puts("D"), 1u);
}

TEST_P(CaTapSeedTest, MarksOfClosedChannelsGoWithTheirCircuit) {
  ca::CaTapSizes sizes;
  sizes.max_channels = 8;  // and of SIDs that are remembered; a circuit gets half
  start(sizes);
  auto circuit = open_before({"A", "B", "C", "D"});
  watch(earlier_);
  circuit->to_server(proof(100) + clear(100, 0) + clear(101, 1) + clear(102, 2) + clear(103, 3));
  EXPECT_EQ(seed({memory_of(*circuit, {"A", "B", "C", "D"})}).channels_ended, 4u);
  circuit->abort();
  reap_all();
  auto next = open_before({"E", "F", "G", "H"});
  next->to_server(write(100) + write(103));
  EXPECT_EQ(named_puts("E") + named_puts("H"), 2u);
  EXPECT_EQ(drop("channels_full"), 0u);
}

// Puts on all channels while they get their names.
TEST_P(CaTapSeedTest, NoPutIsLostMeanwhile) {
  constexpr std::uint32_t kChannels = 97;
  constexpr std::uint64_t kRounds = 211;
  std::vector<std::string> names;
  Bytes round;
  for (std::uint32_t i = 0; i < kChannels; ++i) {
    names.push_back("PV:" + std::to_string(i));
    round = round + write(100 + i);
  }
  auto circuit = open_before(names);
  watch(earlier_);
  const auto memory = memory_of(*circuit, names);
  circuit->to_server(proof(100));
  std::atomic<std::uint64_t> rounds{0};
  std::thread client([&] {
    for (; rounds < kRounds; ++rounds) circuit->to_server_in_pieces(round, 1000);
  });
  while (rounds < 3) std::this_thread::yield();
  const auto result = seed({memory});
  EXPECT_EQ(result.channels_named + result.channels_known, kChannels);
  seed({memory});
  client.join();
  for (const auto& name : names) EXPECT_EQ(named_puts(name), kRounds) << name;
  EXPECT_EQ(all_puts(), kChannels * kRounds);
}

IOCX_WITH_CHOSEN_LOCK(CaTapSeedTest);

}  // namespace

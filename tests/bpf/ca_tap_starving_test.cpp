// One client takes all that it can get of a table; the puts of the others keep their counts and
// their names.

#include <unistd.h>

#include <memory>

#include "bpf/ca_tap_fixture.h"
#include "bpf/raw_circuit.h"

namespace {

using namespace ioc_exporter;
using namespace ioc_exporter::testing;
using puts::Tap;

constexpr auto kForth = RawCircuit::to_server;
constexpr auto kBack = RawCircuit::to_client;
constexpr std::uint32_t kOtherClient = 0x0A640001;

// In a network namespace of its own, for the raw circuits, whose clients are not on loopback.
class CaTapStarvingTest : public CaTapTest {
 protected:
  void SetUp() override {
    if (::geteuid() == 0 && !namespace_.emplace().why_not().empty())
      GTEST_SKIP() << namespace_->why_not();
    local_.emplace();
    CaTapTest::SetUp();
    if (tap_) watch(*local_);
    if (::geteuid() == 0) sender_.emplace(local_->port());
  }
  void TearDown() override {
    tap_.reset();
    sender_.reset();
    local_.reset();
    namespace_.reset();
  }
  void start_with(const puts::TapSizes& sizes) {
    start(sizes);
    if (tap_) watch(*local_);
  }
  RawCircuit raw(std::uint32_t port, std::uint32_t client = RawCircuit::kClient) const {
    return RawCircuit(local_->port(), static_cast<std::uint16_t>(port), {1000, 2000}, client,
                      &*sender_);
  }
  // VERSION and who it is.
  static Bytes hello() { return version() + host_name("h") + client_name("greedy"); }
  static Bytes creates(std::uint32_t first, std::uint32_t count) {
    Bytes all;
    for (std::uint32_t i = first; i < first + count; ++i)
      all = all + create(i, "G" + std::to_string(i));
    return all;
  }
  static Bytes answers(std::uint32_t first, std::uint32_t count) {
    Bytes all;
    for (std::uint32_t i = first; i < first + count; ++i) all = all + created(i, 1000 + i);
    return all;
  }
  // Opens that many channels, SID = CID + 1000.
  static void take_channels(Circuit& circuit, std::uint32_t count) {
    circuit.to_server(hello());
    circuit.to_client(version());
    for (std::uint32_t i = 0; i < count; i += 200) {
      circuit.to_server(creates(i, 200));
      circuit.to_client(answers(i, 200));
    }
  }
  void expect_exact(const std::string& user) {
    Circuit circuit(*local_);
    expect_exact(circuit, user);
  }
  void expect_exact(Circuit& circuit, const std::string& user) {
    std::vector<std::string> names;
    for (int i = 0; i < kChannels; ++i) names.push_back(user + std::to_string(i));
    circuit.open(user, "h", names);
    Bytes round;
    for (int i = 0; i < kChannels; ++i) {
      const auto at = static_cast<std::uint32_t>(i);
      circuit.to_server(write(100 + at) + write_notify(100 + at, 500 + at) + write(100 + at));
      round = round + written(500 + at, i == 3 ? 160u : 1u);
    }
    circuit.to_client(round);
    const auto reading = collect();
    std::uint64_t named = 0, durations = 0, failures = 0;
    for (const auto& one : reading.puts)
      if (one.labels.user == user && !one.labels.pv.empty()) named += one.count;
    for (const auto& one : reading.durations)
      if (one.pv.starts_with(user))
        for (const std::uint64_t bucket : one.buckets) durations += bucket;
    for (const auto& one : reading.failures) failures += one.labels.user == user ? one.count : 0;
    EXPECT_EQ(named, 3u * kChannels);
    EXPECT_EQ(durations, std::uint64_t{kChannels});
    EXPECT_EQ(failures, 1u);
  }

  static constexpr int kChannels = 50;
  std::optional<OwnNamespace> namespace_;
  std::optional<Listener> local_;
  std::optional<RawCircuit> sender_;
};

TEST_F(CaTapStarvingTest, ChannelsOfOneCircuit) {
  Circuit greedy(*local_);
  take_channels(greedy, 5000);  // the table has 4,096
  expect_exact("second");
  EXPECT_GE(drop(IOCX_CA_DROP_CHANNELS_FULL), 900u);
  // It keeps what it has got, and the rest counts without a name.
  greedy.to_server(write(1000) + write(5999));
  EXPECT_EQ(puts("G0"), 1u);
  EXPECT_EQ(puts(""), 1u);
  EXPECT_EQ(drop(IOCX_CA_DROP_LOST_PUT), 0u);
}

TEST_F(CaTapStarvingTest, ChannelsOfOneAddress) {
  std::vector<std::unique_ptr<RawCircuit>> greedy;
  for (std::uint16_t i = 0; i < 30; ++i) {
    RawCircuit& one = *greedy.emplace_back(std::make_unique<RawCircuit>(raw(41000u + i)));
    one.begin();
    const Bytes request = hello() + creates(0, 300), answer = version() + answers(0, 300);
    one.segment(kForth, 0, request);
    one.segment(kBack, 0, answer);
  }
  expect_exact("second");
}

TEST_F(CaTapStarvingTest, ChannelsThatWereClosed) {
  Circuit greedy(*local_);
  greedy.to_server(hello());
  greedy.to_client(version());
  for (std::uint32_t i = 0; i < 6000; i += 200) {
    Bytes clears;
    for (std::uint32_t k = i; k < i + 200; ++k) clears = clears + clear(1000 + k, k);
    greedy.to_server(creates(i, 200));
    greedy.to_client(answers(i, 200));
    greedy.to_server(clears);
  }
  expect_exact("second");
}

TEST_F(CaTapStarvingTest, RequestsWithoutAnAnswer) {
  Circuit greedy(*local_);
  greedy.to_server(hello());
  greedy.to_client(version());
  for (std::uint32_t i = 0; i < 20000; i += 500) greedy.to_server(creates(i, 500));
  expect_exact("second");
  greedy.abort();
  reap_all();
  Circuit again(*local_);  // held places are free again
  take_channels(again, 2000);
  again.to_server(write(2999));
  EXPECT_EQ(puts("G1999"), 1u);
}

TEST_F(CaTapStarvingTest, SidsThatNobodyCreated) {
  Circuit greedy(*local_);
  greedy.open("greedy", "h", {"G"});
  Bytes writes;
  for (std::uint32_t sid = 1; sid <= 5000; ++sid) writes = writes + write(7000 + sid);
  greedy.to_server(writes);
  EXPECT_EQ(puts("", PutOp::write, "greedy"), 5000u);
  EXPECT_LE(entries("ca_channels"), 2u + IOCX_CA_STRANGE_PER_CIRCUIT);
  expect_exact("second");
}

TEST_F(CaTapStarvingTest, ConnectionsThatAreHalfOpen) {
  puts::TapSizes sizes;
  sizes.max_circuits = 1024;
  start_with(sizes);
  for (std::uint32_t i = 0; i < 5000; ++i) raw(20000 + i, kOtherClient + i % 250).begin();
  ASSERT_TRUE(tap_->reap());
  EXPECT_EQ(entries("ca_circuits"), 0u);
  expect_exact("second");
  EXPECT_EQ(drop(IOCX_CA_DROP_CIRCUITS_FULL), 0u);
  EXPECT_EQ(drop(IOCX_CA_DROP_LATE), 0u);
}

// The numbers of whoever has not seen the SYN+ACK are guesses.
TEST_F(CaTapStarvingTest, DataForAConnectionThatIsHalfOpen) {
  RawCircuit circuit = raw(40001);
  circuit.begin();
  ASSERT_TRUE(tap_->reap());
  EXPECT_EQ(entries("ca_circuits"), 0u);
  circuit.segment(kBack, 0, version());
  const Bytes request = hello() + create(0, "A");
  circuit.segment(kForth, 0, request);
  circuit.segment(kBack, version().size(), created(0, 100));
  circuit.segment(kForth, request.size(), repeat(write(100), 23));
  EXPECT_EQ(puts("A", PutOp::write, "greedy"), 23u);
  expect_nothing_lost();
}

TEST_F(CaTapStarvingTest, ConnectionsOfOneAddress) {
  puts::TapSizes sizes;
  sizes.max_circuits = 1024;
  start_with(sizes);
  for (std::uint16_t i = 0; i < 1500; ++i) {
    RawCircuit one = raw(20000u + i);
    one.begin();
    one.segment(kForth, 0, hello());
  }
  expect_exact("second");
  EXPECT_EQ(drop(IOCX_CA_DROP_CIRCUITS_FULL), 1500u - 512u);
  RawCircuit third = raw(40001, kOtherClient);
  third.begin();
  const Bytes request = hello() + create(0, "A");
  third.segment(kForth, 0, request);
  third.segment(kBack, 0, version() + created(0, 100));
  third.segment(kForth, request.size(), repeat(write(100), 23));
  EXPECT_EQ(puts("A"), 23u);
}

TEST_F(CaTapStarvingTest, PutsThatWaitForTheirAnswers) {
  puts::TapSizes sizes;
  sizes.max_pending = sizes.max_outcomes = sizes.max_failures = 1024;
  start_with(sizes);
  Circuit greedy(*local_);
  take_channels(greedy, 1600);
  Bytes asked, answered;
  for (std::uint32_t i = 0; i < 1600; ++i) asked = asked + write_notify(1000 + i, i);
  for (std::uint32_t i = 0; i < 1600; ++i) answered = answered + written(i, 160);
  greedy.to_server(asked);
  expect_exact("second");
  greedy.to_client(answered);
  greedy.to_server(asked);
  greedy.to_client(answered);
  expect_exact("third");
  EXPECT_EQ(puts("G999", PutOp::write_notify), 2u);
  greedy.abort();
  reap_all();
  EXPECT_EQ(entries("ca_pending"), 0u);
  EXPECT_EQ(entries("ca_outcomes"), 0u);
  EXPECT_EQ(entries("ca_failures"), 0u);
}

TEST_F(CaTapStarvingTest, BytesBeforeTheirTurn) {
  puts::TapSizes sizes;
  sizes.max_pages = 16;
  start_with(sizes);
  const auto open = [&](RawCircuit& circuit, const std::string& pv) {
    const Bytes request = hello() + create(0, pv);
    circuit.begin();
    circuit.segment(kForth, 0, request);
    circuit.segment(kBack, 0, version() + created(0, 100));
    return request.size();
  };
  RawCircuit greedy = raw(40001), other = raw(40001, kOtherClient);
  const std::size_t begins = open(greedy, "G");
  for (std::size_t i = 1; i < 40; ++i)
    greedy.lone_segment(kForth, begins + i * IOCX_CA_PAGE, repeat(write(100), 10));
  EXPECT_GE(drop(IOCX_CA_DROP_WINDOWS_FULL), 20u);
  const std::size_t at = open(other, "A");
  other.segment(kForth, at + 240, repeat(write(100), 10));
  other.segment(kForth, at, repeat(write(100), 10));
  EXPECT_EQ(puts("A"), 20u);
  EXPECT_EQ(drop(IOCX_CA_DROP_GAP), 0u);
}

// Whoever is on this host can send beacons for servers that are not there.
TEST_F(CaTapStarvingTest, ServersThatWereLearned) {
  puts::TapSizes sizes;
  sizes.max_servers = 16;
  start_blind(sizes);
  auto servers =
      kernel::MapView<iocx_ca_server, std::uint32_t>::from_fd(tap_->object().shared_maps().servers);
  auto ports =
      kernel::MapView<std::uint32_t, std::uint32_t>::from_fd(tap_->object().shared_maps().ports);
  ASSERT_TRUE(servers && ports);
  for (std::uint16_t i = 0; i < 16; ++i) {
    iocx_ca_server server{};
    server.port = static_cast<std::uint16_t>(20000 + i);
    ASSERT_TRUE(servers->update(server, IOCX_CA_IOC_TO_COME));
    ASSERT_TRUE(ports->update(server.port, 1));
  }
  watch(*local_);
  EXPECT_EQ(entries("ca_servers"), 1u);
  expect_exact("second");
}

// While a connection waits for acknowledgements, all of them are looked at.
TEST_F(CaTapStarvingTest, NobodyWaitsForAcknowledgementsOfAGoneConnection) {
  puts::TapSizes sizes;
  sizes.max_pages = 1;
  start_with(sizes);
  RawCircuit stored = raw(40001), behind = raw(40002);
  const std::size_t from = 3 * hello().size();
  for (RawCircuit* circuit : {&stored, &behind}) {
    circuit->begin();
    circuit->segment(kForth, 0, hello());
    circuit->segment(kBack, 0, version());
  }
  stored.lone_segment(kForth, from, write(100));
  behind.lone_segment(kForth, from, write(100));
  EXPECT_EQ(tap_->object().waiting(), 2u);
  reap_all();
  reap_all();
  EXPECT_EQ(entries("ca_circuits"), 0u);
  EXPECT_EQ(entries("ca_pages"), 0u);
  EXPECT_EQ(tap_->object().waiting(), 0u);
}

}  // namespace

// Circuits of servers that tell of their puts: their messages are counted by kind, nothing else of
// them is kept.
#include <bpf/bpf.h>
#include <fcntl.h>

#include "base/wall_clock.h"
#include "bpf/ca_tap_fixture.h"

namespace {

using namespace ioc_exporter;
using namespace ioc_exporter::testing;
using ca::CaTap;

class CaTapToldTest : public CaTapTest {
 protected:
  void tell(CaTap::Clock::time_point seen = CaTap::Clock::now()) {
    auto ok = tap_->set_told({{kIoc, listener_.port()}}, seen);
    ASSERT_TRUE(ok) << ok.error().message();
  }
  // All that was sent so far was served.
  void look_twice() {
    collect();
    for (int i = 0; i < 2; ++i) tap_->sources().look();
  }
  void let_server_count() {
    look_twice();
    auto ok = tap_->begin_source_switch();
    ASSERT_TRUE(ok) << ok.error().message();
    tap_->sources().set_port(kIoc, listener_.port());
    ok = tap_->let_server_count(kIoc, true);
    ASSERT_TRUE(ok) << ok.error().message();
    tell();
  }
  void leave_server() {
    look_twice();
    auto ok = tap_->begin_source_switch();
    ASSERT_TRUE(ok) << ok.error().message();
    ok = tap_->leave_server(kIoc);
    ASSERT_TRUE(ok) << ok.error().message();
    ok = tap_->end_source_switch();
    ASSERT_TRUE(ok) << ok.error().message();
  }
  ca::CaServerCount server() {
    const auto reading = collect();
    EXPECT_EQ(reading.servers.size(), 1u);
    return reading.servers.empty() ? ca::CaServerCount{} : reading.servers.front();
  }
  std::pair<std::uint64_t, std::uint64_t> bounds() {
    const auto switched = tap_->sources().switched();
    const auto found = switched.find(kIoc);
    if (found == switched.end()) return {0, 0};
    return {found->second.missing, found->second.twice};
  }
};
using Bounds = std::pair<std::uint64_t, std::uint64_t>;

const Bytes kGet = message(15, 6, 1, 100, 7), kEcho = message(23, 0, 0, 0, 0);

TEST_P(CaTapToldTest, MessagesAreCountedByKindAndNothingElseIsKept) {
  Circuit circuit(listener_);
  circuit.open("operator", "console-1", {"A", "B"});
  circuit.to_server(repeat(write(100), 23));
  EXPECT_EQ(puts("A"), 23u);
  let_server_count();
  circuit.to_server_in_pieces(
      repeat(write(100) + write_notify(101) + kGet + kEcho + create(9, "C") + write(4711), 19), 7);
  circuit.to_client(repeat(update(1) + created(9, 300) + written(1, 0), 17) + server_disconnect(1));
  reap_all();
  EXPECT_EQ(entries("ca_channels"), 0u);
  EXPECT_EQ(entries("ca_pending"), 0u);
  EXPECT_EQ(all_puts(), 23u);
  const auto counted = server();
  EXPECT_EQ(counted.gets, 19u);
  EXPECT_EQ(counted.echoes, 19u);
  EXPECT_EQ(counted.monitor_updates, 17u);
  EXPECT_EQ(counted.server_disconnects, 1u);
  EXPECT_FALSE(counted.open_known);
  EXPECT_TRUE(collect().clients.empty());
  EXPECT_EQ(bounds(), Bounds(0, 0));
}

TEST_P(CaTapToldTest, PutsSentAfterTheServerWasLeftHaveNoName) {
  Circuit circuit(listener_);
  circuit.open("operator", "console-1", {"A"});
  let_server_count();
  circuit.to_server(repeat(write(100), 23));
  reap_all();
  EXPECT_EQ(all_puts(), 0u);
  leave_server();
  EXPECT_EQ(bounds(), Bounds(0, 0));
  circuit.to_server_in_pieces(repeat(write(100), 19) + repeat(write_notify(100), 17), 5);
  EXPECT_EQ(puts(""), 19u);
  EXPECT_EQ(puts("", PutOp::write_notify), 17u);
  // A channel that is opened now has its name.
  circuit.to_server(create(9, "C"));
  circuit.to_client(created(9, 300));
  circuit.to_server(repeat(write(300), 13));
  EXPECT_EQ(puts("C"), 13u);
  EXPECT_EQ(bounds(), Bounds(0, 0));
  let_server_count();
  circuit.to_server(repeat(write(300), 11));
  reap_all();
  EXPECT_EQ(all_puts(), 49u);
  EXPECT_EQ(entries("ca_channels"), 0u);
  EXPECT_EQ(drop("joined_late"), 0u);
}

TEST_P(CaTapToldTest, PutsThatNobodyTellsOfAreMissing) {
  Circuit circuit(listener_);
  circuit.open("operator", "console-1", {"A"});
  let_server_count();
  circuit.to_server(repeat(write(100), 23));
  collect();
  // The programs were not told yet that the server is left.
  tap_->sources().leave_server(kIoc);
  circuit.to_server(repeat(write(100), 19));
  EXPECT_EQ(all_puts(), 0u);
  EXPECT_EQ(bounds(), Bounds(19, 0));
}

TEST_P(CaTapToldTest, AConnectionThatIsYoungerThanTheLookAtItsServerIsFollowed) {
  const auto before = CaTap::Clock::now();
  Circuit circuit(listener_);
  circuit.open("operator", "console-1", {"A"});
  tell(before);
  circuit.to_server(repeat(write(100), 23));
  EXPECT_EQ(puts("A"), 23u) << "another process may have that port now";
  tell();
  circuit.to_server(repeat(write(100), 19));
  EXPECT_EQ(puts("A"), 23u);
}

// Another process may have been given the port since: its puts are no server's that is probed.
class CaTapEndedTest : public CaTapToldTest {
 protected:
  void SetUp() override {
    CaTapToldTest::SetUp();
    if (!tap_) return;
    let_server_count();
    seen_ = clock_ns(CLOCK_MONOTONIC);
    tap_->sources().saw_processes(seen_);
    circuit_.emplace(listener_);
    circuit_->open("operator", "console-1", {"A"});
    circuit_->to_server(repeat(write(100), 23));
    circuit_->to_server(write_notify(100, 5));
    circuit_->to_client(written(5, 1));
    reap_all();
    EXPECT_EQ(all_puts(), 0u);
  }
  void end(std::uint64_t when) {
    tap_->sources().process_ended(kIoc, when);
    leave_server();
  }
  std::size_t durations() { return collect().durations.size(); }

  std::uint64_t seen_ = 0;
  std::optional<Circuit> circuit_;
};

TEST_P(CaTapEndedTest, CircuitsThatBeganLaterAreThePackets) {
  end(seen_);
  EXPECT_EQ(puts("A"), 23u);
  EXPECT_EQ(all_puts(), 24u);
  EXPECT_EQ(durations(), 1u);
  circuit_->to_server(repeat(write(100), 19));
  EXPECT_EQ(puts("A"), 42u);
  EXPECT_EQ(bounds(), Bounds(0, 0));
}

TEST_P(CaTapEndedTest, ItsOwnCircuitsAreTheServers) {
  end(clock_ns(CLOCK_MONOTONIC));
  EXPECT_EQ(all_puts(), 0u);
  EXPECT_EQ(durations(), 0u);
  EXPECT_EQ(bounds(), Bounds(0, 0));
}

TEST_P(CaTapEndedTest, WithoutTheTimeOfItsEndTheyAreMissing) {
  end(0);
  EXPECT_EQ(all_puts(), 0u);
  EXPECT_EQ(durations(), 0u);
  EXPECT_EQ(bounds(), Bounds(24, 0));
}

TEST_P(CaTapEndedTest, WhileItRunsTheyAreTheServers) {
  tap_->sources().saw_processes(clock_ns(CLOCK_MONOTONIC));
  EXPECT_EQ(all_puts(), 0u);
  end(seen_);
  EXPECT_EQ(all_puts(), 0u);
  EXPECT_EQ(bounds(), Bounds(0, 0));
}

TEST_P(CaTapEndedTest, PutsOfAFreedSlotAreMissing) {
  circuit_.reset();
  reap_all();
  EXPECT_EQ(bounds(), Bounds(24, 0));
  EXPECT_EQ(entries("ca_channels"), 0u);
}

IOCX_WITH_CHOSEN_LOCK(CaTapEndedTest);

TEST_P(CaTapToldTest, AnotherServerAtTheSamePortIsCountedByItsPackets) {
  auto ok = tap_->set_told({{kIoc + 1, listener_.port()}}, CaTap::Clock::now());
  ASSERT_TRUE(ok) << ok.error().message();
  Circuit circuit(listener_);
  circuit.open("operator", "console-1", {"A"});
  ok = tap_->set_told({{kIoc + 1, listener_.port()}}, CaTap::Clock::now());
  ASSERT_TRUE(ok) << ok.error().message();
  circuit.to_server(repeat(write(100), 23));
  EXPECT_EQ(puts("A"), 23u);
}

IOCX_WITH_BOTH_LOCKS(CaTapToldTest);

// A map of this process; -1: it has none.
int map_named(const std::string& name) {
  for (int fd = 0; fd < 1024; ++fd) {
    bpf_map_info info{};
    __u32 size = sizeof info;
    if (::fcntl(fd, F_GETFD) >= 0 && bpf_obj_get_info_by_fd(fd, &info, &size) == 0 &&
        info.name == name && info.value_size != 0)
      return fd;
  }
  return -1;
}

class CaTapInsertTest : public CaTapToldTest {
 protected:
  iocx_ca_flow flow() {
    iocx_ca_flow_key key{};
    iocx_ca_flow flow{};
    const int map = map_named("ca_flows");
    EXPECT_EQ(bpf_map_get_next_key(map, nullptr, &key), 0);
    EXPECT_EQ(bpf_map_lookup_elem(map, &key, &flow), 0);
    return flow;
  }
  // Sends it while another CPU holds the lock of the direction to the server.
  void to_server_locked(Circuit& circuit, std::uint32_t lock, const Bytes& bytes) {
    const int locks = map_named("ca_locks");
    const iocx_ca_channel_key key{lock, IOCX_CA_TO_SERVER, 0};
    const std::uint32_t held = 1;
    ASSERT_EQ(bpf_map_update_elem(locks, &key, &held, BPF_NOEXIST), 0);
    circuit.to_server(bytes);
    ASSERT_EQ(bpf_map_delete_elem(locks, &key), 0);
  }
};

// Else two CPUs would read one stream at the same time.
TEST_P(CaTapInsertTest, TheLockOfAConnectionStaysWhenItsCircuitGetsAnotherId) {
  Circuit circuit(listener_);
  circuit.open("operator", "console-1", {"A"});
  const iocx_ca_flow before = flow();
  let_server_count();
  circuit.to_server(write(100));
  const iocx_ca_flow after = flow();
  EXPECT_NE(after.circuit, before.circuit);
  EXPECT_EQ(drop("lock_timeout"), 0u);
  to_server_locked(circuit, before.lock, write(100));
  EXPECT_EQ(drop("lock_timeout"), 1u);
}

INSTANTIATE_TEST_SUITE_P(Locks, CaTapInsertTest, ::testing::Values(ca::CaTapLock::map_insert),
                         lock_name);

}  // namespace

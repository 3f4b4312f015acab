// Circuits of servers that are probed: their messages are counted by kind, channels and puts are
// not kept.
#include <bpf/bpf.h>
#include <fcntl.h>

#include "base/wall_clock.h"
#include "bpf/ca_tap_fixture.h"
#include "elf/code_file.h"
#include "puts/server_probe/server_probe.h"

namespace {

using namespace ioc_exporter;
using namespace ioc_exporter::testing;
using puts::Tap;

constexpr puts::ServerKey kServer{kIoc, puts::Protocol::ca};

class CaTapProbedTest : public CaTapTest {
 protected:
  void let_server_count() {
    ASSERT_TRUE(tap_->let_nobody_count(kServer));
    totals_->choice.begin_server(kServer, true, clock_ns(CLOCK_MONOTONIC));
    tap_->set_probed_ports({{listener_.port(), kServer}});
  }
  void let_packets_count() {
    auto ok = tap_->let_packets_count(kServer);
    ASSERT_TRUE(ok) << ok.error().message();
  }
  puts::ServerCount server() {
    const auto reading = collect();
    EXPECT_EQ(reading.servers.size(), 1u);
    return reading.servers.empty() ? puts::ServerCount{} : reading.servers.front();
  }
};

const Bytes kGet = message(15, 6, 1, 100, 7), kEcho = message(23, 0, 0, 0, 0);

TEST_F(CaTapProbedTest, MessagesAreCountedByKindAndNoChannelIsKept) {
  let_server_count();
  Circuit circuit(listener_);
  circuit.open("operator", "console-1", {"A", "B"});
  circuit.to_server_in_pieces(
      repeat(write(100) + write_notify(101) + kGet + kEcho + create(9, "C") + write(4711), 19), 7);
  circuit.to_client(repeat(update(1) + created(9, 300) + written(1, 0), 17) + server_disconnect(1));
  EXPECT_EQ(entries("ca_channels"), 0u);
  EXPECT_EQ(entries("ca_pending"), 0u);
  EXPECT_EQ(all_puts(), 0u);
  const auto counted = server();
  EXPECT_EQ(counted.circuits, 1u);
  EXPECT_EQ(counted.gets, 19u);
  EXPECT_EQ(counted.echoes, 19u);
  EXPECT_EQ(counted.monitor_updates, 17u);
  EXPECT_EQ(counted.server_disconnects, 1u);
  EXPECT_FALSE(counted.open_known);
  EXPECT_TRUE(collect().clients.empty());
  expect_nothing_lost();
}

TEST_F(CaTapProbedTest, EachPutIsCountedByNobodyElseThanItsSource) {
  let_packets_count();  // it cannot be probed, yet
  Circuit circuit(listener_);
  circuit.open("operator", "console-1", {"A"});
  circuit.to_server(repeat(write(100), 23));
  EXPECT_EQ(puts("A"), 23u);
  circuit.to_server(repeat(write(100), 7));  // before the switch, and not looked at yet
  let_server_count();
  EXPECT_EQ(puts("A"), 30u);
  circuit.to_server(repeat(write(100), 1009) + create(9, "C"));
  circuit.to_client(created(9, 300));
  circuit.to_server(repeat(write(300), 17));
  EXPECT_EQ(all_puts(), 30u);
  let_packets_count();
  EXPECT_EQ(all_puts(), 30u) << "what the server has counted is not theirs";
  circuit.to_server_in_pieces(repeat(write(100), 11) + repeat(write(300), 5) + create(10, "D"), 5);
  circuit.to_client(created(10, 301));
  circuit.to_server(repeat(write_notify(301), 13));
  EXPECT_EQ(puts("A"), 41u);
  EXPECT_EQ(puts(""), 5u) << "a channel that was opened meanwhile has no name";
  EXPECT_EQ(puts("D", PutOp::write_notify, "operator"), 13u);
  EXPECT_EQ(all_puts(), 59u);
  EXPECT_EQ(totals_->choice.switches().at(kServer), 2u);
}

// Its former self may have opened channels at that port, too.
TEST_F(CaTapProbedTest, WhileNobodyCountsPutsAreInNoSum) {
  ASSERT_TRUE(tap_->let_nobody_count(kServer));
  Circuit circuit(listener_);
  circuit.open("operator", "console-1", {"A"});
  circuit.to_server(repeat(write(100), 23) + write_notify(100, 5));
  circuit.to_client(written(5, 1));
  EXPECT_EQ(all_puts(), 0u);
  EXPECT_TRUE(collect().durations.empty());
  reap_all();
  EXPECT_TRUE(tap_->channels().unnamed().empty());
  let_packets_count();
  circuit.to_server(repeat(write(100), 19) + write_notify(100, 5));
  circuit.to_client(written(5, 1));
  EXPECT_EQ(puts("A"), 19u);
  EXPECT_EQ(collect().durations.size(), 1u);
}

TEST_F(CaTapProbedTest, AnswersToPutsOfBeforeAreNotLost) {
  Circuit circuit(listener_);
  circuit.open("operator", "console-1", {"A"});
  circuit.to_server(write_notify(100, 5));
  EXPECT_EQ(entries("ca_pending"), 1u);
  let_server_count();
  circuit.to_client(written(5, 1));
  EXPECT_EQ(entries("ca_pending"), 0u);
}

// One that comes after the probed one, or that listens at another address.
TEST_F(CaTapProbedTest, AnotherServerAtTheSamePortIsCountedByItsPackets) {
  tap_->set_probed_ports({{listener_.port(), kServer}});
  ASSERT_TRUE(tap_->set_servers({}));
  Circuit circuit(listener_);
  circuit.open("operator", "console-1", {"A"});
  circuit.to_server(repeat(write(100), 23));
  watch(listener_, kIoc + 1);
  EXPECT_EQ(puts_of(kIoc + 1, "A"), 23u);
}

TEST_F(CaTapProbedTest, APortWithTwoServersIsFollowedOnceOneOfThemIsNotProbed) {
  let_server_count();
  tap_->set_probed_ports(
      {{listener_.port(), kServer}, {listener_.port(), {kIoc + 1, puts::Protocol::ca}}});
  let_packets_count();
  Circuit circuit(listener_);
  circuit.open("operator", "console-1", {"A"});
  circuit.to_server(repeat(write(100), 23));
  EXPECT_EQ(puts("A"), 23u);
}

TEST_F(CaTapProbedTest, PacketsCountAtEachTryToProbeAServerThatCannotBe) {
  auto file = elf::CodeFile::open(UniqueFd(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC)),
                                  "a file without functions", {});
  ASSERT_TRUE(file) << file.error().message();
  auto probe = puts::ServerProbe::start({puts::Protocol::ca, 1024, {}, {}}, totals_, tap_.get());
  ASSERT_TRUE(probe) << probe.error().message();
  puts::ServerProbe::LiveIocs iocs;
  iocs::LiveIoc& live = iocs[{}];
  live.number = kIoc;
  live.serial = 1;
  live.ioc.ca_writes = {.display_path = "a file without functions", .file = *file};
  Circuit circuit(listener_);
  circuit.open("operator", "console-1", {"A"});
  auto now = Tap::Clock::now();
  for (std::uint64_t tries = 1; tries <= 5; ++tries) {
    probe->follow(iocs, false, now += std::chrono::minutes(1));
    EXPECT_TRUE(totals_->choice.by_packets(kServer));
    circuit.to_server(repeat(write(100), 23));
    EXPECT_EQ(puts("A"), 23 * tries);
  }
  EXPECT_EQ(totals_->choice.packets(kServer).until_ns, UINT64_MAX);
}

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

class CaTapInsertTest : public CaTapTest {
 protected:
  puts::TapLock lock() const override { return puts::TapLock::map_insert; }
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
TEST_F(CaTapInsertTest, TheLockOfAConnectionStaysWhenItsCircuitGetsAnotherId) {
  auto circuit = std::make_unique<Circuit>(listener_);
  circuit->open("operator", "console-1", {"A"});
  const iocx_ca_flow before = flow();
  const std::uint16_t port = circuit->client_port();
  circuit->abort();
  circuit = std::make_unique<Circuit>(listener_, port);
  circuit->open("operator", "console-1", {"A"});
  const iocx_ca_flow after = flow();
  EXPECT_NE(after.circuit, before.circuit);
  EXPECT_EQ(drop(IOCX_CA_DROP_BUSY), 0u);
  to_server_locked(*circuit, before.lock, write(100));
  EXPECT_EQ(drop(IOCX_CA_DROP_BUSY), 1u);
}

}  // namespace

// The channel table in a bpffs, from one run of the tap to the next. Each test mounts its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bpf/bpf.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "bpf/ca_tap_pin_fixture.h"

namespace {

using namespace ioc_exporter;
using namespace ioc_exporter::testing;
using ca::CaTap;
using ::testing::HasSubstr;

TEST_P(CaTapPinTest, NoNameIsLostAndNothingCountsTwice) {
  EXPECT_TRUE(tap_->is_kept());
  EXPECT_THAT(tap_->pin_report(), HasSubstr("is kept in " + pin_directory_));
  Circuit circuit(listener_);
  circuit.open("anna", "h1", {"A", "B"});
  circuit.to_server(repeat(write(100), 23) + write_notify(101));
  EXPECT_EQ(puts_of_anna("A"), 23u);
  stop();
  circuit.to_server(repeat(write(100), 1009));  // nobody counts
  start({});
  EXPECT_THAT(tap_->pin_report(), HasSubstr("took over 1 circuits with 2 named channels"));
  EXPECT_THAT(tap_->pin_report(), HasSubstr("were not counted"));
  EXPECT_EQ(all_puts(), 0u);
  circuit.to_server(repeat(write(100), 29) + repeat(write(101), 31));
  EXPECT_EQ(puts_of_anna("A"), 29u);
  EXPECT_EQ(puts_of_anna("B"), 31u);
  circuit.to_server(create(2, "LATER"));
  circuit.to_client(created(2, 102));
  circuit.to_server(repeat(write(102), 37));
  EXPECT_EQ(puts_of_anna("LATER"), 37u);
  EXPECT_EQ(drop("unnamed_put"), 0u);
  circuit.to_server(clear(100, 0));
  circuit.abort();
  reap_all();
  EXPECT_EQ(all_puts(), 97u);
  EXPECT_EQ(entries("ca_channels"), 0u);
  EXPECT_EQ(entries("ca_circuits"), 0u);
}

TEST_P(CaTapPinTest, CircuitsWaitForTheirIocToBeFoundAgain) {
  Circuit circuit(listener_);
  circuit.open("anna", "h1", {"A"});
  stop();
  start_blind({});
  ASSERT_TRUE(tap_->set_servers({}));  // the first look has not found it yet
  ASSERT_TRUE(tap_->reap());
  circuit.to_server(repeat(write(100), 23));  // it may be anybody's port
  EXPECT_EQ(all_puts(), 0u);
  watch(listener_, 11);  // not the number of the run before
  circuit.to_server(repeat(write(100), 29));
  EXPECT_EQ(puts_of(11, "A"), 29u);
  EXPECT_EQ(all_puts(), 29u);
}

TEST_P(CaTapPinTest, NewCircuitsAreNotTakenForOldOnes) {
  Circuit old(listener_);
  old.open("anna", "h1", {"A", "B", "C"});
  for (int run = 0; run < 3; ++run) {
    stop();
    start({});
    Circuit fresh(listener_);
    fresh.open("ben", "h2", {"X", "Y", "Z"});
    fresh.to_server(repeat(write(100), 23) + write(102));
    old.to_server(repeat(write(100), 29) + write(102));
    EXPECT_EQ(puts("X", PutOp::write, "ben"), 23u);
    EXPECT_EQ(puts("Z", PutOp::write, "ben"), 1u);
    EXPECT_EQ(puts_of_anna("A"), 29u);
    EXPECT_EQ(puts_of_anna("C"), 1u);
    EXPECT_EQ(all_puts(), 54u);
  }
}

TEST_P(CaTapPinTest, WhatEndedMeanwhileGoes) {
  auto gone = std::make_unique<Circuit>(listener_);
  Circuit stays(listener_);
  gone->open("anna", "h1", {"A", "B"});
  stays.open("anna", "h1", {"C"});
  stop();
  gone->abort();
  start({});
  EXPECT_THAT(tap_->pin_report(), HasSubstr("took over 1 circuits with 1 named channels"));
  EXPECT_THAT(tap_->pin_report(), HasSubstr("1 circuits had ended meanwhile"));
  EXPECT_EQ(entries("ca_channels"), 1u);
}

// The socket's cookie tells them apart.
TEST_P(CaTapPinTest, SameFourTupleMeanwhileIsAnotherCircuit) {
  if (!SocketCookies::open()) GTEST_SKIP() << "the kernel has no inet_diag";
  auto before = std::make_unique<Circuit>(listener_);
  before->open("anna", "h1", {"A"});
  const std::uint16_t port = before->client_port();
  stop();
  before->abort();
  Circuit after(listener_, port);
  after.open("ben", "h2", {"OTHER"});
  start({});
  EXPECT_THAT(tap_->pin_report(), HasSubstr("1 circuits had ended meanwhile"));
  after.to_server(repeat(write(100), 23));
  give_up_on_seed();
  EXPECT_EQ(puts(""), 23u);
  EXPECT_EQ(all_puts(), 23u);
}

// What changed while no exporter ran is put right from the IOC's memory.
TEST_P(CaTapPinTest, SeedCorrectsWhatWasTakenOver) {
  Circuit circuit(listener_);
  circuit.open("anna", "h1", {"A", "B", "C"});
  stop();
  circuit.to_server(clear(100, 0) + clear(101, 1) + create(0, "NEW"));
  circuit.to_client(created(0, 100));
  start({});
  circuit.to_server(write(102));
  ca::CaSeedCircuit memory;
  memory.key.client = memory.key.server = ca::ca_address_v4({127, 0, 0, 1});
  memory.key.client_port = circuit.client_port();
  memory.key.server_port = listener_.port();
  memory.user = "anna";
  memory.host = "h1";
  memory.channels = {{0, 100, "NEW", 0, IOCX_CA_ACCESS_READ_WRITE},
                     {2, 102, "C", 0, IOCX_CA_ACCESS_READ_WRITE}};
  const auto result = tap_->seed({kIoc, {memory}});
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_EQ(result->channels_named, 1u);
  EXPECT_EQ(result->channels_known, 1u);
  circuit.to_server(repeat(write(100), 23) + write(102));
  EXPECT_EQ(puts_of_anna("NEW"), 23u);
  EXPECT_EQ(puts_of_anna("C"), 2u);
  EXPECT_EQ(puts_of_anna("A"), 0u);
  reap_all();
  EXPECT_EQ(entries("ca_channels"), 2u);
}

TEST_P(CaTapPinTest, OtherSizesStartAnewAndSayWhy) {
  Circuit circuit(listener_);
  circuit.open("anna", "h1", {"A"});
  stop();
  ca::CaTapSizes sizes;
  sizes.max_circuits = 1009;
  start(sizes);
  EXPECT_TRUE(tap_->is_kept());
  EXPECT_THAT(tap_->pin_report(), HasSubstr("was dropped: ca_flows had room for"));
  circuit.to_server(repeat(write(100), 23));
  give_up_on_seed();
  EXPECT_EQ(puts(""), 23u);
  stop();
  start(sizes);
  EXPECT_THAT(tap_->pin_report(), HasSubstr("took over 1 circuits with 0 named channels"));
}

// As after an upgrade from a version whose tables have the same sizes and mean something else,
// 0.1.0 with its layout 1 for example: what is in them is not believed, and ours take their place.
TEST_P(CaTapPinTest, TablesOfAnotherVersionAreDroppedAndSaid) {
  Circuit circuit(listener_);
  circuit.open("anna", "h1", {"A"});
  stop();
  struct {
    std::uint32_t layout = 1, pad = 0;
    std::uint64_t alive_ns = 1;
  } const before;
  const std::uint32_t only = 0;
  {
    const UniqueFd state(bpf_obj_get((pin_directory_ + "/ca_state").c_str()));
    ASSERT_TRUE(state);
    ASSERT_EQ(bpf_map_update_elem(state.get(), &only, &before, BPF_EXIST), 0);
  }
  start({});
  EXPECT_TRUE(tap_->is_kept());
  EXPECT_THAT(tap_->pin_report(),
              HasSubstr("was dropped: its layout was 1, now " + std::to_string(IOCX_CA_LAYOUT)));
  circuit.to_server(repeat(write(100), 23));
  give_up_on_seed();
  EXPECT_EQ(puts(""), 23u) << "its name was in the table of before";
  stop();
  start({});
  EXPECT_THAT(tap_->pin_report(), HasSubstr("took over 1 circuits with 0 named channels"));
}

TEST_P(CaTapPinTest, MissingTableStartsAnewAndSaysSo) {
  stop();
  ASSERT_TRUE(std::filesystem::remove(pin_directory_ + "/ca_cids"));
  start({});
  EXPECT_TRUE(tap_->is_kept());
  EXPECT_THAT(tap_->pin_report(), HasSubstr("was dropped: ca_cids is missing"));
}

TEST_P(CaTapPinTest, SecondExporterRunsWithoutAndSaysSo) {
  std::optional<CaTap> first = std::move(tap_);
  start({});
  Circuit circuit(listener_);
  EXPECT_FALSE(tap_->is_kept());
  EXPECT_THAT(tap_->pin_report(), HasSubstr("another ioc_exporter uses"));
  circuit.open("anna", "h1", {"A"});
  circuit.to_server(repeat(write(100), 23));
  EXPECT_EQ(puts_of_anna("A"), 23u);
  std::swap(first, tap_);
  EXPECT_EQ(puts_of_anna("A"), 23u);  // and the first one is not disturbed
}

TEST_P(CaTapPinTest, ElsewhereThanInABpffsIsSaid) {
  tap_.reset();
  std::string plain = (std::filesystem::temp_directory_path() / "ca_plain_XXXXXX").string();
  ASSERT_NE(::mkdtemp(plain.data()), nullptr);
  pin_directory_ = plain;
  start({});
  EXPECT_FALSE(tap_->is_kept());
  EXPECT_THAT(tap_->pin_report(), HasSubstr("no directory of a bpffs"));
  Circuit circuit(listener_);
  circuit.open("anna", "h1", {"A"});
  circuit.to_server(repeat(write(100), 23));
  EXPECT_EQ(puts_of_anna("A"), 23u);
  std::filesystem::remove_all(plain);
}

TEST_P(CaTapPinTest, KilledExporterLosesNothingEither) {
  tap_.reset();
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    start({});
    if (::write(ready[1], "1", 1) != 1) ::_exit(1);
    for (;;) {
      static_cast<void>(tap_->reap());
      ::usleep(10000);
    }
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  Circuit circuit(listener_);
  circuit.open("anna", "h1", {"A", "B"});
  circuit.to_server(repeat(write(100), 23));
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  start({});
  EXPECT_THAT(tap_->pin_report(), HasSubstr("took over 1 circuits with 2 named channels"));
  circuit.to_server(repeat(write(101), 29));
  EXPECT_EQ(puts_of_anna("A"), 0u);
  EXPECT_EQ(puts_of_anna("B"), 29u);
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_P(CaTapPinTest, SlotsAreNotLostOverRestarts) {
  ca::CaTapSizes sizes;
  sizes.max_channels = 8;  // of which a circuit gets half
  for (int run = 0; run < 3; ++run) {
    start(sizes);
    Circuit circuit(listener_);
    circuit.open("anna", "h1", {"A", "B", "C", "D"});
    circuit.to_server(write(100) + write(103));
    EXPECT_EQ(puts_of_anna("A") + puts_of_anna("D"), 2u) << run;
    circuit.to_server(clear(100, 0) + clear(101, 1));
    stop();
  }
  start(sizes);
  EXPECT_EQ(drop("channels_full"), 0u);
  EXPECT_EQ(entries("ca_channels"), 0u);
}

// Started and stopped ten times while a client writes without a pause: what all runs have counted
// is at most what was sent, and all of it has its name.
TEST_P(CaTapPinTest, TenRestartsDuringAFlood) {
  Circuit circuit(listener_);
  circuit.open("anna", "h1", {"A", "B"});
  std::atomic<bool> done{false};
  std::uint64_t sent = 0;
  std::thread client([&] {
    for (; !done; sent += 101) circuit.to_server(repeat(write(100), 53) + repeat(write(101), 48));
  });
  std::uint64_t counted = 0, named = 0;
  for (int run = 0; run < 10; ++run) {
    while (all_puts() < 1009) std::this_thread::yield();
    const auto last = collect();
    for (const auto& one : last.puts) {
      counted += one.count;
      if (!one.labels.pv.empty() && one.labels.user == "anna") named += one.count;
    }
    stop();
    start({});
  }
  done = true;
  client.join();
  counted += all_puts();
  named += puts_of_anna("A") + puts_of_anna("B");
  EXPECT_EQ(named, counted);
  EXPECT_LE(counted, sent);
  circuit.to_server(repeat(write(100), 23));
  EXPECT_EQ(entries("ca_channels"), 2u);
}

IOCX_WITH_CHOSEN_LOCK(CaTapPinTest);

}  // namespace

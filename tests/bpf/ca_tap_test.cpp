#include "bpf/ca_tap_fixture.h"
#include "support/temporary_folder.h"

namespace {

using namespace ioc_exporter;
using namespace ioc_exporter::testing;
using puts::Tap;

TEST_F(CaTapTest, CountsManyMessagesOfOneSegment) {
  Circuit circuit(listener_);
  circuit.open("operator", "console-1", {"PS:1:SP", "PS:2:SP.VAL"});
  circuit.to_server(repeat(write(100), 23) + repeat(write_notify(101), 29) + write(101));
  const auto reading = collect();
  ASSERT_EQ(reading.puts.size(), 3u);
  const auto& first = reading.puts[0];
  EXPECT_EQ(first.labels, (puts::PutLabels{kIoc, "PS:1:SP", "127.0.0.1", "operator", "console-1"}));
  EXPECT_EQ(first.op, PutOp::write);
  EXPECT_EQ(first.count, 23u);
  EXPECT_EQ(puts("PS:2:SP.VAL", PutOp::write_notify), 29u);
  EXPECT_EQ(puts("PS:2:SP.VAL"), 1u);
  expect_nothing_lost();
}

TEST_F(CaTapTest, CountsByteByByte) {
  Circuit circuit(listener_);
  circuit.to_server_in_pieces(version() + host_name("h") + client_name("u") + create(1, "A:B"), 1);
  circuit.to_client(version() + created(1, 50));
  circuit.to_server_in_pieces(
      repeat(write(50) + write_notify(50) + long_message(4, 6, 2, 50, 0, Bytes(16, 1)), 23), 1);
  EXPECT_EQ(puts("A:B"), 46u);
  EXPECT_EQ(puts("A:B", PutOp::write_notify), 23u);
  expect_nothing_lost();
}

TEST_F(CaTapTest, CountsLargestSegmentsOfTinyMessages) {
  Circuit circuit(listener_);
  circuit.open("u", "h", {"A", "B"});
  const Bytes echo = message(23, 0, 0, 0, 0);
  Bytes bytes = repeat(echo, 20000) + repeat(write(100) + write(101), 20011);
  circuit.to_server(bytes);
  EXPECT_EQ(puts("A"), 20011u);
  EXPECT_EQ(puts("B"), 20011u);
  expect_nothing_lost();
}

TEST_F(CaTapTest, CutPutIsNoPut) {
  Circuit circuit(listener_);
  circuit.open("u", "h", {"A"});
  Bytes bytes = repeat(write(100), 3);
  bytes.pop_back();
  circuit.to_server(bytes);
  EXPECT_EQ(puts("A"), 2u);
  circuit.abort();
  reap_all();
  EXPECT_EQ(puts("A"), 2u);
}

TEST_F(CaTapTest, TellsClientsApart) {
  Circuit one(listener_), two(listener_), three(listener_);
  one.open("anna", "h1", {"A"});
  two.open("ben", "h2", {"A"});
  three.open("anna", "h1", {"A"});
  one.to_server(repeat(write(100), 23));
  two.to_server(repeat(write(100), 29));
  three.to_server(repeat(write(100), 31));
  EXPECT_EQ(puts("A", PutOp::write, "anna"), 54u);
  EXPECT_EQ(puts("A", PutOp::write, "ben"), 29u);
  expect_nothing_lost();
}

TEST_F(CaTapTest, IdentityIsFixedWhileThereAreChannels) {
  Circuit circuit(listener_);
  circuit.open("anna", "h", {"A"});
  circuit.to_server(client_name("mallory") + create(1, "B"));
  circuit.to_client(created(1, 101));
  circuit.to_server(write(100) + write(101));
  EXPECT_EQ(puts("B", PutOp::write, "anna"), 1u);
  // As rsrv does, a new name is taken when there is no channel left.
  circuit.to_server(clear(100, 0) + clear(101, 1) + client_name("ben") + create(2, "C"));
  circuit.to_client(created(2, 102));
  circuit.to_server(write(102));
  EXPECT_EQ(puts("C", PutOp::write, "ben"), 1u);
}

TEST_F(CaTapTest, ClearedChannelsKeepTheirCountsAndSidsAreUsedAgain) {
  Circuit circuit(listener_);
  circuit.open("u", "h", {"A"});
  circuit.to_server(repeat(write(100), 23) + clear(100, 0) + create(0, "B"));
  circuit.to_client(created(0, 100));
  circuit.to_server(repeat(write(100), 29));
  EXPECT_EQ(puts("A"), 23u);
  EXPECT_EQ(puts("B"), 29u);
  EXPECT_EQ(entries("ca_channels"), 2u);
  reap_all();
  EXPECT_EQ(entries("ca_channels"), 1u);
  circuit.to_server(repeat(write(100), 2));
  EXPECT_EQ(puts("A"), 23u);
  EXPECT_EQ(puts("B"), 31u);
  expect_nothing_lost();
}

TEST_F(CaTapTest, ServerDisconnectEndsAChannel) {
  Circuit circuit(listener_);
  circuit.open("u", "h", {"A"});
  circuit.to_server(repeat(write(100), 23));
  circuit.to_client(server_disconnect(0));
  circuit.to_server(write(100));  // it was on its way
  EXPECT_EQ(puts("A"), 23u);
  EXPECT_EQ(puts(""), 1u);
  circuit.to_server(create(0, "A"));
  circuit.to_client(created(0, 100));
  circuit.to_server(write(100));
  EXPECT_EQ(puts("A"), 24u);
}

TEST_F(CaTapTest, RefusedChannelsLeaveNothing) {
  Circuit circuit(listener_);
  circuit.to_server(version() + create(1, "NO:SUCH"));
  circuit.to_client(version() + create_failed(1));
  circuit.to_server(create(2, "UNANSWERED"));
  circuit.abort();
  reap_all();
  EXPECT_EQ(entries("ca_channels"), 0u);
  EXPECT_EQ(entries("ca_circuits"), 0u);
  expect_nothing_lost();
}

TEST_F(CaTapTest, SameFourTupleIsAnotherCircuit) {
  std::uint16_t port = 0;
  for (const char* pv : {"FIRST", "SECOND", "THIRD"}) {
    Circuit circuit(listener_, port);
    port = circuit.client_port();
    circuit.open(pv, "h", {pv});
    circuit.to_server(repeat(write(100), 23));
    circuit.abort();
  }
  for (const char* pv : {"FIRST", "SECOND", "THIRD"}) EXPECT_EQ(puts(pv, PutOp::write, pv), 23u);
  reap_all();
  for (const char* pv : {"FIRST", "SECOND", "THIRD"}) EXPECT_EQ(puts(pv, PutOp::write, pv), 23u);
  EXPECT_EQ(entries("ca_channels"), 0u);
  expect_nothing_lost();
}

TEST_F(CaTapTest, OtherProtocolsAreLeftAlone) {
  Circuit circuit(listener_);
  circuit.to_client(Bytes{0xCA, 0x02, 0x41, 0x02, 0, 0, 0, 0, 0xCA, 0x02, 0x40, 0x01, 0, 0, 0, 8});
  circuit.to_server(Bytes{0xCA, 0x02, 0x00, 0x01, 0x40, 0, 0, 0} + Bytes(64, 0) +
                    repeat(write(100), 23));
  circuit.to_server(repeat(write(100), 23));
  EXPECT_EQ(all_puts(), 0u);
  EXPECT_EQ(drop(IOCX_CA_DROP_NOT_CA), 1u);
  EXPECT_EQ(drop(IOCX_CA_DROP_REFUSED), 0u);
  EXPECT_EQ(drop(IOCX_CA_DROP_GAP), 0u);
}

TEST_F(CaTapTest, FirstMessageNeedNotBeVersion) {
  Circuit circuit(listener_);
  circuit.to_server(message(23, 0, 0, 0, 0));
  circuit.open("u", "h", {"A"});
  circuit.to_server(write(100));
  EXPECT_EQ(puts("A"), 1u);
  EXPECT_EQ(drop(IOCX_CA_DROP_NOT_CA), 1u);
}

TEST_F(CaTapTest, NamesEndWithTheirPayloadOrAtTheirLimit) {
  const std::string longest(IOCX_CA_NAME - 1, 'x');
  Circuit circuit(listener_);
  circuit.to_server_in_pieces(version() + message(18, 0, 0, 0, 13, Bytes(8, 'n')) +
                                  create(1, longest) + create(2, longest + "yyyy"),
                              7);
  circuit.to_client(version() + created(0, 100) + created(1, 101) + created(2, 102));
  circuit.to_server(write(100) + write(101) + write(102));
  EXPECT_EQ(puts("nnnnnnn"), 1u);  // as rsrv, which writes a zero over the last one
  EXPECT_EQ(puts(longest), 2u);
  EXPECT_EQ(drop(IOCX_CA_DROP_NAME_CUT), 1u);
}

// Bytes that the specification does not allow, as rsrv takes them.
TEST_F(CaTapTest, WhatTheServerCarriesOutCounts) {
  Bytes with_count = long_message(4, 6, 1, 100, 0, Bytes(8, 1)), odd = write(100);
  with_count[7] = 77;
  odd[3] = 9;
  struct Row {
    Bytes message;
    std::uint64_t puts, refused;
  };
  const Row rows[] = {{with_count, 9, 0},  // the size alone makes a long header
                      {odd, 1, 1},         // all others end the circuit
                      {message(5, 0, 0, 0, 0), 1, 1},
                      {message(22, 0, 0, 0, 0), 1, 1},
                      {message(28, 0, 0, 0, 0), 1, 1},
                      {message(0x1234, 0, 0, 0, 0), 1, 1}};
  std::uint64_t sum = 0, refused = 0;
  for (const Row& row : rows)
    for (const std::size_t piece : {1u, 23u, 1000u}) {
      Circuit circuit(listener_);
      circuit.open("u", "h", {"A"});
      circuit.to_server_in_pieces(write(100) + row.message + repeat(write(100), 7), piece);
      EXPECT_EQ(puts("A"), sum += row.puts) << &row - rows << " " << piece;
      EXPECT_EQ(drop(IOCX_CA_DROP_REFUSED), refused += row.refused);
    }
}

TEST_F(CaTapTest, JoinsCircuitsThatWereOpenBefore) {
  Listener earlier;
  Circuit circuit(earlier);
  circuit.open("u", "h", {"A"});
  watch(earlier);
  circuit.to_server(Bytes(24, 0x11));  // the end of something
  EXPECT_EQ(all_puts(), 0u);
  circuit.to_server(proof(100) + repeat(write(100), 23) + write_notify(100));
  EXPECT_EQ(puts(""), 23u);
  EXPECT_EQ(puts("", PutOp::write_notify), 1u);
  EXPECT_EQ(drop(IOCX_CA_DROP_LATE), 1u);
  EXPECT_EQ(drop(IOCX_CA_DROP_RESYNC), 1u);
  // Channels that are made from now on have their names.
  circuit.to_server(create(5, "LATER"));
  circuit.to_client(created(5, 105));
  circuit.to_server(repeat(write(105), 29));
  EXPECT_EQ(puts("LATER"), 29u);
  circuit.abort();
  reap_all();
  EXPECT_EQ(puts(""), 23u);
  EXPECT_EQ(puts("LATER"), 29u);
}

TEST_F(CaTapTest, QuickConnectsLeaveTheTablesEmpty) {
  for (int i = 0; i < 300; ++i) {
    Circuit circuit(listener_);
    circuit.open("u", "h", {"A", std::string("B").append(std::to_string(i % 10))});
    circuit.to_server(write(100) + write(101));
    if (i % 2) circuit.abort();
  }
  EXPECT_EQ(puts("A"), 300u);
  reap_all();
  EXPECT_EQ(entries("ca_channels"), 0u);
  EXPECT_EQ(entries("ca_circuits"), 0u);
  EXPECT_EQ(puts("A"), 300u);
  EXPECT_EQ(puts("B3"), 30u);
  expect_nothing_lost();
}

TEST_F(CaTapTest, CircuitsWithASocketStay) {
  Circuit circuit(listener_);
  circuit.open("u", "h", {"A"});
  const auto later = Tap::Clock::now() + std::chrono::hours(1);
  for (int look = 0; look < 5; ++look) ASSERT_TRUE(tap_->reap(later + std::chrono::minutes(look)));
  circuit.to_server(repeat(write(100), 23));
  EXPECT_EQ(puts("A"), 23u);
  EXPECT_EQ(entries("ca_circuits"), 1u);
  expect_nothing_lost();
}

TEST_F(CaTapTest, CircuitsWithoutASocketGo) {
  // A tree whose list of sockets is empty: as if the end of the circuit had not been seen.
  const TemporaryFolder root;
  root.write("/proc/thread-self/net/tcp", "  sl  local_address\n");
  start({}, root.path());
  Circuit circuit(listener_);
  circuit.open("u", "h", {"A"});
  circuit.to_server(repeat(write(100), 23));
  const auto later = Tap::Clock::now() + std::chrono::hours(1);
  ASSERT_TRUE(tap_->reap(later));
  EXPECT_EQ(entries("ca_circuits"), 1u);  // one look is not enough
  ASSERT_TRUE(tap_->reap(later + puts::Circuits::kSocketLook));
  EXPECT_EQ(entries("ca_circuits"), 0u);
  ASSERT_TRUE(tap_->reap(later + puts::Circuits::kSocketLook + puts::Channels::kGrace));
  EXPECT_EQ(entries("ca_channels"), 0u);
  EXPECT_EQ(puts("A"), 23u);
}

TEST_F(CaTapTest, FullTablesAreCounted) {
  puts::TapSizes sizes;
  sizes.max_channels = 8;  // of which a circuit gets half
  start(sizes);
  Circuit circuit(listener_);
  circuit.open("u", "h", {"A", "B", "C", "D", "E"});
  circuit.to_server(write(100) + write(103) + write(104));
  EXPECT_EQ(puts("A"), 1u);
  EXPECT_EQ(puts("D"), 1u);
  EXPECT_EQ(drop(IOCX_CA_DROP_CHANNELS_FULL), 1u);
  EXPECT_EQ(puts(""), 1u);
  circuit.to_server(clear(100, 0));
  reap_all();
  circuit.to_server(repeat(write(104), 23));
  EXPECT_EQ(puts(""), 24u);
  EXPECT_EQ(drop(IOCX_CA_DROP_LOST_PUT), 0u);
  EXPECT_EQ(puts("A"), 1u);
}

// An IOC's first clients are there before it is found.
TEST_F(CaTapTest, ChannelsWaitForTheIocToBeFound) {
  watch(listener_, puts::kIocToCome);
  Circuit open(listener_);
  open.open("operator", "console-1", {"PS:1:SP"});
  open.to_server(repeat(write(100), 23));
  {
    Circuit ended(listener_);
    ended.open("operator", "console-1", {"PS:2:SP"});
    ended.to_server(repeat(write(100), 17));
  }
  EXPECT_EQ(all_puts(), 0u);
  const auto now = Tap::Clock::now();
  for (const auto later : {now, now + puts::Channels::kPatience - std::chrono::seconds(1)})
    ASSERT_TRUE(tap_->reap(later));
  watch(listener_);
  open.to_server(repeat(write(100), 2));
  EXPECT_EQ(puts("PS:1:SP"), 25u);
  EXPECT_EQ(puts("PS:2:SP"), 17u);
  for (const auto& one : collect().puts) EXPECT_EQ(one.labels.ioc, kIoc);
  expect_nothing_lost();
}

TEST_F(CaTapTest, ServersThatTurnOutToBeNoIocAreNotCounted) {
  start_blind({});
  watch(listener_, puts::kIocToCome);
  {
    Circuit circuit(listener_);
    circuit.open("operator", "console-1", {"PS:1:SP"});
    circuit.to_server(repeat(write(100), 19));
  }
  reap_all();
  EXPECT_EQ(all_puts(), 0u);
  expect_nothing_lost();
  EXPECT_EQ(entries("ca_channels"), 0u);
}

TEST_F(CaTapTest, ForgottenIocHasNoTotals) {
  Circuit circuit(listener_);
  circuit.open("u", "h", {"A"});
  circuit.to_server(repeat(write(100), 23));
  const auto now = Tap::Clock::now();
  for (const auto when : {now, now + puts::WatchedServers::kKeep})
    ASSERT_TRUE(tap_->set_servers({}, when));
  ASSERT_TRUE(tap_->forget(kIoc));
  EXPECT_EQ(all_puts(), 0u);
  circuit.to_server(write(100));  // nobody looks any more
  reap_all();
  EXPECT_EQ(all_puts(), 0u);
  EXPECT_EQ(entries("ca_channels"), 0u);
  EXPECT_EQ(entries("ca_circuits"), 0u);
}

TEST_F(CaTapTest, PutsToAnIocThatIsNotFoundAgainAreLost) {
  ASSERT_TRUE(tap_->set_servers({}, Tap::Clock::now()));
  {
    Circuit circuit(listener_);
    circuit.open("operator", "console-1", {"PS:1:SP"});
    circuit.to_server(repeat(write(100), 19));
  }
  reap_all();
  EXPECT_EQ(collect().drops.at({"ca_tap", "lost"}), 19u);
}

// An IOC was replaced by another one on the same port between two looks for IOCs.
TEST_F(CaTapTest, CircuitsFollowTheirPortToAnotherIoc) {
  Circuit before(listener_);
  before.open("u", "h", {"A"});
  before.to_server(repeat(write(100), 23));
  before.abort();
  Circuit after(listener_);
  after.open("u", "h", {"A", "B"});
  after.to_server(repeat(write(100), 29));
  watch(listener_, 8);
  EXPECT_EQ(puts_of(kIoc, "A"), 23u);
  EXPECT_EQ(puts_of(8, "A"), 29u);
  // Counts that a scrape has shown before the change stay where they were.
  watch(listener_, 9);
  after.to_server(repeat(write(100), 31) + repeat(write(101), 37));
  reap_all();
  EXPECT_EQ(puts_of(8, "A"), 29u);
  EXPECT_EQ(puts_of(9, "A"), 31u);
  EXPECT_EQ(puts_of(9, "B"), 37u);
  ASSERT_TRUE(tap_->forget(kIoc));
  ASSERT_TRUE(tap_->forget(8));
  after.to_server(create(2, "C"));
  after.to_client(created(2, 102));
  after.to_server(write(100) + write(102));
  EXPECT_EQ(puts_of(9, "A"), 32u);
  EXPECT_EQ(puts_of(9, "C"), 1u);
  EXPECT_EQ(all_puts(), 70u);
  expect_nothing_lost();
}

// Clients are back before the IOC that was started again is found.
TEST_F(CaTapTest, PortOfAnIocThatLeftIsWatchedForAWhile) {
  const auto now = Tap::Clock::now();
  ASSERT_TRUE(tap_->set_servers({}, now));
  Circuit quick(listener_), stays(listener_);
  quick.open("u", "h", {"QUICK"});
  quick.to_server(repeat(write(100), 23));
  quick.abort();
  stays.open("u", "h", {"STAYS"});
  stays.to_server(repeat(write(100), 29));
  for (int look = 0; look < 5; ++look) ASSERT_TRUE(tap_->reap(now + std::chrono::seconds(look)));
  EXPECT_EQ(all_puts(), 0u);
  watch(listener_);
  stays.to_server(write(100));
  EXPECT_EQ(puts_of(kIoc, "QUICK"), 23u);
  EXPECT_EQ(puts_of(kIoc, "STAYS"), 30u);
  expect_nothing_lost();
}

TEST_F(CaTapTest, PortThatNobodyTakesIsLeftAlone) {
  const auto now = Tap::Clock::now();
  ASSERT_TRUE(tap_->set_servers({}, now));
  Circuit circuit(listener_);
  circuit.open("u", "h", {"A"});
  circuit.to_server(write(100));
  EXPECT_EQ(entries("ca_servers"), 1u);
  ASSERT_TRUE(tap_->set_servers({}, now + puts::WatchedServers::kKeep));
  reap_all();
  EXPECT_EQ(entries("ca_servers"), 0u);
  EXPECT_EQ(entries("ca_channels"), 0u);
  EXPECT_EQ(entries("ca_circuits"), 0u);
  EXPECT_EQ(all_puts(), 0u);
}

TEST_F(CaTapTest, CountsOnlyWhatItWatches) {
  Listener other;
  Circuit circuit(other);
  circuit.open("u", "h", {"A"});
  circuit.to_server(repeat(write(100), 23));
  EXPECT_EQ(all_puts(), 0u);
  expect_nothing_lost();
}

}  // namespace

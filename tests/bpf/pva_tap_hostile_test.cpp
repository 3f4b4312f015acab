// What a client of PV Access may send to hide puts, to give them other names, or to take all room.
#include <chrono>
#include <thread>
#include <utility>

#include "bpf/pva_tap_fixture.h"

namespace {

using namespace ioc_exporter;
using namespace ioc_exporter::testing;

class PvaTapHostileTest : public PvaTapTest {
 protected:
  std::string user_of(const Bytes& identity) {
    Circuit circuit(listener_);
    circuit.to_client(greeting(b_));
    circuit.to_server_in_pieces(identity, 100);
    const iocx_ca_flow one = flow();
    circuit.abort();
    reap_all();
    return ioc_exporter::puts::kernel_text(one.identity.user) + "@" +
           ioc_exporter::puts::kernel_text(one.identity.host);
  }
  Bytes ca(const std::string& user, const std::string& host) const {
    return b_.identify("ca", b_.user_and_host(user, host));
  }
};

TEST_F(PvaTapHostileTest, NamesOfClients) {
  EXPECT_EQ(user_of(ca("anna", "console-1")), "anna@console-1");
  EXPECT_EQ(user_of(b_.identify("anonymous")), "anonymous/@");
  EXPECT_EQ(user_of(b_.identify("x509", Bytes(40, 1))), "x509/@");
  EXPECT_EQ(user_of(ca("", "")), "ca/@");
  EXPECT_EQ(user_of(b_.identify("ca")), "ca/@");
  expect_nothing_lost();
  for (const bool big : {false, true}) {
    const PvaBytes b(big);
    using Fields = std::vector<std::pair<std::string, std::uint8_t>>;
    const auto fields = [&](const Fields& description, const std::vector<std::string>& values) {
      Bytes bytes{0x80, 0, static_cast<std::uint8_t>(description.size())};
      for (const auto& [name, type] : description) bytes = bytes + b.text(name) + Bytes{type};
      for (const std::string& value : values) bytes = bytes + b.text(value);
      return b.identify("ca", bytes);
    };
    const Fields three = {{"host", 0x60}, {"role", 0x60}, {"user", 0x60}};
    EXPECT_EQ(user_of(fields(three, {"console-1", "expert", "anna"})), "anna@console-1");
    // pvAccessCPP numbers the description.
    EXPECT_EQ(user_of(b.identify("ca", Bytes{0xFD, 1, 0} + b.user_and_host("anna", "h"))),
              "anna@h");
  }
  EXPECT_EQ(drop(IOCX_CA_DROP_NAME_CUT), 0u);
  // A known number, no string, no user, one that is cut, too many fields, no structure.
  std::uint64_t refused = 0;
  for (const Bytes& other :
       {Bytes{0xFE, 1, 0}, Bytes{0x80, 0, 1, 4, 'u', 's', 'e', 'r', 0x22, 1, 'a'},
        Bytes{0x80, 0, 1, 4, 'h', 'o', 's', 't', 0x60, 1, 'h'},
        Bytes{0x80, 0, 1, 4, 'u', 's', 'e', 'r', 0x60, 2, 'a'}, Bytes{0x80, 0, 200},
        Bytes{0x60, 2, 'm', 'e'}, Bytes{0x80}}) {
    EXPECT_EQ(user_of(b_.identify("ca", other)), "@") << refused;
    EXPECT_EQ(drop(IOCX_CA_DROP_NAME_CUT), ++refused);
  }
}

TEST_F(PvaTapHostileTest, LongNamesOfClients) {
  const std::string longest(63, 'u'), more(100, 'u');
  EXPECT_EQ(user_of(ca(longest, longest)), longest + "@" + longest);
  EXPECT_EQ(drop(IOCX_CA_DROP_NAME_CUT), 0u);
  EXPECT_EQ(user_of(ca(more, "h")), longest + "@h");
  EXPECT_EQ(drop(IOCX_CA_DROP_NAME_CUT), 1u);
  EXPECT_EQ(user_of(ca(more, std::string(200, 'h'))), "@");  // more than is read
  EXPECT_EQ(drop(IOCX_CA_DROP_NAME_CUT), 2u);
  EXPECT_EQ(user_of(b_.identify(std::string(150, 'm'))), std::string(63, 'm') + "@");
  EXPECT_EQ(user_of(ca("anna", "h") + ca("ben", "i")), "ben@i");  // pvxs takes the last one
  EXPECT_EQ(user_of(ca("anna", "h") + b_.identify("anonymous")), "anna@h");
}

TEST_F(PvaTapHostileTest, AClientThatSaysNothingIsCounted) {
  PvaWire wire(listener_);
  wire.to_client(greeting(b_));
  wire.to_server(b_.create({{1, "A"}}));
  wire.to_client(b_.created(1, 11));
  wire.to_server(b_.init(kPut, 11, 101) + b_.put(11, 101));
  EXPECT_EQ(counted("A").puts, 1u);
  expect_as(wire);
  expect_nothing_lost();
}

TEST_F(PvaTapHostileTest, OtherProtocolsAreLeftAlone) {
  const std::string http = "GET / HTTP/1.1\r\nHost: here\r\n\r\n";
  const Bytes words(http.begin(), http.end());
  const Bytes puts = hello(b_) + b_.init(kPut, 11, 101) + repeat(b_.put(11, 101), 23);
  std::uint64_t others = 0;
  for (const Bytes& first :  // a server's first words are its byte order
       {words, b_.offer(), b_.header(false, 3, 0, IOCX_PVA_CONTROL)}) {
    Circuit server_speaks_first(listener_);
    server_speaks_first.to_client(first);
    server_speaks_first.to_server(puts);
    server_speaks_first.to_client(welcome(b_));
    server_speaks_first.to_server(repeat(b_.put(11, 101), 23));
    EXPECT_EQ(drop(IOCX_CA_DROP_NOT_CA), ++others);
    EXPECT_EQ(flow().alien, 1u);
    server_speaks_first.abort();
  }
  {
    Circuit client(listener_);
    client.to_client(greeting(b_));
    client.to_server_in_pieces(words, 1);
    client.to_server(puts);
    EXPECT_EQ(drop(IOCX_CA_DROP_NOT_CA), ++others);
    EXPECT_EQ(flow().alien, 0u);  // only the server says what it speaks
    client.abort();
  }
  EXPECT_EQ(counted(), PvaCountsByName());
  auto drops = all_drops();
  EXPECT_EQ(std::exchange(drops[IOCX_CA_DROP_NOT_CA], 0), others);
  EXPECT_THAT(drops, ::testing::Each(0u));
}

TEST_F(PvaTapHostileTest, NothingIsReadBehindAMessageThatIsRefused) {
  const Bytes put = b_.put(11, 101);
  Bytes other_version = put, other_magic = put;
  other_version[1] = 0;
  other_magic[0] = 0xCB;
  std::uint64_t circuits = 0;
  for (const Bytes& wrong :
       {other_version, other_magic, b_.message(true, IOCX_PVA_CMD_MONITOR, Bytes(8, 0)),
        b_.message(true, kPut, Bytes(9, 0), IOCX_PVA_CONTINUED),
        b_.message(true, IOCX_PVA_CMD_CREATE_CHANNEL,  // nine names are announced
                   b_.number(9, 2) + b_.number(7, 4) + b_.text("PV")),
        b_.message(true, IOCX_PVA_CMD_CREATE_CHANNEL,  // a name that is longer than its message
                   b_.number(1, 2) + b_.number(7, 4) + Bytes{254, 9, 9, 9, 9})}) {
    PvaWire wire(listener_);
    open(wire, b_);
    init(wire, b_, 11, 101);
    wire.to_server(put + wrong + put);
    wire.to_server(repeat(put, 23));
    EXPECT_EQ(wire.model().refused(), 1u);
    EXPECT_EQ(counted("A").puts, ++circuits);
    EXPECT_EQ(drop(IOCX_CA_DROP_REFUSED), circuits);
  }
  // The size is never reached: the server waits for more.
  PvaWire wire(listener_);
  open(wire, b_);
  init(wire, b_, 11, 101);
  wire.to_server(put + b_.header(true, kPut, 0xFFFFFFF0) + repeat(put, 23));
  EXPECT_EQ(counted("A").puts, circuits + 1);
  EXPECT_EQ(drop(IOCX_CA_DROP_REFUSED), circuits);
}

TEST_F(PvaTapHostileTest, ACircuitThatIsNotClosedIsReadAgain) {
  PvaWire wire(listener_);
  open(wire, b_);
  init(wire, b_, 11, 101);
  wire.to_server(b_.message(true, IOCX_PVA_CMD_MONITOR, Bytes(8, 0)) + b_.put(11, 101));
  EXPECT_EQ(counted("A").puts, 0u);
  std::this_thread::sleep_for(std::chrono::milliseconds(2100));
  wire.to_server(repeat(b_.put(11, 101), 23));
  wire.to_client(b_.answer(kPut, 101, 0));
  wire.to_server(repeat(b_.put(11, 101), 23));
  wire.to_client(b_.answer(kPut, 101, 0));
  EXPECT_EQ(counted("A"), (PvaCounts{23, 0, 1, 0}));
}

// pvxs reads on behind them.
TEST_F(PvaTapHostileTest, ARequestThatIsTooShortIsPassedOver) {
  PvaWire wire(listener_);
  open(wire, b_);
  init(wire, b_, 11, 101);
  // Idle requests stay: none is free of charge.
  const auto read = tap_->object().maps().pending.for_each(
      [](const auto&, const auto& one) { EXPECT_NE(one.holder, 0u); });
  EXPECT_TRUE(read);
  std::uint64_t sent = 0;
  for (const std::uint32_t command :
       {kPut, kPutGet, kRpc, std::uint32_t{IOCX_PVA_CMD_GET}, std::uint32_t{IOCX_PVA_CMD_ARRAY},
        std::uint32_t{IOCX_PVA_CMD_PROCESS}}) {
    for (const std::size_t size : {0u, 8u}) {
      wire.to_server(b_.message(true, command, Bytes(size, 0xEE)) + b_.put(11, 101));
      EXPECT_EQ(counted("A").puts, ++sent) << command;
      EXPECT_EQ(drop(IOCX_CA_DROP_NOT_PARSED), sent);
    }
  }
  wire.to_server(b_.message(true, IOCX_PVA_CMD_CONNECTION_VALIDATED, {}) + b_.put(11, 101));
  EXPECT_EQ(counted("A").puts, sent + 1);
  EXPECT_EQ(drop(IOCX_CA_DROP_REFUSED), 0u);
  expect_as(wire);
}

// pvxs closes at each of these, pvAccessCPP goes on: seen with QSRV 1.
TEST_F(PvaTapHostileTest, WhatOneServerTakesIsRead) {
  const Bytes put = b_.request(kPut, 11, 101, 0), ids(put.begin() + IOCX_PVA_HEADER, put.end());
  const Bytes echo = b_.message(true, IOCX_PVA_CMD_ECHO, {}, IOCX_PVA_FROM_SERVER);
  const Bytes control = b_.header(true, 0, 0, IOCX_PVA_CONTROL | IOCX_PVA_FROM_SERVER);
  PvaWire wire(listener_);
  wire.to_client(greeting(b_));
  wire.to_server(control);
  wire.to_server(hello(b_));
  wire.to_client(welcome(b_));
  init(wire, b_, 11, 101);
  wire.to_server(echo + put);
  wire.to_server(b_.message(true, kPut, ids, IOCX_PVA_FROM_SERVER) + put);
  EXPECT_EQ(counted("A").puts, 3u);
  wire.to_server(b_.message(true, IOCX_PVA_CMD_ECHO, {}, IOCX_PVA_CONTINUED) + put);
  EXPECT_EQ(counted("A").puts, 4u);
  EXPECT_EQ(drop(IOCX_CA_DROP_NOT_PARSED), 1u);
  // First segments alone: each is a put.
  for (int i = 0; i < 23; ++i) wire.to_server(b_.message(true, kPut, ids, IOCX_PVA_FIRST));
  wire.to_server(put);
  EXPECT_EQ(counted("A").puts, 28u);
  // The last one is of another command.
  wire.to_server(b_.message(true, kPut, ids, IOCX_PVA_FIRST) +
                 b_.message(true, kRpc, {}, IOCX_PVA_CONTINUED) + put);
  EXPECT_EQ(counted("A").puts, 30u);
  EXPECT_EQ(drop(IOCX_CA_DROP_NOT_CA) + drop(IOCX_CA_DROP_REFUSED) + drop(IOCX_CA_DROP_GAP), 0u);
  expect_as(wire);
}

// pvxs does nothing of it, and writes to A: the SID of a put counts for nothing while its request
// is there.
TEST_F(PvaTapHostileTest, ARequestKeepsItsChannel) {
  constexpr std::uint8_t kEnd = IOCX_PVA_SUB_DESTROY;
  std::uint64_t circuits = 0;
  for (const Bytes& more :
       {Bytes(), b_.request(IOCX_PVA_CMD_PROCESS, 11, 101, kEnd),
        b_.request(IOCX_PVA_CMD_ARRAY, 11, 101, kEnd), b_.request(kPutGet, 11, 101, 0x40 | kEnd),
        b_.init(kPutGet, 12, 101), b_.init(kPutGet, 999, 101)}) {
    PvaWire wire(listener_);
    open(wire, b_);
    wire.to_server(b_.request(kPut, 11, 101, IOCX_PVA_SUB_INIT | kEnd));
    wire.to_client(b_.answer(kPut, 101, IOCX_PVA_SUB_INIT));
    wire.to_server(more + b_.put(11, 101));
    wire.to_client(b_.answer(kPut, 101, 0));
    wire.to_server(b_.put(12, 101));
    wire.to_client(b_.answer(kPut, 101, 0));
    ++circuits;
    EXPECT_EQ(counted("A"), (PvaCounts{2 * circuits, 0, 2 * circuits, 0}));
  }
  EXPECT_EQ(counted("B"), PvaCounts{});
  expect_nothing_lost();
}

// pvAccessCPP reads 8 bytes here, pvxs 128 MiB.
TEST_F(PvaTapHostileTest, AnotherByteOrderThanTheServersIsTold) {
  PvaWire wire(listener_);
  open(wire, b_);
  init(wire, b_, 11, 101);
  wire.to_server(PvaBytes(true).message(true, IOCX_PVA_CMD_ECHO, {}) + b_.put(11, 101));
  EXPECT_EQ(counted("A").puts, 1u);  // as pvxs reads it
  EXPECT_EQ(drop(IOCX_CA_DROP_NOT_PARSED), 1u);
  Bytes echo = b_.message(true, IOCX_PVA_CMD_ECHO, Bytes(8, 1));
  echo[2] = IOCX_PVA_BIG_ENDIAN;
  wire.to_server(echo + b_.put(11, 101));
  EXPECT_EQ(drop(IOCX_CA_DROP_NOT_PARSED), 2u);
}

// Servers differ in what they take the ids for.
TEST_F(PvaTapHostileTest, SegmentsInTwoByteOrdersAreNotRead) {
  PvaWire wire(listener_);
  open(wire, b_);
  init(wire, b_, 11, 101);
  const Bytes put = b_.request(kPut, 11, 101, 0), ids(put.begin() + IOCX_PVA_HEADER, put.end());
  wire.to_server(b_.message(true, kPut, ids, IOCX_PVA_FIRST) +
                 PvaBytes(true).message(true, kPut, {1}, IOCX_PVA_CONTINUED) + put);
  EXPECT_EQ(counted("A").puts, 1u);
  EXPECT_GE(drop(IOCX_CA_DROP_NOT_PARSED), 1u);
}

TEST_F(PvaTapHostileTest, AnEmptyNameEndsTheList) {
  PvaWire wire(listener_);
  wire.to_client(greeting(b_));
  wire.to_server(b_.create({{1, "A"}, {2, ""}, {3, "C"}}));
  wire.to_client(b_.created(1, 11) + b_.created(3, 13));
  wire.to_server(b_.put(11, 101) + b_.put(13, 102));
  EXPECT_EQ(counted("A").puts, 1u);
  EXPECT_EQ(counted("C").puts, 0u);
  EXPECT_EQ(counted("").puts, 1u);
}

TEST_F(PvaTapHostileTest, ValuesAreNoMessages) {
  PvaWire wire(listener_);
  open(wire, b_);
  init(wire, b_, 11, 101);
  const Bytes messages = b_.created(7, 12) + repeat(b_.put(12, 101), 23) + b_.destroy(12, 2);
  wire.to_server_in_pieces(b_.request(kPut, 11, 101, 0, messages), 33);
  wire.to_client_in_pieces(b_.answer(kPut, 101, 0, b_.ok(), b_.created(2, 99) + messages), 33);
  wire.to_server(b_.put(12, 102));
  EXPECT_EQ(counted("A"), (PvaCounts{1, 0, 1, 0}));
  EXPECT_EQ(counted("B").puts, 1u);
  expect_nothing_lost();
}

TEST_F(PvaTapHostileTest, OneClientCannotTakeAllRoom) {
  puts::TapSizes sizes;
  sizes.max_channels = 64;
  sizes.max_pending = 64;
  start_pva(sizes);
  PvaWire greedy(listener_), other(listener_);
  greedy.to_client(greeting(b_));
  std::uint64_t sent = 0;
  for (std::uint32_t i = 0; i < 200; ++i) {
    greedy.to_server(b_.create({{i, "G" + std::to_string(i)}}));
    greedy.to_client(b_.created(i, 1000 + i));
    greedy.to_server(b_.init(kPut, 1000 + i, i) + repeat(b_.put(1000 + i, i), 3));
    sent += 3;
  }
  open(other, b_);
  init(other, b_, 11, 101);
  other.to_server(b_.put(11, 101));
  other.to_client(b_.answer(kPut, 101, 0));
  EXPECT_EQ(counted("A"), (PvaCounts{1, 0, 1, 0}));
  std::uint64_t named = 0;
  for (const auto& [key, one] : counted()) named += key.first.starts_with("G") ? one.puts : 0;
  EXPECT_EQ(named + counted("").puts, sent);
  EXPECT_GT(named, 60u);
  EXPECT_GT(drop(IOCX_CA_DROP_CHANNELS_FULL), 0u);
  EXPECT_GT(drop(IOCX_CA_DROP_OUTCOMES_FULL), 0u);
  EXPECT_EQ(drop(IOCX_CA_DROP_LOST_PUT), 0u);
}

}  // namespace

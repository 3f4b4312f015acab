// Puts by PV Access, counted from packets on loopback, beside the model of a circuit.
#include "bpf/pva_tap_fixture.h"

namespace {

using namespace ioc_exporter;
using namespace ioc_exporter::testing;

TEST_F(PvaTapTest, CountsPutsInEitherByteOrder) {
  PvaCountsByName expected;
  for (const bool big : {false, true}) {
    SCOPED_TRACE(big);
    const PvaBytes b(big);
    PvaWire wire(listener_);
    open(wire, b, big ? "ben" : "anna");
    init(wire, b, 11, 101);
    init(wire, b, 11, 102, kPutGet);
    init(wire, b, 12, 103, kRpc);
    for (int i = 0; i < 23; ++i) {
      wire.to_server(b.put(11, 101) + b.put(11, 102, kPutGet));
      wire.to_client(b.answer(kPut, 101, 0) + b.answer(kPutGet, 102, 0));
    }
    for (int i = 0; i < 29; ++i) {
      wire.to_server(b.put(12, 103, kRpc));
      wire.to_client(b.answer(kRpc, 103, 0));
    }
    // Reading what would be put, or was, is no put.
    wire.to_server(b.request(kPut, 11, 101, IOCX_PVA_SUB_GET) +
                   b.request(kPutGet, 11, 102, IOCX_PVA_SUB_GET_PUT));
    wire.to_client(b.answer(kPut, 101, IOCX_PVA_SUB_GET) +
                   b.answer(kPutGet, 102, IOCX_PVA_SUB_GET_PUT));
    add_counts(wire.model(), expected);
    EXPECT_EQ(requests(), 3u);
    EXPECT_EQ(flow().counts[IOCX_CA_COUNT_GETS], 2u);
    wire.to_server(b.end_request(11, 101) + b.end_request(11, 102) + b.end_request(12, 103));
    EXPECT_EQ(requests(), 0u);
    wire.circuit().abort();
  }
  EXPECT_EQ(counted(), expected);
  EXPECT_EQ(expected.at({"A", "anna"}), (PvaCounts{46, 0, 46, 0}));
  EXPECT_EQ(expected.at({"B", "ben"}), (PvaCounts{0, 29, 29, 0}));
  expect_nothing_lost();
}

TEST_F(PvaTapTest, TellsWhyAPutHasFailed) {
  PvaWire wire(listener_);
  open(wire, b_);
  init(wire, b_, 11, 101);
  init(wire, b_, 11, 102);
  wire.to_server(b_.put(11, 101));
  wire.to_client(b_.answer(kPut, 101, 0, b_.error("Put not permitted")));
  wire.to_server(b_.put(11, 101));
  wire.to_client(b_.answer(kPut, 101, 0, b_.error("no write access")));
  wire.to_server(b_.put(11, 101));
  wire.to_client(b_.answer(kPut, 101, 0, b_.error("Put not possible")));
  wire.to_server(b_.put(11, 101));
  wire.to_client(b_.answer(kPut, 101, 0, {3, 0, 0}));  // without words
  wire.to_server(b_.put(11, 101));
  wire.to_client(b_.answer(kPut, 101, 0, {1, 0, 0}));  // a warning
  // A request that is refused takes no put with it.
  wire.to_server(b_.init(kPut, 12, 103));
  wire.to_client(b_.answer(kPut, 103, IOCX_PVA_SUB_INIT, b_.error("Put not permitted")));
  EXPECT_EQ(counted("A"), (PvaCounts{5, 0, 5, 4}));
  EXPECT_EQ(failures(IOCX_CA_NO_WRITE_ACCESS), 2u);
  EXPECT_EQ(failures(IOCX_CA_PUT_FAILED), 2u);
  EXPECT_EQ(requests(), 2u);
  expect_as(wire);
}

TEST_F(PvaTapTest, CountsInPiecesOfEverySize) {
  const Bytes put = b_.put(11, 101);
  PvaCountsByName expected;
  for (std::size_t piece = 1; piece < 47; ++piece) {
    PvaWire wire(listener_);
    wire.to_client_in_pieces(greeting(b_), piece);
    wire.to_server_in_pieces(hello(b_), piece);
    wire.to_client_in_pieces(welcome(b_), piece);
    wire.to_server_in_pieces(b_.init(kPut, 11, 101) + repeat(put, 7), piece);
    wire.to_client_in_pieces(
        b_.answer(kPut, 101, 8) + repeat(b_.answer(kPut, 101, 0, b_.error("no")), 7), piece);
    add_counts(wire.model(), expected);
  }
  EXPECT_EQ(expected.at({"A", "anna"}).puts, 46u * 7u);
  // The model, too, has one answer for a put that was sent again before it.
  EXPECT_EQ(counted(), expected);
}

TEST_F(PvaTapTest, ReadsSegmentedAndControlMessages) {
  PvaWire wire(listener_);
  open(wire, b_);
  const auto segmented = [this](const Bytes& payload, std::uint32_t command, std::ptrdiff_t first,
                                std::ptrdiff_t second = 3) {
    const auto at = payload.begin() + first, then = at + second;
    return b_.message(true, command, Bytes(payload.begin(), at), IOCX_PVA_FIRST) +
           b_.header(true, 0, 77, IOCX_PVA_CONTROL) +  // between two segments
           b_.message(true, command, Bytes(at, then), IOCX_PVA_FIRST | IOCX_PVA_CONTINUED) +
           b_.message(true, command, Bytes(then, payload.end()), IOCX_PVA_CONTINUED);
  };
  const Bytes names = b_.create_payload({{3, "PV:THREE"}, {4, "PV:FOUR"}, {5, "PV:FIVE"}});
  wire.to_server(segmented(names, IOCX_PVA_CMD_CREATE_CHANNEL, 15, 12));
  wire.to_client(b_.created(3, 13) + b_.created(4, 14));
  init(wire, b_, 14, 101);
  const Bytes put = b_.put(14, 101);
  const Bytes payload(put.begin() + IOCX_PVA_HEADER, put.end());
  const auto size = static_cast<std::ptrdiff_t>(payload.size());
  for (std::ptrdiff_t first = 9; first < size - 3; ++first) {
    wire.to_server_in_pieces(segmented(payload, kPut, first), 1);
    wire.to_client(b_.header(false, 0, 77, IOCX_PVA_CONTROL) + b_.answer(kPut, 101, 0));
  }
  EXPECT_EQ(counted("PV:FOUR"), (PvaCounts{7, 0, 7, 0}));
  expect_as(wire);
  expect_nothing_lost();
  // SID and IOID are spread over segments: that it may have been a put is said.
  wire.to_server(segmented(payload, kPut, 4));
  EXPECT_EQ(drop(IOCX_CA_DROP_NOT_PARSED), 1u);
  expect_as(wire);
}

TEST_F(PvaTapTest, CountsLargestSegmentsAndArrays) {
  PvaWire wire(listener_);
  open(wire, b_);
  init(wire, b_, 11, 101);
  init(wire, b_, 12, 102);
  const Bytes shortest = b_.request(kPut, 11, 101, 0);
  wire.to_server(repeat(b_.header(true, 0, 1, IOCX_PVA_CONTROL), 20000) + repeat(shortest, 20011));
  wire.to_server(repeat(b_.request(kPut, 12, 102, 0, Bytes(400000, 0xCA)), 23));
  EXPECT_EQ(counted("A").puts, 20011u);
  EXPECT_EQ(counted("B").puts, 23u);
  Bytes cut = repeat(shortest, 3);
  cut.pop_back();
  wire.to_server(cut);
  EXPECT_EQ(counted("A").puts, 20013u);
  expect_nothing_lost();
}

// pvxs does not look at the SID of a put.
TEST_F(PvaTapTest, APutBelongsToItsRequest) {
  PvaWire wire(listener_);
  open(wire, b_);
  init(wire, b_, 11, 101);
  wire.to_server(repeat(b_.put(12, 101), 23) + b_.put(999, 101));
  wire.to_client(b_.answer(kPut, 101, 0));
  EXPECT_EQ(counted("A"), (PvaCounts{24, 0, 1, 0}));
  expect_as(wire);
  // The answer that was not asked for; the last one ends the request.
  wire.to_client(b_.answer(kPut, 101, 0));
  EXPECT_EQ(drop(IOCX_CA_DROP_ORPHAN_ANSWER), 1u);
  wire.to_server(b_.request(kPut, 11, 101, IOCX_PVA_SUB_DESTROY));
  EXPECT_EQ(requests(), 1u);
  wire.to_client(b_.answer(kPut, 101, IOCX_PVA_SUB_DESTROY));
  EXPECT_EQ(requests(), 0u);
  expect_as(wire);
}

TEST_F(PvaTapTest, IdsAreUsedAgain) {
  PvaWire wire(listener_);
  open(wire, b_);
  init(wire, b_, 11, 101);
  wire.to_server(b_.put(11, 101) + b_.destroy(11, 1) + b_.create({{1, "C"}}));
  wire.to_client(b_.answer(kPut, 101, 0) + b_.destroyed(11, 1) + b_.created(1, 11));
  wire.to_server(b_.put(11, 101));  // the request has ended with its channel
  EXPECT_EQ(counted(""), (PvaCounts{1, 0, 0, 0}));
  init(wire, b_, 11, 101);
  wire.to_server(b_.put(11, 101));
  wire.to_client(b_.answer(kPut, 101, 0));
  EXPECT_EQ(counted("A"), (PvaCounts{1, 0, 1, 0}));
  EXPECT_EQ(counted("C"), (PvaCounts{1, 0, 1, 0}));
  // The IOID goes to another channel, after its end and without one.
  wire.to_server(b_.end_request(11, 101));
  init(wire, b_, 12, 101, kRpc);
  wire.to_server(b_.put(12, 101, kRpc));
  EXPECT_EQ(counted("B"), (PvaCounts{0, 1, 0, 0}));
  expect_as(wire);
  EXPECT_EQ(requests(), 1u);
  // The server closes channels too.
  wire.to_client(b_.destroyed(12, 2));
  wire.to_server(b_.put(12, 101, kRpc));
  EXPECT_EQ(counted(""), (PvaCounts{1, 1, 0, 0}));
  EXPECT_EQ(flow().counts[IOCX_CA_COUNT_DISCONNECTS], 1u);
  EXPECT_EQ(drop(IOCX_CA_DROP_ORPHAN_ANSWER), 0u);
  wire.circuit().abort();
  collect();
  reap_all();
  EXPECT_EQ(entries("ca_pending") + entries("ca_channels") + entries("ca_outcomes"), 0u);
  const auto& maps = tap_->object().maps();
  EXPECT_EQ(maps.sids.keys()->size() + maps.cids.keys()->size(), 0u);
}

TEST_F(PvaTapTest, ChannelsThatAreRefusedHaveNoName) {
  PvaWire wire(listener_);
  wire.to_client(greeting(b_));
  wire.to_server(hello(b_));
  wire.to_client(b_.created(1, 0xFFFFFFFF, b_.error("no such PV")) + b_.created(2, 12));
  wire.to_server(b_.put(11, 101) + b_.put(12, 102));
  EXPECT_EQ(counted("A"), (PvaCounts{}));
  EXPECT_EQ(counted("B").puts, 1u);
  EXPECT_EQ(counted("").puts, 1u);
}

TEST_F(PvaTapTest, NamesOfChannelsAreCut) {
  PvaWire wire(listener_);
  const std::string name(300, 'n');
  wire.to_client(greeting(b_));
  wire.to_server_in_pieces(b_.create({{1, name.substr(0, 231)}, {2, name}, {3, "C"}}), 64);
  wire.to_client(b_.created(1, 11) + b_.created(2, 12) + b_.created(3, 13));
  wire.to_server(b_.put(11, 101) + b_.put(12, 102) + b_.put(13, 103));
  EXPECT_EQ(counted(name.substr(0, 231)).puts, 2u);
  EXPECT_EQ(counted("C").puts, 1u);
  EXPECT_EQ(drop(IOCX_CA_DROP_NAME_CUT), 1u);
}

// Nothing keeps a client from sending before it has said who it is: pvxs writes.
TEST_F(PvaTapTest, CircuitsThatAreOpenAlready) {
  start_blind({});
  PvaWire wire(listener_);
  open(wire, b_);
  init(wire, b_, 11, 101);
  watch(listener_, kIoc, puts::Protocol::pva);
  wire.circuit().to_server(b_.put(11, 101));
  wire.circuit().to_client(b_.answer(kPut, 101, 0));
  wire.circuit().to_server(b_.put(11, 101) + b_.put(12, 102));
  wire.circuit().to_client(b_.answer(kPut, 101, 0) + b_.answer(kPut, 102, 0, b_.error("no")));
  EXPECT_EQ(counted(""), (PvaCounts{2, 0, 2, 1}));  // the first one's answer proves the boundaries
  EXPECT_EQ(drop(IOCX_CA_DROP_LATE), 1u);
  EXPECT_EQ(flow().unnamed, 2u);  // a slot for each SID
  wire.circuit().to_server(b_.create({{3, "C"}}));
  wire.circuit().to_client(b_.created(3, 13));
  wire.circuit().to_server(b_.init(kPut, 13, 101) + b_.put(13, 101));
  EXPECT_EQ(counted("C"), (PvaCounts{1, 0, 0, 0}));
  EXPECT_EQ(counted("").puts, 2u);
}

TEST_F(PvaTapTest, EachServerHasItsProtocol) {
  Listener ca_listener;
  std::vector<puts::TapServer> servers(2);
  servers[0].port = listener_.port();
  servers[0].ioc = kIoc;
  servers[0].protocol = puts::Protocol::pva;
  servers[1].port = ca_listener.port();
  servers[1].ioc = kIoc + 1;
  auto ok = tap_->set_servers(servers);
  ASSERT_TRUE(ok) << ok.error().message();
  Circuit ca_circuit(ca_listener);
  ca_circuit.open("u", "h", {"CA"});
  PvaWire wire(listener_);
  open(wire, b_);
  ca_circuit.to_server(repeat(write(100), 23));
  wire.to_server(b_.init(kPut, 11, 101) + repeat(b_.put(11, 101), 29));
  EXPECT_EQ(puts("CA"), 23u);
  std::uint64_t pva = 0;
  auto read = tap_->object().maps().flows.for_each([&](const auto&, const iocx_ca_flow& one) {
    if (iocx_ca_is_pva(one.ioc)) ++pva;
  });
  EXPECT_TRUE(read);
  EXPECT_EQ(pva, 1u);
  expect_nothing_lost();
}

}  // namespace

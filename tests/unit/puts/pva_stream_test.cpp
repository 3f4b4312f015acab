// Messages of PV Access, whole, cut and in segments, in both byte orders.
#include "support/pva_stream.h"

#include <gtest/gtest.h>

#include "support/pva_bytes.h"

namespace {

using ioc_exporter::pva::PvaDirection;
using ioc_exporter::pva::PvaEvent;
using ioc_exporter::pva::PvaStream;
using ioc_exporter::testing::PvaBytes;
using PvaEvents = std::vector<PvaEvent>;
using Bytes = PvaBytes::Bytes;

constexpr std::uint32_t kPut = IOCX_PVA_CMD_PUT, kPutGet = IOCX_PVA_CMD_PUT_GET,
                        kRpc = IOCX_PVA_CMD_RPC, kGet = IOCX_PVA_CMD_GET,
                        kMonitor = IOCX_PVA_CMD_MONITOR;
constexpr std::uint8_t kInit = IOCX_PVA_SUB_INIT, kLast = IOCX_PVA_SUB_DESTROY,
                       kGetBit = IOCX_PVA_SUB_GET;

PvaEvent simple(std::uint32_t kind, std::uint32_t id = 0, std::uint32_t other = 0) {
  return {.kind = kind, .id = id, .other = other};
}
PvaEvent asked(std::uint32_t kind, std::uint32_t command, std::uint32_t sid, std::uint32_t ioid,
               std::uint32_t sub = 0) {
  return {.kind = kind, .id = sid, .other = ioid, .command = command, .sub = sub};
}
PvaEvent answered(std::uint32_t kind, std::uint32_t command, std::uint32_t ioid, std::uint32_t sub,
                  bool ok = true, const std::string& text = "") {
  return {.kind = kind, .other = ioid, .command = command, .sub = sub, .ok = ok, .text = text};
}
PvaEvent named(std::uint32_t cid, const std::string& name) {
  return {.kind = IOCX_PVA_CREATE, .id = cid, .text = name};
}
PvaEvent client(const std::string& method, const std::string& user, const std::string& host,
                bool ok = true) {
  return {.kind = IOCX_PVA_IDENTIFY, .ok = ok, .text = method, .user = user, .host = host};
}

PvaEvents feed_cut(PvaStream stream, const Bytes& bytes, std::size_t first, std::size_t piece) {
  PvaEvents all;
  for (std::size_t from = 0, size = first; from < bytes.size(); from += size, size = piece) {
    size = std::min(size, bytes.size() - from);
    for (PvaEvent& event : stream.feed(std::span(bytes).subspan(from, size)))
      all.push_back(std::move(event));
  }
  return all;
}

struct PvaTalk {
  PvaDirection direction;
  Bytes bytes;
  PvaEvents events;
};

PvaTalk requests(const PvaBytes& b) {
  return {PvaDirection::to_server,
          PvaBytes::join(
              {b.identify("ca", b.user_and_host("operator", "console-1")),
               b.message(true, IOCX_PVA_CMD_SEARCH, Bytes(43, 7)),
               b.create({{1, "PS:1:SP"}, {2, std::string(300, 'n')}, {0x12345678, "PS:2:SP"}}),
               b.init(kPut, 11, 101), b.request(kPut, 11, 101, kGetBit), b.put(11, 101),
               b.header(true, 3, 77, IOCX_PVA_CONTROL), b.init(kPutGet, 11, 102),
               b.put(11, 102, kPutGet), b.request(kPutGet, 11, 102, 0x80), b.init(kRpc, 12, 103),
               b.request(kRpc, 12, 103, kLast, Bytes(5000, 0xCA)), b.init(kGet, 11, 104),
               b.request(kGet, 11, 104, kGetBit | kLast), b.init(kMonitor, 11, 105),
               b.request(kMonitor, 11, 105, 0x44), b.end_request(11, 105),
               b.request(kPut, 11, 101, 0, Bytes(70000, 3)), b.destroy(11, 1)}),
          {client("ca", "operator", "console-1"), named(1, "PS:1:SP"),
           named(2, std::string(IOCX_CA_NAME - 1, 'n')), named(0x12345678, "PS:2:SP"),
           asked(IOCX_PVA_INIT, kPut, 11, 101, kInit), asked(IOCX_PVA_ASK, kPut, 11, 101, kGetBit),
           asked(IOCX_PVA_PUT, kPut, 11, 101), asked(IOCX_PVA_INIT, kPutGet, 11, 102, kInit),
           asked(IOCX_PVA_PUT, kPutGet, 11, 102), asked(IOCX_PVA_ASK, kPutGet, 11, 102, 0x80),
           asked(IOCX_PVA_INIT, kRpc, 12, 103, kInit), asked(IOCX_PVA_PUT, kRpc, 12, 103, kLast),
           asked(IOCX_PVA_INIT, kGet, 11, 104, kInit),
           asked(IOCX_PVA_ASK, kGet, 11, 104, kGetBit | kLast),
           asked(IOCX_PVA_INIT, kMonitor, 11, 105, kInit),
           asked(IOCX_PVA_ASK, kMonitor, 11, 105, 0x44), simple(IOCX_PVA_END_REQUEST, 11, 105),
           asked(IOCX_PVA_PUT, kPut, 11, 101), simple(IOCX_PVA_DESTROY, 11, 1)}};
}

PvaTalk answers(const PvaBytes& b) {
  const std::string words = "no write access";
  const Bytes warning = PvaBytes::join({{1}, b.text("late"), b.text("")});
  return {PvaDirection::to_client,
          PvaBytes::join(
              {b.byte_order(), b.offer(), b.validated(), b.created(1, 11),
               b.created(2, 0xFFFFFFFF, b.error("Refused to create Channel")),
               b.answer(kPut, 101, kInit, PvaBytes::ok(), Bytes(139, 0x80)),
               b.answer(kPut, 101, kGetBit, PvaBytes::ok(), Bytes(20, 1)), b.answer(kPut, 101, 0),
               b.answer(kPut, 101, 0, b.error(words)), b.answer(kPut, 101, 0, warning),
               b.answer(kRpc, 103, kLast, PvaBytes::ok(), Bytes(70000, 0xCA)),
               b.answer(kPut, 101, 0, b.error(std::string(400, 'e'))),
               b.answer(kMonitor, 105, kInit, PvaBytes::ok(), Bytes(50, 2)),
               b.message(false, kMonitor, PvaBytes::join({b.number(105, 4), {0}, Bytes(30, 9)})),
               b.message(false, 0x12, PvaBytes::join({b.number(101, 4), {1}, b.text("hint")})),
               b.destroyed(11, 1)}),
          {simple(IOCX_PVA_BYTE_ORDER),
           simple(IOCX_PVA_OFFER),
           simple(IOCX_PVA_VALIDATED),
           simple(IOCX_PVA_CREATED, 1, 11),
           {.kind = IOCX_PVA_CREATED, .id = 2, .other = 0xFFFFFFFF, .ok = false},
           answered(IOCX_PVA_INITED, kPut, 101, kInit),
           answered(IOCX_PVA_ANSWER, kPut, 101, kGetBit),
           answered(IOCX_PVA_ANSWER, kPut, 101, 0),
           answered(IOCX_PVA_ANSWER, kPut, 101, 0, false, words),
           answered(IOCX_PVA_ANSWER, kPut, 101, 0),
           answered(IOCX_PVA_ANSWER, kRpc, 103, kLast),
           answered(IOCX_PVA_ANSWER, kPut, 101, 0, false, std::string(IOCX_PVA_TEXT - 6, 'e')),
           answered(IOCX_PVA_INITED, kMonitor, 105, kInit),
           answered(IOCX_PVA_UPDATE, kMonitor, 105, 0),
           simple(IOCX_PVA_DESTROY, 11, 1)}};
}

// Names and puts in segments of messages.
PvaTalk segments(const PvaBytes& b) {
  const Bytes names = b.create_payload({{1, "PS:1:SP"}, {2, "PS:2:SP"}, {3, "PS:3:SP"}});
  const auto at = [&](std::size_t from, std::size_t to) {
    return Bytes(names.begin() + static_cast<std::ptrdiff_t>(from),
                 names.begin() + static_cast<std::ptrdiff_t>(to));
  };
  const Bytes head = PvaBytes::join({b.number(11, 4), b.number(101, 4), {0}});
  const std::uint32_t first = 0x10, last = 0x20, middle = 0x30, command = 7;
  return {PvaDirection::to_server,
          PvaBytes::join(
              {b.identify("anonymous"), b.message(true, command, at(0, 14), first),
               b.message(true, command, {}, middle), b.message(true, command, at(14, 26), middle),
               b.header(true, 3, 1, IOCX_PVA_CONTROL),
               b.message(true, command, at(26, names.size()), last),
               b.message(true, kPut, PvaBytes::join({head, Bytes(900, 1)}), first),
               b.message(true, kPut, Bytes(2000, 0xCA), middle), b.message(true, kPut, {}, last),
               b.put(11, 102), b.message(true, kPut, at(0, 7), first),  // not even the head
               b.message(true, kPut, Bytes(40, 1), last),
               b.message(true, command, at(0, 20), first),  // cut in a name
               b.message(true, command, at(20, names.size()), last), b.put(11, 103)}),
          {client("anonymous", "", ""), named(1, "PS:1:SP"), named(2, "PS:2:SP"),
           named(3, "PS:3:SP"), asked(IOCX_PVA_PUT, kPut, 11, 101),
           asked(IOCX_PVA_PUT, kPut, 11, 102), simple(IOCX_PVA_UNREADABLE), named(1, "PS:1:SP"),
           simple(IOCX_PVA_UNREADABLE), asked(IOCX_PVA_PUT, kPut, 11, 103)}};
}

using MakeTalk = PvaTalk (*)(const PvaBytes&);
class PvaTalks : public ::testing::TestWithParam<std::tuple<MakeTalk, bool>> {
 protected:
  PvaEvents feed(std::size_t first, std::size_t piece) const {
    return feed_cut(PvaStream::from_start(talk_.direction), talk_.bytes, first, piece);
  }
  const PvaTalk talk_ = std::get<0>(GetParam())(PvaBytes(std::get<1>(GetParam())));
};
INSTANTIATE_TEST_SUITE_P(Of, PvaTalks,
                         ::testing::Combine(::testing::Values(&requests, &answers, &segments),
                                            ::testing::Bool()),
                         [](const auto& of) {
                           const MakeTalk make = std::get<0>(of.param);
                           const std::string name = make == &requests  ? "Requests"
                                                    : make == &answers ? "Answers"
                                                                       : "Segments";
                           return name + (std::get<1>(of.param) ? "BigEndian" : "LittleEndian");
                         });

TEST_P(PvaTalks, InOneSegment) {
  EXPECT_EQ(feed(talk_.bytes.size(), 1), talk_.events);
}

TEST_P(PvaTalks, SplitAtEveryOffset) {
  for (std::size_t cut = 1; cut < std::min<std::size_t>(talk_.bytes.size(), 3000); ++cut)
    ASSERT_EQ(feed(cut, talk_.bytes.size()), talk_.events) << "cut at " << cut;
}

TEST_P(PvaTalks, InPiecesOfEverySize) {
  for (std::size_t piece = 1; piece < 300; piece += piece < 80 ? 1 : 17)
    ASSERT_EQ(feed(piece, piece), talk_.events) << piece;
}

// The last event of a client's stream that says who it is.
PvaEvent identity_of(const Bytes& message) {
  const PvaEvents events = feed_cut(PvaStream::from_start(PvaDirection::to_server), message, 1, 50);
  return events.empty() ? PvaEvent{} : events.back();
}

class PvaIdentity : public ::testing::TestWithParam<bool> {
 protected:
  Bytes fields(const std::vector<std::pair<std::string, std::uint8_t>>& description,
               const std::vector<std::string>& values) const {
    Bytes bytes{0x80, 0, static_cast<std::uint8_t>(description.size())};
    for (const auto& [name, type] : description)
      bytes = PvaBytes::join({bytes, b_.text(name), {type}});
    for (const std::string& value : values) bytes = PvaBytes::join({bytes, b_.text(value)});
    return bytes;
  }
  const PvaBytes b_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Of, PvaIdentity, ::testing::Bool());

TEST_P(PvaIdentity, FindsUserAndHostByName) {
  const Bytes number{0xFD, 1, 0};  // pvAccessCPP numbers the description
  for (const Bytes& start : {Bytes(), number})
    EXPECT_EQ(
        identity_of(b_.identify(
            "ca", PvaBytes::join({start, fields({{"host", 0x60}, {"role", 0x60}, {"user", 0x60}},
                                                {"console-1", "expert", "operator"})}))),
        client("ca", "operator", "console-1"));
  EXPECT_EQ(identity_of(b_.identify("ca", fields({{"user", 0x60}}, {""}))), client("ca", "", ""));
}

TEST_P(PvaIdentity, HasNoUserWithoutAStructure) {
  EXPECT_EQ(identity_of(b_.identify("anonymous")), client("anonymous", "", ""));
  EXPECT_EQ(identity_of(b_.identify("ca")), client("ca", "", ""));
  EXPECT_EQ(identity_of(b_.identify("anonymous", {})), client("anonymous", "", ""));
  EXPECT_EQ(identity_of(b_.identify("x509", Bytes(400, 0x80))), client("x509", "", ""));
}

TEST_P(PvaIdentity, RefusesWhatDiffers) {
  const PvaEvent refused = client("ca", "", "", false);
  const auto type = [&](const Bytes& data) { return identity_of(b_.identify("ca", data)); };
  EXPECT_EQ(type({0xFE, 1, 0}), refused);                                      // a known number
  EXPECT_EQ(type(fields({{"user", 0x22}}, {"abc"})), refused);                 // an int
  EXPECT_EQ(type(fields({{"host", 0x60}}, {"console-1"})), refused);           // no user
  EXPECT_EQ(type(fields({{"user", 0x60}, {"host", 0x60}}, {"me"})), refused);  // cut
  EXPECT_EQ(type({0x80, 0, 200}), refused);                                    // too many fields
  EXPECT_EQ(type({0x60, 2, 'm', 'e'}), refused);                               // a string
  EXPECT_EQ(type(b_.user_and_host("me", std::string(230, 'h'))), refused);     // too long
  EXPECT_EQ(type({0x80}), refused);
}

class PvaHostile : public PvaIdentity {
 protected:
  PvaEvents from_client(const Bytes& bytes) const {
    return feed_cut(PvaStream::from_start(PvaDirection::to_server), bytes, bytes.size(), 1);
  }
  // What is read behind a message at which the server closes the circuit.
  PvaEvents after(const Bytes& message) const {
    PvaEvents events =
        from_client(PvaBytes::join({b_.identify("anonymous"), message, b_.put(11, 101)}));
    if (!events.empty()) events.erase(events.begin());
    return events;
  }
};
INSTANTIATE_TEST_SUITE_P(Of, PvaHostile, ::testing::Bool());

TEST_P(PvaHostile, ReadsNothingBehindAMessageThatEndsTheCircuit) {
  const PvaEvents refused{simple(IOCX_PVA_REFUSED_ALL)};
  Bytes wrong = b_.put(11, 1);
  for (const auto& [at, value] : {std::pair(0u, 0xCBu), {1u, 0u}}) {
    Bytes one = wrong;
    one[at] = static_cast<std::uint8_t>(value);
    EXPECT_EQ(after(one), refused) << at;
  }
  EXPECT_EQ(after(b_.message(true, kMonitor, Bytes(8, 0))), refused);    // no subcommand
  EXPECT_EQ(after(b_.message(true, kPut, Bytes(9, 0), 0x20)), refused);  // nothing to continue
  const Bytes too_many = PvaBytes::join({b_.number(9, 2), b_.number(1, 4), b_.text("PV")});
  EXPECT_EQ(after(b_.message(true, IOCX_PVA_CMD_CREATE_CHANNEL, too_many)),
            (PvaEvents{named(1, "PV"), simple(IOCX_PVA_REFUSED_ALL)}));
  const Bytes too_long = PvaBytes::join({b_.number(1, 2), b_.number(1, 4), {254}, {9, 9, 9, 9}});
  EXPECT_EQ(after(b_.message(true, IOCX_PVA_CMD_CREATE_CHANNEL, too_long)), refused);
}

// pvAccessCPP reads on, pvxs does not.
TEST_P(PvaHostile, ReadsSegmentsThatDoNotFit) {
  const PvaEvent put = asked(IOCX_PVA_PUT, kPut, 11, 101), zero = asked(IOCX_PVA_PUT, kPut, 0, 0);
  const Bytes first = b_.message(true, kPut, Bytes(9, 0), 0x10);
  EXPECT_EQ(after(first), (PvaEvents{zero, put}));
  EXPECT_EQ(after(PvaBytes::join({first, first})), (PvaEvents{zero, zero, put}));
  EXPECT_EQ(after(PvaBytes::join({first, b_.message(true, kRpc, Bytes(9, 0), 0x20)})),
            (PvaEvents{zero, put}));
  EXPECT_EQ(after(b_.message(true, kPut, {}, 0x20)), (PvaEvents{simple(IOCX_PVA_UNREADABLE), put}));
  EXPECT_EQ(after(b_.message(true, IOCX_PVA_CMD_ECHO, {}, 0x40)), PvaEvents{put});
}

// pvxs reads on, pvAccessCPP does not.
TEST_P(PvaHostile, PassesOverARequestThatIsTooShort) {
  for (const std::uint32_t command : {kGet, kPut, kPutGet, kRpc, 0x0Eu, 0x10u})
    EXPECT_EQ(after(b_.message(true, command, Bytes(8, 0))),
              (PvaEvents{simple(IOCX_PVA_UNREADABLE), asked(IOCX_PVA_PUT, kPut, 11, 101)}));
}

// Servers differ in what they take the ids for.
TEST_P(PvaHostile, SegmentsInTwoByteOrdersAreNotRead) {
  const Bytes put = b_.request(kPut, 11, 101, 0);
  const Bytes ids(put.begin() + IOCX_PVA_HEADER, put.end());
  EXPECT_EQ(after(PvaBytes::join({b_.message(true, kPut, ids, IOCX_PVA_FIRST),
                                  PvaBytes(!GetParam()).message(true, kPut, {1}, 0x20)})),
            (PvaEvents{simple(IOCX_PVA_UNREADABLE), asked(IOCX_PVA_PUT, kPut, 11, 101)}));
}

TEST_P(PvaHostile, AnEmptyNameEndsTheList) {
  EXPECT_EQ(after(b_.create({{1, "PV"}, {2, ""}, {3, "OTHER"}})),
            (PvaEvents{named(1, "PV"), asked(IOCX_PVA_PUT, kPut, 11, 101)}));
}

TEST_P(PvaHostile, ReadsNoOtherProtocol) {
  const PvaEvents none{simple(IOCX_PVA_NOT_PVA)};
  const std::string http = "GET / HTTP/1.1\r\n\r\n";
  EXPECT_EQ(from_client(Bytes(http.begin(), http.end())), none);
  EXPECT_EQ(from_client(Bytes{0, 0}), none);  // Channel Access
  EXPECT_EQ(from_client(b_.put(11, 101)), PvaEvents{asked(IOCX_PVA_PUT, kPut, 11, 101)});
  const auto server = [](const Bytes& bytes) {
    return feed_cut(PvaStream::from_start(PvaDirection::to_client), bytes, bytes.size(), 1);
  };
  EXPECT_EQ(server(b_.offer()), none);
  EXPECT_EQ(server(b_.header(false, 3, 0, IOCX_PVA_CONTROL)), none);
}

class PvaResync : public PvaIdentity {};
INSTANTIATE_TEST_SUITE_P(Of, PvaResync, ::testing::Bool());

TEST_P(PvaResync, ASegmentThatIsAMessage) {
  auto server = PvaStream::joined(PvaDirection::to_client);
  EXPECT_EQ(server.feed(b_.answer(kPut, 101, 0)),
            PvaEvents{answered(IOCX_PVA_ANSWER, kPut, 101, 0)});
}

// All may be part of a value. Their answers would prove them.
TEST_P(PvaResync, PutsProveNothing) {
  const Bytes one = b_.put(11, 101);
  auto stream = PvaStream::joined(PvaDirection::to_server);
  for (int i = 0; i < 40; ++i) EXPECT_EQ(stream.feed(one), PvaEvents());
  EXPECT_TRUE(stream.is_lost());
  stream.silence();
  EXPECT_EQ(stream.feed(one), PvaEvents{asked(IOCX_PVA_PUT, kPut, 11, 101)});
}

TEST_P(PvaResync, SixteenMessagesInARowThatAreNotAnsweredProveBoundaries) {
  const PvaEvent put = asked(IOCX_PVA_PUT, kPut, 11, 101);
  const Bytes end(333, 0xCA), one = b_.put(11, 101), ack = b_.request(kMonitor, 11, 105, 0x80);
  const auto acks = [&ack](std::size_t count) {
    Bytes all;
    for (std::size_t i = 0; i < count; ++i) all.insert(all.end(), ack.begin(), ack.end());
    return all;
  };
  const Bytes large = b_.request(kPut, 11, 101, 0, Bytes(5000, 1));
  for (const std::size_t cut : {11u, 359u, 600u, 5300u, 5500u}) {
    EXPECT_EQ(feed_cut(PvaStream::joined(PvaDirection::to_server),
                       PvaBytes::join({end, acks(3), large, acks(13), one, large}), cut, 6000),
              PvaEvents(2, put))
        << cut;
    EXPECT_EQ(feed_cut(PvaStream::joined(PvaDirection::to_server),
                       PvaBytes::join({end, acks(3), large, acks(12), one, end}), cut, 6000),
              PvaEvents())
        << cut;
  }
}

TEST_P(PvaResync, AGapInsideAValue) {
  const PvaEvent put = asked(IOCX_PVA_PUT, kPut, 11, 101);
  const Bytes large = b_.request(kPut, 11, 101, 0, Bytes(5000, 1));
  const std::span all(large);
  for (const std::uint32_t missing : {1000u, 4417u}) {
    auto stream = PvaStream::from_start(PvaDirection::to_server);
    stream.feed(b_.identify("anonymous"));
    stream.feed(all.first(600));
    PvaEvents events = stream.gap(missing);
    for (const PvaEvent& event : stream.feed(all.subspan(600 + missing))) events.push_back(event);
    EXPECT_EQ(events, PvaEvents{put}) << missing;
    EXPECT_EQ(stream.feed(b_.put(11, 101)), PvaEvents{put}) << missing;
  }
  // The sender has gone on: the put counts, and the boundaries are lost.
  auto stream = PvaStream::from_start(PvaDirection::to_server);
  stream.feed(b_.identify("anonymous"));
  stream.feed(all.first(600));
  EXPECT_EQ(stream.gap(4500), PvaEvents{put});
  EXPECT_TRUE(stream.is_lost());
}

}  // namespace

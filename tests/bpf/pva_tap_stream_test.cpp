// Segments of PV Access that do not come in order, come twice, or are lost.
#include <chrono>
#include <thread>

#include "bpf/pva_tap_fixture.h"

namespace {

using namespace ioc_exporter;
using namespace ioc_exporter::testing;

class PvaTapStreamTest : public OfPva<CaTapStreamTest> {
 protected:
  // Channels A and B, requests 101 and 102 for their puts. What follows is at forth_ and back_.
  void open(RawCircuit& circuit) {
    const Bytes first = greeting(b_), request = hello(b_);
    const Bytes answer = first + welcome(b_);
    const Bytes more = request + b_.init(kPut, 11, 101) + b_.init(kPut, 12, 102);
    circuit.begin();
    circuit.segment(kBack, 0, first);
    circuit.segment(kForth, 0, request);
    circuit.part(kBack, answer, first.size(), answer.size());
    circuit.part(kForth, more, request.size(), more.size());
    forth_ = more.size();
    back_ = answer.size();
    circuit.set_sent(kForth, forth_);
    circuit.set_sent(kBack, back_);
  }
  // What follows is at back_.
  void answer(RawCircuit& circuit, std::uint32_t ioid) {
    const Bytes one = b_.answer(kPut, ioid, 0);
    circuit.segment(kBack, back_, one);
    back_ += one.size();
  }
  std::uint64_t unread() {
    std::uint64_t bytes = 0;
    auto read = tap_->object().maps().flows.for_each(
        [&](const auto&, const auto& one) { bytes += one.counts[IOCX_CA_COUNT_UNREAD]; });
    EXPECT_TRUE(read);
    return bytes;
  }

  const PvaBytes b_{false};
};

TEST_F(PvaTapStreamTest, LargeSegmentsBeforeTheirTurn) {
  RawCircuit circuit(port());
  open(circuit);
  const Bytes value(1003, 0xCA);
  const Bytes bytes = stream(repeat(b_.put(11, 101) + b_.request(kPut, 12, 102, 0, value), 401));
  std::size_t at = forth_ + 1000;
  for (; at < bytes.size(); at += 65000)
    circuit.part(kForth, bytes, at, std::min(at + 65000, bytes.size()));
  EXPECT_EQ(counted("A").puts, 0u);
  circuit.part(kForth, bytes, forth_, forth_ + 1000);
  EXPECT_EQ(counted("A").puts, 401u);
  EXPECT_EQ(counted("B").puts, 401u);
  EXPECT_EQ(holes_filled(), 1u);
  EXPECT_EQ(pages(), 0u);
}

// The receiver has what was not seen here: nobody sends it again.
TEST_F(PvaTapStreamTest, AnAnswerProvesBoundariesBehindLostBytes) {
  const Bytes put = b_.put(11, 101);
  std::uint64_t counted_puts = 0, bytes_unread = 0;
  for (const std::size_t cut : {std::size_t{0}, std::size_t{1}, std::size_t{8}, put.size() - 1}) {
    SCOPED_TRACE(cut);
    RawCircuit circuit(port(), static_cast<std::uint16_t>(43000 + cut));
    open(circuit);
    const Bytes bytes = stream(repeat(put, 3000));
    circuit.part(kForth, bytes, forth_ + 200 * put.size() + cut, forth_ + 1000 * put.size());
    circuit.acknowledge(kForth, forth_ + 1000 * put.size());
    EXPECT_EQ(counted("A").puts, counted_puts);
    answer(circuit, 102);  // of another request
    circuit.part(kForth, bytes, forth_ + 1000 * put.size(), forth_ + 1100 * put.size());
    EXPECT_EQ(counted("A").puts, counted_puts);
    answer(circuit, 101);
    circuit.part(kForth, bytes, forth_ + 1100 * put.size(), bytes.size());
    counted_puts += 1900;
    bytes_unread += 1100 * put.size();
    EXPECT_EQ(counted("A").puts, counted_puts);
    EXPECT_EQ(unread(), bytes_unread);
  }
  EXPECT_EQ(drop(IOCX_CA_DROP_GAP), 4u);
  EXPECT_EQ(drop(IOCX_CA_DROP_RESYNC), 4u);
  EXPECT_EQ(counted("").puts, 0u);
}

// Bytes of a value are lost: nothing else is.
TEST_F(PvaTapStreamTest, AHoleInAValue) {
  RawCircuit circuit(port());
  open(circuit);
  const Bytes bytes =
      stream(repeat(b_.request(kPut, 11, 101, 0, Bytes(50000, 1)) + b_.put(12, 102), 2));
  circuit.part(kForth, bytes, forth_, forth_ + 20000);
  circuit.part(kForth, bytes, forth_ + 40000, bytes.size());
  circuit.acknowledge(kForth, bytes.size());
  EXPECT_EQ(counted("A").puts, 2u);
  EXPECT_EQ(counted("B").puts, 2u);
  EXPECT_EQ(drop(IOCX_CA_DROP_GAP), 0u);
}

TEST_F(PvaTapStreamTest, BehindLostBytesOnlyChannelsOfTheCircuitAreBelieved) {
  RawCircuit circuit(port());
  open(circuit);
  // A value that holds puts with a SID and an IOID that the circuit has not.
  const Bytes value = repeat(b_.put(555, 999), 400);
  const Bytes puts = repeat(b_.put(11, 101), 23);
  const Bytes bytes = stream(b_.request(kPut, 12, 102, 0, value) + puts + puts);
  circuit.part(kForth, bytes, forth_ + 980, bytes.size() - puts.size());
  circuit.acknowledge(kForth, bytes.size() - puts.size());
  answer(circuit, 101);
  circuit.part(kForth, bytes, bytes.size() - puts.size(), bytes.size());
  EXPECT_EQ(counted("A").puts, 23u);
  EXPECT_EQ(counted("B").puts, 0u);
  EXPECT_EQ(counted("").puts, 0u);
  EXPECT_GT(drop(IOCX_CA_DROP_ORPHAN), 0u);
}

TEST_F(PvaTapStreamTest, ACircuitThatIsMetInTheMiddleOfAMessage) {
  RawCircuit circuit(port());
  const Bytes put = b_.put(11, 101);
  const Bytes bytes = repeat(put, 500);
  circuit.part(kForth, bytes, 5, 20 * put.size());
  answer(circuit, 101);
  circuit.part(kForth, bytes, 20 * put.size(), bytes.size());
  answer(circuit, 101);
  EXPECT_EQ(counted(""), (PvaCounts{480, 0, 1, 0}));
  EXPECT_EQ(drop(IOCX_CA_DROP_LATE), 1u);
  EXPECT_EQ(drop(IOCX_CA_DROP_RESYNC), 2u);
}

// A value on its way while the exporter starts, whose bytes are puts.
TEST_F(PvaTapStreamTest, AValueThatIsOnItsWayBecomesNoPuts) {
  RawCircuit circuit(port());
  const Bytes put = b_.put(11, 101);
  circuit.segment(kBack, 0, b_.answer(kPut, 102, 0));  // makes the circuit known
  back_ = b_.answer(kPut, 102, 0).size();
  const Bytes value = Bytes(40, 0xFF) + repeat(put, 1009) + Bytes(40, 0xFF);
  const Bytes bytes = value + repeat(b_.put(12, 102), 7 + 13);
  circuit.part(kForth, bytes, 0, bytes.size() - 13 * put.size());
  answer(circuit, 102);  // of the value
  EXPECT_EQ(counted(""), PvaCounts());
  circuit.part(kForth, bytes, bytes.size() - 13 * put.size(), bytes.size());
  EXPECT_EQ(counted(""), (PvaCounts{13, 0, 0, 0}));
  EXPECT_EQ(unread(), bytes.size() - 13 * put.size());
}

TEST_F(PvaTapStreamTest, AfterASilenceAMessageStarts) {
  RawCircuit circuit(port());
  circuit.segment(kBack, 0, b_.answer(kPut, 101, 0));  // makes the circuit known
  circuit.segment(kForth, 0, Bytes(40, 0xFF));
  std::this_thread::sleep_for(std::chrono::milliseconds(2100));
  circuit.segment(kForth, 40, repeat(b_.put(11, 101), 3));
  EXPECT_EQ(counted("").puts, 3u);
  EXPECT_EQ(unread(), 40u);
}

// After an urgent byte the tap has lost its place; the client offers one that hides puts.
TEST_F(PvaTapStreamTest, WhatAnUnconfirmedMessageHidesIsUnread) {
  const Bytes put = b_.put(11, 101), puts = repeat(put, 23);
  std::uint16_t client = 43000;
  for (const Bytes& urgent : {Bytes(5, 0), put}) {  // lost; found again, and not sure of it
    RawCircuit circuit(port(), client++);
    open(circuit);
    const Bytes first = stream(urgent);
    const Bytes second = first + b_.header(true, IOCX_PVA_CMD_ECHO, 0x03FFFF00) + puts;
    const Bytes third = second + puts;
    circuit.part(kForth, first, forth_, first.size(), RawCircuit::kAck | RawCircuit::kUrgent);
    const std::uint64_t before = unread();
    circuit.part(kForth, third, first.size(), second.size());
    circuit.part(kForth, third, second.size(), third.size());
    EXPECT_EQ(unread() - before, third.size() - first.size()) << client;
  }
}

// An array that one client writes and another one monitors may hold messages of a server.
TEST_F(PvaTapStreamTest, AValueThatFeignsMessagesDoesNoLastingHarm) {
  RawCircuit circuit(port());
  open(circuit);
  circuit.set_sent(kBack, back_);
  const Bytes put = b_.put(11, 101), answer = b_.answer(kPut, 101, 0);
  const Bytes feigned = b_.destroyed(11, 77) + b_.created(3, 12) +
                        repeat(b_.message(false, IOCX_PVA_CMD_ECHO, {}), 100) + Bytes(50, 0xAA);
  const Bytes update = b_.message(false, IOCX_PVA_CMD_MONITOR,
                                  b_.number(103, 4) + Bytes{0} + Bytes(500, 0) + feigned);
  const Bytes to_server = stream(b_.create({{3, "C"}}) + put);
  circuit.part(kForth, to_server, forth_, to_server.size() - put.size());
  const Bytes before(back_, 0), back = before + update + answer + answer;
  circuit.part(kBack, back, back_ + 100, back_ + update.size());
  circuit.acknowledge(kBack, back_ + update.size());
  EXPECT_EQ(drop(IOCX_CA_DROP_GAP),
            2u);  // the bytes that are missing, and the message that is none
  circuit.part(kForth, to_server, to_server.size() - put.size(), to_server.size());
  circuit.part(kBack, back, back_ + update.size(), back.size());
  EXPECT_EQ(counted("A"), (PvaCounts{1, 0, 1, 0}));
}

// They are no part of what the server reads.
TEST_F(PvaTapStreamTest, ForgedSegmentsCountNothing) {
  RawCircuit circuit(port());
  open(circuit);
  const Bytes put = b_.put(11, 101), bytes = stream(repeat(put, 23));
  circuit.lone_segment(kForth, forth_ + (1u << 29), repeat(put, 100));
  circuit.lone_segment(kForth, forth_ + 4000, {}, RawCircuit::kRst);
  circuit.part(kForth, bytes, forth_, bytes.size());
  EXPECT_EQ(counted("A").puts, 23u);
  // An urgent byte is not in the stream: the place is lost, and found again.
  const Bytes more = bytes + repeat(put, 46);
  circuit.part(kForth, more, bytes.size(), bytes.size() + 23 * put.size(),
               RawCircuit::kAck | RawCircuit::kUrgent);
  EXPECT_EQ(counted("A").puts, 46u);
  circuit.part(kForth, more, bytes.size() + 23 * put.size(), more.size() - put.size());
  answer(circuit, 101);
  circuit.part(kForth, more, more.size() - put.size(), more.size());
  EXPECT_EQ(counted("A").puts, 47u);
  EXPECT_EQ(drop(IOCX_CA_DROP_GAP), 1u);
}

}  // namespace

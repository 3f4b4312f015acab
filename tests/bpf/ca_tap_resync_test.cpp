// Boundaries of messages that are lost, or were never known: where they are found again.
#include <algorithm>
#include <chrono>
#include <thread>

#include "bpf/ca_tap_stream_fixture.h"

namespace {

using namespace ioc_exporter;
using namespace ioc_exporter::testing;

class CaTapResyncTest : public CaTapStreamTest {};

// The receiver has what was not seen here: nobody sends it again.
TEST_F(CaTapResyncTest, AcknowledgedHoleStaysOpen) {
  RawCircuit circuit(port());
  open(circuit);
  const Bytes bytes = stream(repeat(write(100), 300));
  circuit.part(kForth, bytes, forth_, forth_ + 2400);         // 100 puts
  circuit.part(kForth, bytes, forth_ + 3600, forth_ + 4800);  // 50 puts, after 50 that are not seen
  circuit.part(kForth, bytes, forth_ + 6000, forth_ + 7200);  // and once more
  EXPECT_EQ(puts("A"), 100u);
  circuit.acknowledge(kForth, forth_ + 2400);  // as it does when it misses them too
  circuit.acknowledge(kForth, forth_ + 3000);
  EXPECT_EQ(puts("A"), 100u);
  EXPECT_EQ(drop(IOCX_CA_DROP_GAP), 0u);
  circuit.acknowledge(kForth, forth_ + 4800);
  EXPECT_EQ(puts("A"), 150u - 16u);  // which prove the boundaries
  EXPECT_EQ(collect().servers.at(0).unread_bytes, (50u + 16u) * 24u);
  EXPECT_EQ(drop(IOCX_CA_DROP_GAP), 1u);
  EXPECT_EQ(drop(IOCX_CA_DROP_RESYNC), 1u);
  EXPECT_EQ(pages(), 1u);  // the second hole may still be filled
  circuit.part(kForth, bytes, forth_ + 4800, forth_ + 6000);
  EXPECT_EQ(puts("A"), 250u - 16u);
  EXPECT_EQ(drop(IOCX_CA_DROP_GAP), 1u);
  EXPECT_EQ(drop(IOCX_CA_DROP_HOLE_FILLED), 1u);
  EXPECT_EQ(pages(), 0u);
}

// The first bytes after the hole are the rest of a message.
TEST_F(CaTapResyncTest, BoundariesAreFoundInTheMiddleOfASegment) {
  for (const std::size_t cut : {1u, 8u, 13u, 16u, 23u}) {
    SCOPED_TRACE(cut);
    RawCircuit circuit(port(), static_cast<std::uint16_t>(43000 + cut));
    const auto before = puts("A");
    open(circuit);
    const Bytes bytes = stream(repeat(write(100), 5000));
    circuit.part(kForth, bytes, forth_ + 4800 + cut,
                 forth_ + 60000);  // 200 puts and one are not seen
    circuit.acknowledge(kForth, forth_ + 60000);
    EXPECT_EQ(puts("A") - before, 2500u - 201u - 16u);
    circuit.part(kForth, bytes, forth_ + 60000, bytes.size());
    EXPECT_EQ(puts("A") - before, 5000u - 201u - 16u);
  }
  EXPECT_EQ(drop(IOCX_CA_DROP_GAP), 5u);
  EXPECT_EQ(drop(IOCX_CA_DROP_RESYNC), 5u);
  EXPECT_EQ(puts(""), 0u);
}

TEST_F(CaTapResyncTest, OnlyChannelsOfTheCircuitAreBelievedAfterAGap) {
  RawCircuit circuit(port());
  open(circuit);
  // An array that holds messages: some with a SID that the circuit has not.
  const Bytes values = repeat(write(555), 400) + Bytes(400, 0);
  const Bytes array = message(4, 4, static_cast<std::uint32_t>(values.size()), 101, 0, values);
  const Bytes bytes = stream(array + repeat(write(100), 23));
  circuit.part(kForth, bytes, forth_ + 960, bytes.size());
  circuit.acknowledge(kForth, bytes.size());
  EXPECT_EQ(puts("A"), 23u - 16u);
  EXPECT_EQ(puts("B"), 0u);
  EXPECT_EQ(puts(""), 0u);
  EXPECT_GT(drop(IOCX_CA_DROP_ORPHAN), 0u);
  EXPECT_EQ(drop(IOCX_CA_DROP_RESYNC), 1u);
}

TEST_F(CaTapResyncTest, JoinedCircuitFindsBoundariesFromItsFirstSegmentsOn) {
  RawCircuit circuit(port());
  const Bytes bytes = repeat(write(300), 500);
  circuit.part(kForth, bytes, 4, 40);  // not at a multiple of 8: nobody knows that yet
  EXPECT_EQ(puts(""), 0u);
  circuit.part(kForth, bytes, 40, 2400);
  // Without the one that the end of the first segment cuts, and those that prove the boundaries.
  EXPECT_EQ(puts(""), 98u - 16u);
  // Now it is known where messages can start.
  circuit.part(kForth, bytes, 4803, bytes.size());
  circuit.acknowledge(kForth, bytes.size());
  EXPECT_EQ(puts(""), 98u - 16u + 299u - 16u);
  EXPECT_EQ(drop(IOCX_CA_DROP_LATE), 1u);
  EXPECT_EQ(drop(IOCX_CA_DROP_GAP), 1u);
  EXPECT_EQ(drop(IOCX_CA_DROP_RESYNC), 2u);
}

// A late start in the middle of a header; all segments that follow start there as well.
TEST_F(CaTapResyncTest, JoinedCircuitFindsBoundariesWhereverSegmentsStart) {
  const Bytes bytes = repeat(write(300), 1000);
  for (std::uint16_t start = 1; start < 24; start = static_cast<std::uint16_t>(start + 2)) {
    SCOPED_TRACE(start);
    RawCircuit circuit(port(), static_cast<std::uint16_t>(45000 + start));
    circuit.part(kForth, bytes, start, start + 5u);
    // With the server's first word the circuit is known.
    circuit.segment(kBack, 0, Bytes(16, 0));
    for (std::size_t at = start; at < bytes.size(); at += 2400)
      circuit.part(kForth, bytes, at, std::min(at + 2400, bytes.size()));
  }
  // Of each connection the first message, those that prove the boundaries, and few that look like
  // one where they overlap.
  EXPECT_LE(puts(""), 12u * (999u - 16u));
  EXPECT_GT(puts(""), 12u * (990u - 16u));
}

TEST_F(CaTapResyncTest, UnreadBytesAreCounted) {
  RawCircuit circuit(port());
  circuit.segment(kBack, 0, Bytes(16, 0));  // with the server's first word the circuit is known
  circuit.segment(kForth, 0, Bytes(1000, 0xFF));
  circuit.segment(kForth, 1000, Bytes(1000, 0xFF));
  EXPECT_EQ(collect().servers.at(0).unread_bytes, 2000u);
  circuit.segment(kForth, 2000, repeat(write(300), 500));
  circuit.segment(kForth, 14000, repeat(write(300), 500));
  EXPECT_EQ(collect().servers.at(0).unread_bytes, 2000u + 16u * 24u);
}

// An array on its way while the exporter starts, whose bytes are a few writes to another channel.
TEST_F(CaTapResyncTest, AnArrayThatIsOnItsWayBecomesNoPuts) {
  RawCircuit circuit(port());
  const Bytes bytes = Bytes(40, 0xFF) + repeat(write(300), 15) + Bytes(40, 0xFF) + proof(100);
  for (std::size_t at = 0; at < bytes.size(); at += 100)
    circuit.part(kForth, bytes, at, std::min(at + 100, bytes.size()));
  circuit.segment(kForth, bytes.size(), repeat(write(100), 7));
  EXPECT_EQ(all_puts(), 7u);
  EXPECT_EQ(puts(""), 7u);
  EXPECT_EQ(collect().servers.at(0).unread_bytes, bytes.size());
}

// Sixteen put-callbacks in an array prove nothing: the server would answer them.
TEST_F(CaTapResyncTest, AnAnswerToAPutCallbackProvesBoundaries) {
  RawCircuit circuit(port());
  const Bytes answer = written(7);
  const Bytes before = Bytes(40, 0xFF) + repeat(write_notify(300, 5), 100) + Bytes(40, 0xFF);
  const Bytes bytes = before + write_notify(301, 7) + write(301) + repeat(write(301), 13);
  circuit.part(kForth, bytes, 0, before.size());
  circuit.segment(kBack, 0, answer + answer);  // of requests that were sent before
  circuit.part(kForth, bytes, before.size(), before.size() + 48);
  EXPECT_EQ(all_puts(), 0u);
  circuit.segment(kBack, 2 * answer.size(), answer);
  circuit.part(kForth, bytes, before.size() + 48, bytes.size());
  EXPECT_EQ(all_puts(), 13u);
  EXPECT_EQ(collect().servers.at(0).unread_bytes, before.size() + 48);
  EXPECT_EQ(drop(IOCX_CA_DROP_RESYNC), 2u);
}

TEST_F(CaTapResyncTest, AfterASilenceAMessageStarts) {
  RawCircuit heard(port()), silent(port(), 40002);
  heard.segment(kForth, 0, Bytes(40, 0xFF));
  silent.segment(kBack, 0, Bytes(16, 0));  // with the server's first word the circuit is known
  std::this_thread::sleep_for(std::chrono::milliseconds(2100));
  heard.segment(kForth, 40, write(300) + write(300));
  silent.segment(kForth, 0, write(301));
  EXPECT_EQ(all_puts(), 3u);
  EXPECT_EQ(collect().servers.at(0).unread_bytes, 40u);
}

// It would hide all that comes while it should.
TEST_F(CaTapResyncTest, AMessageThatIsTooLongToBeTrueIsNotBelieved) {
  RawCircuit circuit(port());
  circuit.segment(kBack, 0, Bytes(16, 0));  // with the server's first word the circuit is known
  Bytes longest = long_message(4, 6, 1u << 27, 300, 0);
  longest[16] = 0x40;  // 1 GiB
  const Bytes bytes = repeat(write(300), 5) + longest + repeat(write(301), 50);
  circuit.segment(kForth, 0, bytes);
  EXPECT_EQ(puts(""), 50u - 16u);
  circuit.segment(kForth, bytes.size(), repeat(write(301), 7));
  EXPECT_EQ(puts(""), 57u - 16u);
  EXPECT_EQ(collect().servers.at(0).unread_bytes, (5u + 1u + 16u) * 24u);
}

}  // namespace

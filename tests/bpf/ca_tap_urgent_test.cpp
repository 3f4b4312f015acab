// Urgent bytes (MSG_OOB): they are no part of what the server reads.
#include <algorithm>
#include <vector>

#include "bpf/ca_tap_stream_fixture.h"

namespace {

using namespace ioc_exporter;
using namespace ioc_exporter::testing;

constexpr std::uint8_t kMarked = RawCircuit::kAck | RawCircuit::kPush | RawCircuit::kUrgent;
constexpr std::size_t kPlaces[] = {0, 1, 7, 16, 23};

class CaTapUrgentTest : public CaTapStreamTest {
 protected:
  // 400 puts on A, with more bytes at some places.
  Bytes puts_with(const std::vector<std::size_t>& places) const {
    Bytes bytes = stream(repeat(write(100), 400));
    for (const std::size_t place : places)
      bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(forth_ + place), '!');
    return bytes;
  }
  void send(RawCircuit& circuit, const Bytes& bytes, std::size_t from, std::size_t to) {
    for (std::size_t at = from; at < to; at += 600)
      circuit.part(kForth, bytes, at, std::min(at + 600, to));
  }
  std::uint64_t unread() { return collect().servers.at(0).unread_bytes; }
};

// The urgent byte is no part of the stream; it may be announced long before it comes.
TEST_P(CaTapUrgentTest, UrgentBytesAreLeftOut) {
  for (const std::size_t place : {0u, 1u, 7u, 16u, 23u, 24u, 1199u, 2399u}) {
    SCOPED_TRACE(place);
    RawCircuit circuit(port(), static_cast<std::uint16_t>(44000 + place));
    const auto before = puts("A");
    open(circuit);
    Bytes bytes = stream(repeat(write(100), 200));
    bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(forth_ + place), '!');
    for (std::size_t at = forth_; at < bytes.size(); at += 600) {
      const std::size_t to = std::min(at + 600, bytes.size());
      const bool announces = at <= forth_ + place;
      const auto part = Bytes(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                              bytes.begin() + static_cast<std::ptrdiff_t>(to));
      const auto pointer = static_cast<std::uint16_t>(forth_ + place + 1 - at);
      if (announces)
        circuit.lone_segment(kForth, at, part, kMarked, pointer);
      else
        circuit.lone_segment(kForth, at, part);
    }
    EXPECT_EQ(puts("A") - before, 200u);
  }
  expect_nothing_lost();
}

// The mark is noted without data, too.
TEST_P(CaTapUrgentTest, AMarkWithoutData) {
  std::uint64_t sent = 0;
  for (const std::size_t place : kPlaces) {
    SCOPED_TRACE(place);
    RawCircuit circuit(port(), static_cast<std::uint16_t>(44000 + place));
    open(circuit);
    const Bytes bytes = puts_with({2400 + place});
    send(circuit, bytes, forth_, forth_ + 600);
    circuit.lone_segment(kForth, forth_ + 600, {}, RawCircuit::kAck | RawCircuit::kUrgent,
                         static_cast<std::uint16_t>(1801 + place));
    send(circuit, bytes, forth_ + 600, bytes.size());
    EXPECT_EQ(puts("A"), sent += 400);
  }
  expect_nothing_lost();
}

// Whoever only reads packets does not know the receiver's window, nor how much it acknowledged
// last. So nothing is read as if the byte were in the stream, nor as if it were not.
TEST_P(CaTapUrgentTest, AMarkThatTheReceiverMayRefuse) {
  std::uint64_t sent = 0, unread_before = 0;
  std::uint16_t client_port = 44000;
  for (const bool taken : {true, false}) {
    for (const bool early : {true, false}) {
      for (const std::size_t place : kPlaces) {
        SCOPED_TRACE(::testing::Message() << taken << early << place);
        RawCircuit circuit(port(), ++client_port);
        open(circuit);
        const Bytes bytes =
            puts_with(taken ? std::vector<std::size_t>{2400 + place} : std::vector<std::size_t>{});
        send(circuit, bytes, forth_, forth_ + 600);
        // From a place ahead, or from one that was acknowledged before.
        const std::size_t from = forth_ + (early ? 1200u : 24u);
        circuit.lone_segment(kForth, from, {}, RawCircuit::kAck | RawCircuit::kUrgent,
                             static_cast<std::uint16_t>(forth_ + 2401 + place - from));
        send(circuit, bytes, forth_ + 600, bytes.size());
        EXPECT_EQ(puts("A"), sent += taken && place == 0 ? 400 : 399);
        const std::uint64_t now = unread();
        EXPECT_GT(now, unread_before);
        EXPECT_LE(now, unread_before + 25);  // a message, and the byte
        unread_before = now;
      }
    }
  }
  EXPECT_EQ(puts("B"), 0u);
  EXPECT_EQ(drop("stream_gap"), 20u);
  EXPECT_EQ(drop("resync"), 20u);
}

// As a lossy network brings it: data with the mark, ahead of missing bytes.
TEST_P(CaTapUrgentTest, AMarkInDataBeforeItsTurn) {
  RawCircuit first(port(), 44001), second(port(), 44002);
  open(first);
  const Bytes bytes = puts_with({2400});
  const auto part = [&](std::size_t from, std::size_t to) {
    return Bytes(bytes.begin() + static_cast<std::ptrdiff_t>(forth_ + from),
                 bytes.begin() + static_cast<std::ptrdiff_t>(forth_ + to));
  };
  first.lone_segment(kForth, forth_ + 1200, part(1200, 4800), kMarked, 1201);
  send(first, bytes, forth_, forth_ + 1200);
  first.acknowledge(kForth, forth_ + 4800);
  send(first, bytes, forth_ + 4800, bytes.size());
  EXPECT_EQ(puts("A"), 400u);
  EXPECT_EQ(drop("stream_gap"), 1u);
  EXPECT_EQ(unread(), 1u);
  EXPECT_EQ(pages(), 0u);
  // The segment that comes again has the mark as well, so that it is sure.
  open(second);
  second.lone_segment(kForth, forth_ + 1200, part(1200, 4800), kMarked, 1201);
  second.lone_segment(kForth, forth_, part(0, 1200), kMarked, 2401);
  second.acknowledge(kForth, forth_ + 4800);
  send(second, bytes, forth_ + 4800, bytes.size());
  EXPECT_EQ(puts("A"), 800u);
  EXPECT_EQ(drop("stream_gap"), 1u);
  EXPECT_EQ(unread(), 1u);
}

// Any of them may be left out, and with it any byte between them is one place further.
TEST_P(CaTapUrgentTest, MarksThatTheReceiverMayRefuse) {
  RawCircuit circuit(port());
  open(circuit);
  const Bytes bytes = puts_with({});
  for (const std::uint16_t place : std::initializer_list<std::uint16_t>{4801, 2401, 3000})
    circuit.lone_segment(kForth, forth_ + 1, {}, RawCircuit::kAck | RawCircuit::kUrgent, place);
  send(circuit, bytes, forth_, bytes.size());
  EXPECT_EQ(puts("A"), 100u + 199u);
  EXPECT_GE(unread(), 2401u);
  EXPECT_LE(unread(), 2424u);
  EXPECT_EQ(drop("stream_gap"), 1u);
  EXPECT_EQ(drop("resync"), 1u);
}

// The first one is data again, unless the server has read past it before the second was marked.
TEST_P(CaTapUrgentTest, AnotherUrgentByte) {
  RawCircuit circuit(port());
  open(circuit);
  const Bytes bytes = puts_with({600, 3000});
  const auto part = [&](std::size_t from, std::size_t to) {
    return Bytes(bytes.begin() + static_cast<std::ptrdiff_t>(forth_ + from),
                 bytes.begin() + static_cast<std::ptrdiff_t>(forth_ + to));
  };
  circuit.lone_segment(kForth, forth_, part(0, 1201), kMarked, 601);
  EXPECT_EQ(puts("A"), 50u);
  circuit.lone_segment(kForth, forth_ + 1201, part(1201, 4000), kMarked, 1800);
  send(circuit, bytes, forth_ + 4000, bytes.size());
  EXPECT_EQ(puts("A"), 400u);
  EXPECT_EQ(drop("stream_gap"), 1u);
  EXPECT_EQ(drop("resync"), 1u);
}

IOCX_WITH_CHOSEN_LOCK(CaTapUrgentTest);

}  // namespace

// Segments that the receiver refuses, or takes in its own way: bytes and ends that are none.
#include "bpf/ca_tap_stream_fixture.h"

namespace {

using namespace ioc_exporter;
using namespace ioc_exporter::testing;

class CaTapRefusedTest : public CaTapStreamTest {};

// Bytes that the receiver refuses, and does not acknowledge, never count: here they are out of the
// window.
TEST_F(CaTapRefusedTest, BytesThatTheReceiverRefusesNeverCount) {
  RawCircuit circuit(port());
  open(circuit);
  const Bytes bytes = stream(repeat(write(100), 200));
  for (const std::size_t ahead : {24u, 2400u, 240000u, 1u << 26, 1u << 30})
    circuit.lone_segment(kForth, forth_ + ahead, repeat(write(101), 50));
  circuit.lone_segment(kForth, forth_ - 5000000, repeat(write(101), 50));
  for (std::size_t at = forth_; at < bytes.size(); at += 600)
    circuit.part(kForth, bytes, at, at + 600);
  EXPECT_EQ(puts("A"), 200u);
  EXPECT_EQ(puts("B"), 0u);
  EXPECT_EQ(drop(IOCX_CA_DROP_GAP), 0u);
}

TEST_F(CaTapRefusedTest, ForgedEndsEndNothing) {
  RawCircuit circuit(port());
  open(circuit);
  const Bytes bytes = stream(repeat(write(100), 200));
  constexpr std::uint8_t kEnds[] = {RawCircuit::kRst, RawCircuit::kRst | RawCircuit::kAck,
                                    RawCircuit::kFin | RawCircuit::kAck};
  for (const std::uint8_t end : kEnds)
    for (const std::size_t offset : {forth_ + 1, forth_ + 2400, forth_ - 1, forth_ + 100000000})
      circuit.lone_segment(kForth, offset, {}, end);
  for (const std::uint8_t end : kEnds)
    for (const std::size_t offset : {back_ + 1, back_ + 24000, back_ - 1})
      circuit.lone_segment(kBack, offset, {}, end);
  for (std::size_t at = forth_; at < bytes.size(); at += 600)
    circuit.part(kForth, bytes, at, at + 600);
  EXPECT_EQ(puts("A"), 200u);
  EXPECT_EQ(drop(IOCX_CA_DROP_AFTER_END), 0u);
  circuit.segment(kForth, bytes.size(), {}, RawCircuit::kFin | RawCircuit::kAck);
  circuit.segment(kForth, bytes.size() + 1, write(100));
  EXPECT_EQ(puts("A"), 200u);
  EXPECT_EQ(drop(IOCX_CA_DROP_AFTER_END), 1u);
}

TEST_F(CaTapRefusedTest, SegmentsThatTheReceiverIgnoresDoNotCount) {
  RawCircuit circuit(port());
  open(circuit);
  const Bytes fake = repeat(write(101), 50), bytes = stream(repeat(write(100), 50));
  circuit.lone_segment(kForth, forth_, fake, RawCircuit::kPush);                    // no ACK
  circuit.lone_segment(kForth, forth_ - 1, fake, RawCircuit::kSyn);                 // data of a SYN
  circuit.lone_segment(kForth, forth_, fake, RawCircuit::kSyn | RawCircuit::kAck);  // and here
  circuit.lone_segment(kForth, forth_ + 1, fake, RawCircuit::kRst | RawCircuit::kAck);
  circuit.part(kForth, bytes, forth_, bytes.size());
  EXPECT_EQ(puts("A"), 50u);
  EXPECT_EQ(puts("B"), 0u);
}

}  // namespace

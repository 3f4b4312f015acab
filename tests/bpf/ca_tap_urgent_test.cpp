// Urgent bytes (MSG_OOB): they are no part of what the server reads.
#include <algorithm>

#include "bpf/ca_tap_stream_fixture.h"

namespace {

using namespace ioc_exporter;
using namespace ioc_exporter::testing;

class CaTapUrgentTest : public CaTapStreamTest {};

// The urgent byte is no part of the stream; it may be announced long before it comes.
TEST_P(CaTapUrgentTest, UrgentBytesAreLeftOut) {
  for (const std::size_t place : {0u, 1u, 7u, 16u, 23u, 24u, 1199u, 2399u}) {
    SCOPED_TRACE(place);
    RawCircuit circuit(port(), static_cast<std::uint16_t>(44000 + place));
    const auto before = puts("A");
    open(circuit);
    Bytes bytes = stream(repeat(write(100), 200));
    bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(forth_ + place), '!');
    constexpr std::uint8_t kFlags = RawCircuit::kAck | RawCircuit::kPush | RawCircuit::kUrgent;
    for (std::size_t at = forth_; at < bytes.size(); at += 600) {
      const std::size_t to = std::min(at + 600, bytes.size());
      const bool announces = at <= forth_ + place;
      const auto part = Bytes(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                              bytes.begin() + static_cast<std::ptrdiff_t>(to));
      const auto pointer = static_cast<std::uint16_t>(forth_ + place + 1 - at);
      if (announces)
        circuit.lone_segment(kForth, at, part, kFlags, pointer);
      else
        circuit.lone_segment(kForth, at, part);
    }
    EXPECT_EQ(puts("A") - before, 200u);
  }
  expect_nothing_lost();
}

IOCX_WITH_BOTH_LOCKS(CaTapUrgentTest);

}  // namespace

// Segments that the receiver may refuse, for their checksum or their time stamp: they count when it
// has the bytes.
#include "bpf/ca_tap_stream_fixture.h"

namespace {

using namespace ioc_exporter;
using namespace ioc_exporter::testing;

class CaTapDoubtTest : public CaTapStreamTest {};

TEST_P(CaTapDoubtTest, WrongChecksumsAreNotBelieved) {
  RawCircuit circuit(port());
  open(circuit);
  const Bytes bytes = stream(repeat(write(100), 200));
  circuit.set_wrong_checksums(true);
  circuit.lone_segment(kForth, forth_, repeat(write(101), 50));
  circuit.lone_segment(kForth, forth_ + 24, repeat(write(101), 200));  // reaches over what follows
  circuit.lone_segment(kForth, forth_, {}, RawCircuit::kRst);
  circuit.lone_segment(kForth, forth_, {}, RawCircuit::kFin | RawCircuit::kAck);
  circuit.lone_segment(kBack, back_, {}, RawCircuit::kRst | RawCircuit::kAck);
  circuit.lone_segment(kBack, back_, created(7, 100));
  circuit.set_wrong_checksums(true, true);
  circuit.lone_segment(kForth, forth_, repeat(write(101), 50));
  circuit.lone_segment(kForth, forth_, {}, RawCircuit::kRst);
  circuit.set_wrong_checksums(false);
  for (std::size_t at = forth_; at < bytes.size(); at += 600) {
    circuit.part(kForth, bytes, at, at + 600);
    circuit.acknowledge(kForth, at + 600);
  }
  EXPECT_EQ(puts("A"), 200u);
  EXPECT_EQ(puts("B"), 0u);
  EXPECT_EQ(drop("doubtful"), 8u);
  EXPECT_EQ(drop("stream_gap"), 0u);
  EXPECT_EQ(drop("after_end"), 0u);
}

// They do not take the place of what comes before its turn either, whichever is first.
TEST_P(CaTapDoubtTest, WrongChecksumsReplaceNothing) {
  RawCircuit circuit(port());
  open(circuit);
  const Bytes bytes = stream(repeat(write(100), 200)), other = stream(repeat(write(101), 200));
  const auto forge = [&](std::size_t from, std::size_t to) {
    circuit.set_wrong_checksums(true);
    circuit.lone_segment(kForth, from,
                         Bytes(other.begin() + static_cast<std::ptrdiff_t>(from),
                               other.begin() + static_cast<std::ptrdiff_t>(to)));
    circuit.set_wrong_checksums(false);
  };
  forge(forth_ + 600, forth_ + 1800);
  circuit.part(kForth, bytes, forth_ + 1200, forth_ + 2400);
  forge(forth_ + 1200, forth_ + 3000);
  circuit.part(kForth, bytes, forth_ + 3000, bytes.size());
  circuit.part(kForth, bytes, forth_ + 600, forth_ + 1200);
  circuit.part(kForth, bytes, forth_, forth_ + 600);
  circuit.part(kForth, bytes, forth_ + 2400, forth_ + 3000);
  circuit.acknowledge(kForth, bytes.size());
  EXPECT_EQ(puts("A"), 200u);
  EXPECT_EQ(puts("B"), 0u);
  EXPECT_EQ(drop("stream_gap"), 0u);
  EXPECT_EQ(pages(), 0u);
}

// What no device has completed looks wrong, and is data all the same: packets of another virtual
// machine.
TEST_P(CaTapDoubtTest, WhatTheReceiverHasCounts) {
  RawCircuit circuit(port());
  circuit.set_wrong_checksums(true);
  circuit.begin();
  const Bytes request = version() + host_name("h") + client_name("u") + create(0, "A");
  const Bytes answer = version() + created(0, 100);
  circuit.lone_segment(kForth, 0, request);
  circuit.acknowledge(kForth, request.size() / 2);
  circuit.set_sent(kBack, answer.size());
  circuit.acknowledge(kForth,
                      request.size());  // not the data of the answer, which is not acknowledged yet
  circuit.lone_segment(kBack, 0, answer);
  circuit.set_sent(kForth, request.size() + 24 * 23);
  circuit.lone_segment(kForth, request.size(), repeat(write(100), 23));
  circuit.acknowledge(kBack, answer.size());
  EXPECT_EQ(puts("A"), 0u);
  circuit.acknowledge(kForth, request.size() + 24 * 23);
  EXPECT_EQ(puts("A"), 23u);
  EXPECT_EQ(collect().puts.at(0).labels.user, "u");
  EXPECT_EQ(drop("stream_gap"), 0u);
  EXPECT_EQ(drop("hole_filled"), 0u);
  circuit.lone_segment(kForth, request.size() + 24 * 23, {}, RawCircuit::kFin | RawCircuit::kAck);
  circuit.acknowledge(kForth, request.size() + 24 * 23 + 1);
  circuit.lone_segment(kForth, request.size() + 24 * 23 + 1, write(100));
  EXPECT_EQ(drop("after_end"), 1u);
  EXPECT_EQ(pages(), 0u);
}

// PAWS, RFC 7323, 5.3.
TEST_P(CaTapDoubtTest, OldTimeStampsAreNotBelieved) {
  RawCircuit circuit(port());
  circuit.set_stamp(0x7FFFFFF0);
  open(circuit);
  const Bytes bytes = stream(repeat(write(100), 100));
  circuit.part(kForth, bytes, forth_, forth_ + 600);
  circuit.set_stamp(0x80000010);
  circuit.part(kForth, bytes, forth_ + 600, forth_ + 1200);
  circuit.set_stamp(0x80000000);
  circuit.lone_segment(kForth, forth_ + 1200, repeat(write(101), 7));
  circuit.lone_segment(kForth, forth_ + 1200, {}, RawCircuit::kFin | RawCircuit::kAck);
  circuit.set_stamp(0x8000000F);  // Linux lets this pass
  circuit.part(kForth, bytes, forth_ + 1200, forth_ + 1800);
  circuit.set_stamp(0x80000020);
  circuit.part(kForth, bytes, forth_ + 1800, bytes.size());
  EXPECT_EQ(puts("A"), 100u);
  EXPECT_EQ(puts("B"), 0u);
  EXPECT_EQ(drop("doubtful"), 2u);
}

// A FIN that the receiver has refused, at a place that the stream passes later.
TEST_P(CaTapDoubtTest, AForgedFinInTheWayEndsNothing) {
  RawCircuit circuit(port());
  open(circuit);
  const Bytes bytes = stream(repeat(write(100), 200));
  circuit.lone_segment(kForth, forth_ + 1200, {}, RawCircuit::kFin | RawCircuit::kAck);
  for (std::size_t at = forth_; at < bytes.size(); at += 600) {
    circuit.part(kForth, bytes, at, at + 600);
    circuit.acknowledge(kForth, at + 600);
  }
  EXPECT_EQ(puts("A"), 200u);
  EXPECT_EQ(drop("after_end"), 0u);
}

IOCX_WITH_CHOSEN_LOCK(CaTapDoubtTest);

}  // namespace

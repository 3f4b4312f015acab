// Segments that do not come in order: what the tap counts is what the receiver gets.
#include <algorithm>
#include <random>

#include "bpf/ca_tap_stream_fixture.h"
#include "support/value_of.h"

namespace {

using namespace ioc_exporter;
using namespace ioc_exporter::testing;
using puts::Tap;

TEST_F(CaTapStreamTest, ThirtyHolesAtATime) {
  RawCircuit circuit(port());
  open(circuit);
  constexpr std::size_t kPiece = 1000;
  const Bytes bytes = stream(repeat(write(100) + write(101), 61 * kPiece / 48 + 1));
  const auto send = [&](std::size_t piece) {
    circuit.part(kForth, bytes, forth_ + piece * kPiece, forth_ + (piece + 1) * kPiece);
  };
  for (std::size_t piece = 1; piece < 61; piece += 2) send(piece);
  EXPECT_EQ(puts("A") + puts("B"), 0u);
  std::vector<std::size_t> missing;
  for (std::size_t piece = 0; piece < 60; piece += 2) missing.push_back(piece);
  std::shuffle(missing.begin(), missing.end(), std::mt19937(23));
  for (const std::size_t piece : missing) send(piece);
  circuit.part(kForth, bytes, forth_ + 60 * kPiece, bytes.size());
  EXPECT_EQ(puts("A"), (bytes.size() - forth_) / 48);
  EXPECT_EQ(puts("B"), (bytes.size() - forth_) / 48);
  // Holes that were filled behind the first one have joined their neighbours.
  EXPECT_GE(holes_filled(), 1u);
  EXPECT_EQ(pages(), 0u);
}

TEST_F(CaTapStreamTest, HoleInsideOfAnArray) {
  RawCircuit circuit(port());
  open(circuit);
  const Bytes array = long_message(4, 6, 12500, 100, 0, Bytes(100000, 1));
  const Bytes bytes = stream(array + write(101) + array + write(101));
  circuit.part(kForth, bytes, forth_, forth_ + 30000);
  circuit.part(kForth, bytes, forth_ + 60000, forth_ + 120000);
  EXPECT_EQ(puts("A"), 0u);  // not all of it has arrived
  circuit.part(kForth, bytes, forth_ + 120000, forth_ + 180000);
  circuit.part(kForth, bytes, forth_ + 180000, bytes.size());
  circuit.part(kForth, bytes, forth_ + 30000, forth_ + 60000);
  EXPECT_EQ(puts("A"), 2u);
  EXPECT_EQ(puts("B"), 2u);
  EXPECT_EQ(holes_filled(), 1u);
}

TEST_F(CaTapStreamTest, LargestSegmentsBeforeTheirTurn) {
  RawCircuit circuit(port());
  open(circuit);
  const Bytes bytes = stream(repeat(write(100) + message(23, 0, 0, 0, 0), 10007));
  std::size_t at = forth_ + 1000;
  for (; at < bytes.size(); at += 65000)
    circuit.part(kForth, bytes, at, std::min(at + 65000, bytes.size()));
  EXPECT_EQ(puts("A"), 0u);
  circuit.part(kForth, bytes, forth_, forth_ + 1000);
  EXPECT_EQ(puts("A"), 10007u);
  EXPECT_EQ(holes_filled(), 1u);
  EXPECT_EQ(pages(), 0u);
}

TEST_F(CaTapStreamTest, SequenceNumbersStartOver) {
  RawCircuit circuit(port(), 40001, {0xFFFFFF00u, 0xFFFFFFF0u});
  open(circuit);
  const Bytes bytes = stream(repeat(write(100), 2003));
  for (std::size_t at = forth_ + 1000; at < bytes.size(); at += 1000)
    circuit.part(kForth, bytes, at, std::min(at + 1000, bytes.size()));
  circuit.part(kForth, bytes, forth_, forth_ + 1000);
  EXPECT_EQ(puts("A"), 2003u);
  EXPECT_EQ(holes_filled(), 1u);
}

// The connection begins with segments in the wrong order: in both directions.
TEST_F(CaTapStreamTest, FirstMessagesOutOfOrder) {
  RawCircuit circuit(port());
  const Bytes request = version() + host_name("console-1") + client_name("anna") + create(0, "A");
  circuit.begin();
  circuit.part(kForth, request, 16, 40);
  circuit.part(kForth, request, 50, request.size());
  circuit.part(kForth, request, 0, 16);
  circuit.part(kForth, request, 40, 50);
  const Bytes answer = version() + created(0, 100);
  circuit.part(kBack, answer, 16, 20);
  circuit.part(kBack, answer, 25, answer.size());
  circuit.part(kBack, answer, 20, 25);
  circuit.part(kBack, answer, 0, 16);
  circuit.segment(kForth, request.size(), repeat(write(100), 23));
  const auto reading = collect();
  EXPECT_EQ(only(reading.puts).labels,
            (puts::PutLabels{kIoc, "A", "10.99.0.1", "anna", "console-1"}));
  EXPECT_EQ(only(reading.puts).count, 23u);
  EXPECT_GT(holes_filled(), 0u);
}

TEST_F(CaTapStreamTest, AcknowledgedHoleInsideOfAPayloadLosesNothing) {
  const Bytes array = long_message(19, 6, 12500, 100, 91, Bytes(100000, 1));
  std::uint64_t circuits = 0;
  for (const std::size_t end : {std::size_t{60000}, array.size()}) {
    RawCircuit circuit(port(), static_cast<std::uint16_t>(40001 + circuits));
    open(circuit);
    const Bytes bytes = stream(array + write(101));
    circuit.part(kForth, bytes, forth_, forth_ + 30000);
    circuit.part(kForth, bytes, forth_ + end, bytes.size());
    circuit.acknowledge(kForth, bytes.size());
    circuit.segment(kBack, back_, written(91));
    EXPECT_EQ(puts("A", PutOp::write_notify), ++circuits);
    EXPECT_EQ(puts("B"), circuits);
    EXPECT_EQ(collect().durations.size(), 1u) << "its answer is found";
  }
  EXPECT_EQ(drop(IOCX_CA_DROP_GAP), 0u);
  EXPECT_EQ(drop(IOCX_CA_DROP_ORPHAN_ANSWER), 0u);
  EXPECT_EQ(pages(), 0u);
}

TEST_F(CaTapStreamTest, BytesOutOfTheWindowsReach) {
  RawCircuit circuit(port());
  open(circuit);
  const Bytes bytes = stream(repeat(write(100), 200003));
  constexpr std::size_t kPiece = 2400;  // 100 puts
  for (std::size_t at = forth_ + kPiece; at < bytes.size(); at += kPiece)
    circuit.part(kForth, bytes, at, std::min(at + kPiece, bytes.size()));
  EXPECT_EQ(puts("A"), 0u);
  const auto out_of_reach = drop(IOCX_CA_DROP_WINDOWS_FULL);
  EXPECT_GT(out_of_reach, 0u);
  circuit.acknowledge(kForth, bytes.size());  // nobody will send again what was not seen
  // 16 behind the first hole prove the boundaries.
  EXPECT_EQ(puts("A"), 199903u - 3u - 16u - 100u * (out_of_reach - 1));
  EXPECT_EQ(drop(IOCX_CA_DROP_GAP), 2u);
  EXPECT_EQ(pages(), 0u);
  circuit.segment(kForth, bytes.size(), repeat(write(100), 16 + 7));
  EXPECT_EQ(puts("A"), 199907u - 16u - 100u * (out_of_reach - 1));
}

TEST_F(CaTapStreamTest, NoRoomForWindows) {
  puts::TapSizes sizes;
  sizes.max_pages = 4;  // of which a client gets half
  start(sizes);
  RawCircuit one(port(), 40001), two(port(), 40002), three(port(), 40003);
  for (auto* circuit : {&one, &two, &three}) open(*circuit);
  const Bytes bytes = stream(repeat(write(100), 200));
  for (auto* circuit : {&one, &two, &three})
    circuit->part(kForth, bytes, forth_ + 2400, bytes.size());
  EXPECT_EQ(puts("A"), 0u);
  EXPECT_EQ(drop(IOCX_CA_DROP_WINDOWS_FULL), 1u);
  EXPECT_EQ(drop(IOCX_CA_DROP_GAP), 0u);
  for (auto* circuit : {&one, &two, &three}) circuit->part(kForth, bytes, forth_, forth_ + 2400);
  EXPECT_EQ(puts("A"), 500u);  // not those of the third that found no room
  EXPECT_EQ(drop(IOCX_CA_DROP_GAP), 1u);
  EXPECT_EQ(pages(), 0u);
}

TEST_F(CaTapStreamTest, MoreHolesThanAreKept) {
  RawCircuit circuit(port());
  open(circuit);
  const Bytes bytes = stream(repeat(write(100), 100));
  for (std::size_t i = 1; i < 100; i += 2)
    circuit.part(kForth, bytes, forth_ + i * 24, forth_ + (i + 1) * 24);
  EXPECT_EQ(drop(IOCX_CA_DROP_WINDOWS_FULL), 18u);  // 50 segments, 32 places
  EXPECT_EQ(puts("A"), 0u);
  for (std::size_t i = 0; i < 100; i += 2)
    circuit.part(kForth, bytes, forth_ + i * 24, forth_ + (i + 1) * 24);
  EXPECT_EQ(puts("A"), 82u - 17u);  // each of which stands alone between two holes
  EXPECT_EQ(pages(), 0u);
}

TEST_F(CaTapStreamTest, LoneFinBeforeTheLastBytes) {
  RawCircuit circuit(port());
  open(circuit);
  const Bytes bytes = stream(repeat(write(100), 100));
  circuit.part(kForth, bytes, bytes.size(), bytes.size(), RawCircuit::kFin | RawCircuit::kAck);
  circuit.part(kForth, bytes, forth_, bytes.size());
  EXPECT_EQ(puts("A"), 100u);
  EXPECT_EQ(holes_filled(), 0u);  // no data came before its turn
}

TEST_F(CaTapStreamTest, ResetGivesTheWindowsBack) {
  RawCircuit circuit(port());
  open(circuit);
  const Bytes bytes = stream(repeat(write(100), 3000));
  circuit.part(kForth, bytes, forth_ + 12000, forth_ + 60000);
  circuit.segment(kBack, 5000, Bytes(16, 0));
  EXPECT_EQ(pages(), 5u);
  circuit.segment(kBack, 5000, {}, RawCircuit::kRst | RawCircuit::kAck);
  EXPECT_EQ(pages(), 5u);  // it does not come in its turn
  circuit.segment(kBack, back_, {}, RawCircuit::kRst | RawCircuit::kAck);
  EXPECT_EQ(pages(), 0u);
  EXPECT_EQ(puts("A"), 0u);  // the server never had them
  EXPECT_EQ(drop(IOCX_CA_DROP_GAP), 0u);
}

TEST_F(CaTapStreamTest, NewCircuitOnTheSamePorts) {
  RawCircuit circuit(port());
  open(circuit);
  const Bytes bytes = stream(repeat(write(100), 100));
  circuit.part(kForth, bytes, forth_ + 1200, bytes.size());
  EXPECT_EQ(pages(), 1u);
  RawCircuit next(port(), 40001, {777777, 888888});
  open(next);
  EXPECT_EQ(pages(), 0u);
  next.part(kForth, bytes, forth_, bytes.size());
  EXPECT_EQ(puts("A"), 100u);
}

TEST_F(CaTapStreamTest, PagesOfConnectionsThatAreGoneAreGivenBack) {
  RawCircuit circuit(port());
  open(circuit);
  const Bytes bytes = stream(repeat(write(100), 1000));
  circuit.part(kForth, bytes, forth_ + 2400, bytes.size());
  const auto later = Tap::Clock::now() + std::chrono::hours(1);
  EXPECT_GT(pages(later), 0u);
  // The namespace has no such socket: two looks, and then the time in which no program runs on.
  EXPECT_GT(pages(later + puts::Circuits::kSocketLook), 0u);
  EXPECT_EQ(pages(later + puts::Circuits::kSocketLook + puts::Channels::kGrace), 0u);
  // They can be used again: all that one address gets.
  puts::TapSizes sizes;
  for (std::uint16_t i = 0; i < sizes.max_pages / 2; ++i) {
    RawCircuit other(port(), static_cast<std::uint16_t>(41000 + i));
    open(other);
    other.part(kForth, bytes, forth_ + 2400, forth_ + 4800);
  }
  EXPECT_EQ(drop(IOCX_CA_DROP_WINDOWS_FULL), 0u);
}

// Linux delivers the bytes of the segment that starts first (tcp_data_queue_ofo()).
TEST_F(CaTapStreamTest, TheFirstCopyOfStoredBytesIsKept) {
  RawCircuit circuit(port());
  open(circuit);
  const Bytes bytes = stream(repeat(write(100), 200)), other = stream(repeat(write(101), 200));
  circuit.part(kForth, bytes, forth_ + 2400, forth_ + 3600);
  circuit.part(kForth, other, forth_ + 2400, forth_ + 3600);
  circuit.part(kForth, other, forth_ + 3000, forth_ + 4800);  // 50 of these start behind
  circuit.part(kForth, bytes, forth_, forth_ + 2400);
  circuit.acknowledge(kForth, forth_ + 4800);
  EXPECT_EQ(puts("A"), 150u);
  EXPECT_EQ(puts("B"), 50u);
}

// A seeded sender whose segments are lost, repeated, cut anew and come in any order within a
// window; what it sends again is what the receiver does not have.
struct Sender {
  std::mt19937 random;
  std::size_t in_flight, largest;

  void send(RawCircuit& circuit, RawCircuit::Direction direction, const Bytes& bytes,
            std::size_t from) {
    std::vector<bool> received(bytes.size());
    std::size_t has = from;
    while (has < bytes.size()) {
      std::vector<std::pair<std::size_t, std::size_t>> parts;
      for (std::size_t at = has; at < std::min(bytes.size(), has + in_flight);) {
        const std::size_t to = std::min(bytes.size(), at + 1 + random() % largest);
        const auto fate = random() % 100;
        if (fate >= 20) parts.emplace_back(at, to);
        if (fate >= 90) parts.emplace_back(at, to);
        at = fate % 5 == 0 ? to - (to - at) / 2 : to;  // the next one overlaps
      }
      std::shuffle(parts.begin(), parts.end(), random);
      for (const auto& [first, last] : parts) {
        circuit.part(direction, bytes, first, last);
        for (std::size_t i = first; i < last; ++i) received[i] = true;
        while (has < bytes.size() && received[has]) ++has;
        if (random() % 3 == 0) circuit.acknowledge(direction, has);
      }
    }
  }
};

// What the two locks of a direction have in common: no segment is read twice, none is left out.
class CaTapRandomTest : public CaTapStreamTest {
 protected:
  void expect_exact_counts() {
    for (std::uint32_t seed = 1; seed <= 40; ++seed) {
      SCOPED_TRACE(seed);
      Sender sender{std::mt19937(seed), seed % 4 == 0 ? 200000u : 12000u,
                    seed % 3 == 0 ? 16000u : 1448u};
      RawCircuit circuit(port(), static_cast<std::uint16_t>(42000 + seed),
                         {static_cast<std::uint32_t>(sender.random()),
                          static_cast<std::uint32_t>(sender.random())});
      const std::string pv = "PV:" + std::to_string(seed), array = "ARRAY:" + std::to_string(seed);
      const Bytes request =
          version() + host_name("h") + client_name("u") + create(0, pv) + create(1, array);
      const Bytes answer = version() + created(0, 100) + created(1, 101);
      circuit.begin();
      sender.send(circuit, kForth, request, 0);
      sender.send(circuit, kBack, answer, 0);
      circuit.set_sent(kBack, answer.size());
      Bytes bytes = request;
      std::uint64_t small = 0, large = 0;
      while (bytes.size() < 60000) {
        const Bytes payload((1 + sender.random() % 900) * 8, 3);
        switch (sender.random() % 8) {
          case 0:
            bytes = std::move(bytes) +
                    message(4, 6, static_cast<std::uint32_t>(payload.size() / 8), 101, 0, payload);
            ++large;
            break;
          case 1:
            bytes = std::move(bytes) + message(23, 0, 0, 0, 0);
            break;
          default: {
            const std::size_t some = 1 + sender.random() % 50;
            bytes = std::move(bytes) + repeat(write(100), some);
            small += some;
          }
        }
      }
      sender.send(circuit, kForth, bytes, request.size());
      ASSERT_EQ(puts(pv), small);
      ASSERT_EQ(puts(array), large);
    }
    EXPECT_GT(holes_filled(), 40u);
    EXPECT_EQ(pages(), 0u);
  }
};

TEST_F(CaTapRandomTest, LossReorderDuplicatesAndOverlaps) {
  expect_exact_counts();
}

class CaTapRandomInsertTest : public CaTapRandomTest {
  puts::TapLock lock() const override { return puts::TapLock::map_insert; }
};

TEST_F(CaTapRandomInsertTest, LossReorderDuplicatesAndOverlaps) {
  expect_exact_counts();
}

}  // namespace

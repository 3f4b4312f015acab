// Boundaries of PV Access messages behind lost bytes, beside bpf/pva_tap_stream_test.cpp.
#include "support/pva_stream.h"

#include <gtest/gtest.h>

#include "support/pva_bytes.h"

namespace {

using ioc_exporter::puts::PvaDirection;
using ioc_exporter::puts::PvaEvent;
using ioc_exporter::puts::PvaStream;
using ioc_exporter::testing::PvaBytes;
using PvaEvents = std::vector<PvaEvent>;
using Bytes = PvaBytes::Bytes;

constexpr std::uint32_t kPut = IOCX_PVA_CMD_PUT;

PvaEvents feed_cut(const Bytes& bytes, std::size_t first) {
  auto stream = PvaStream::joined(PvaDirection::to_server);
  PvaEvents all = stream.feed(std::span(bytes).first(first));
  for (PvaEvent& event : stream.feed(std::span(bytes).subspan(first))) all.push_back(event);
  return all;
}

class PvaResync : public ::testing::TestWithParam<bool> {
 protected:
  const PvaBytes b_{GetParam()};
  const PvaEvent put_{.kind = IOCX_PVA_PUT, .id = 11, .other = 101, .command = kPut};
  const Bytes large_ = b_.request(kPut, 11, 101, 0, Bytes(5000, 1));
};
INSTANTIATE_TEST_SUITE_P(Of, PvaResync, ::testing::Bool());

TEST_P(PvaResync, SixteenMessagesInARowThatAreNotAnsweredProveBoundaries) {
  const Bytes end(333, 0xCA), one = b_.put(11, 101);
  const auto acks = [this](std::size_t count) {
    return PvaBytes::join(std::vector(count, b_.request(IOCX_PVA_CMD_MONITOR, 11, 105, 0x80)));
  };
  for (const std::size_t cut : {11u, 359u, 600u, 5300u, 5500u}) {
    EXPECT_EQ(feed_cut(PvaBytes::join({end, acks(3), large_, acks(13), one, large_}), cut),
              PvaEvents(2, put_))
        << cut;
    EXPECT_EQ(feed_cut(PvaBytes::join({end, acks(3), large_, acks(12), one, end}), cut),
              PvaEvents())
        << cut;
  }
}

TEST_P(PvaResync, AGapInsideAValue) {
  const std::span all(large_);
  for (const std::uint32_t missing : {1000u, 4417u, 4500u}) {
    auto stream = PvaStream::from_start(PvaDirection::to_server);
    stream.feed(b_.identify("anonymous"));
    stream.feed(all.first(600));
    PvaEvents events = stream.gap(missing);
    const bool beyond = 600 + missing > all.size();  // the put counts, and the place is lost
    EXPECT_EQ(stream.is_lost(), beyond) << missing;
    if (!beyond)
      for (const PvaEvent& event : stream.feed(all.subspan(600 + missing))) events.push_back(event);
    EXPECT_EQ(events, PvaEvents{put_}) << missing;
  }
}

}  // namespace

// Boundaries that were lost: found again where they are, and nowhere else. More of it:
// bpf/ca_tap_resync_test.cpp.
#include "shared/ca_resync.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "bytes.h"
#include "support/ca_stream.h"

namespace {

using namespace ioc_exporter::testing;
using ioc_exporter::puts::CaDirection;
using ioc_exporter::puts::CaEvent;
using ioc_exporter::puts::CaStream;
using Events = std::vector<CaEvent>;

CaEvent put(std::uint32_t sid, bool notify = false) {
  return {IOCX_CA_PUT, sid, 0, notify, {}};
}
Bytes junk(std::size_t size) {
  return Bytes(size, 0x77);
}
Bytes part(const Bytes& bytes, std::size_t from, std::size_t to) {
  return Bytes(bytes.begin() + static_cast<std::ptrdiff_t>(from),
               bytes.begin() + static_cast<std::ptrdiff_t>(to));
}

Events feed_in_pieces(CaStream& stream, const Bytes& bytes, std::size_t size) {
  Events events;
  for (std::size_t at = 0; at < bytes.size(); at += size)
    for (auto& event : stream.feed(part(bytes, at, std::min(at + size, bytes.size()))))
      events.push_back(event);
  return events;
}

// A stream to the server that was followed from its start and then lost bytes. The circuit has the
// channels with these SIDs, and the CIDs one less.
CaStream after_gap(std::set<std::uint32_t> sids, CaDirection direction = CaDirection::to_server) {
  auto stream = CaStream::from_start(direction);
  stream.set_channels([sids = std::move(sids)](std::uint32_t names, std::uint32_t id) {
    return sids.contains(names == IOCX_CA_NAMES_CID ? id + 1 : id);
  });
  stream.feed(version());
  stream.gap(8);
  EXPECT_TRUE(stream.is_lost());
  return stream;
}

// The segments end anywhere.
TEST(CaResync, MessagesOfManySegmentsAreOneRow) {
  for (const std::size_t size : {11u, 16u, 24u, 40u, 100u}) {
    SCOPED_TRACE(size);
    auto stream = after_gap({8});
    EXPECT_EQ(stream.feed(junk(40) + write(8)), Events{});
    EXPECT_EQ(feed_in_pieces(stream, repeat(write(8), 15 + 23), size), Events(23, put(8)));
    EXPECT_FALSE(stream.is_lost());
  }
}

TEST(CaResync, APauseInAMessageProvesNothing) {
  const Bytes bytes = long_message(4, 6, 1250, 8, 0, Bytes(10000, 1)) + write(8);
  for (const std::size_t cut : {12u, 1000u}) {
    auto stream = after_gap({8});
    EXPECT_EQ(stream.feed(repeat(write(8), 2) + part(bytes, 0, cut)), Events{});
    stream.silence();
    EXPECT_TRUE(stream.is_lost());
    EXPECT_EQ(stream.feed(part(bytes, cut, bytes.size())), Events{});
  }
}

TEST(CaResync, EchoesAreNoProof) {
  const Bytes echo = message(23, 0, 0, 0, 0);
  auto stream = after_gap({8});
  EXPECT_EQ(stream.feed(repeat(echo, 40)), Events{});
  EXPECT_TRUE(stream.is_lost());
  const CaEvent echoed{IOCX_CA_ECHO, 0, 0, false, {}};
  auto other = after_gap({8});
  EXPECT_EQ(other.feed(repeat(echo, 2) + write(8) + repeat(echo, 30)), Events{});
  EXPECT_TRUE(other.is_lost());
  EXPECT_EQ(other.feed(repeat(write(8) + echo, 15)), Events{echoed});
  EXPECT_FALSE(other.is_lost());
}

TEST(CaResync, ArrayIsConfirmedByWhatFollows) {
  const Bytes array = long_message(4, 6, 12500, 8, 0, Bytes(100000, 1));
  const Bytes bytes = array + repeat(write(8), 15 + 4);
  auto stream = after_gap({8});
  EXPECT_EQ(stream.feed(junk(24) + part(bytes, 0, 60000)), Events{});
  EXPECT_EQ(stream.feed(part(bytes, 60000, bytes.size())), Events(4, put(8)));
  EXPECT_FALSE(stream.is_lost());

  auto other = after_gap({8});
  EXPECT_EQ(other.feed(junk(24) + part(bytes, 0, 60000)), Events{});
  EXPECT_EQ(other.feed(part(bytes, 60000, array.size()) + junk(200)), Events{});
  EXPECT_TRUE(other.is_lost());
}

TEST(CaResync, ArraysThatAllSpanSegmentsAreConfirmedByEachOther) {
  const Bytes array = long_message(4, 6, 12500, 8, 0, Bytes(100000, 1));
  auto stream = CaStream::joined(CaDirection::to_server);
  EXPECT_EQ(feed_in_pieces(stream, repeat(array, 16 + 4), 65000), Events(4, put(8)));
}

TEST(CaResync, BelievedMessagesAreAskedOn) {
  auto stream = after_gap({8});
  EXPECT_EQ(stream.feed(repeat(write(8), 16 + 10) + write(7) + junk(104)), Events(10, put(8)));
  EXPECT_TRUE(stream.is_lost());
  // When it has gone well for long enough, it counts as followed: any message may come.
  EXPECT_EQ(stream.feed(repeat(write(8), 16 + 100)).size(), 100u);
  EXPECT_EQ(stream.feed(message(10, 1, 2, 3, 4, Bytes(32, 9)) + write(7) + write(8)),
            (Events{put(7), put(8)}));
}

TEST(CaResync, ServersMessagesByTheirChannels) {
  auto stream = after_gap({8}, CaDirection::to_client);
  const Bytes value = message(15, 20, 1, 1, 5, Bytes(16, 1));
  EXPECT_EQ(stream.feed(junk(24) + server_disconnect(3) + server_disconnect(4) + junk(24)),
            Events{});
  EXPECT_TRUE(stream.is_lost());
  EXPECT_EQ(stream.feed(junk(24) + value + value + value + server_disconnect(7)),
            (Events{{IOCX_CA_DISCONNECT, 7, 0, false, {}}}));
}

TEST(CaResync, NoiseNeverBecomesAPut) {
  std::mt19937 random(5);
  for (int round = 0; round < 2000; ++round) {
    auto stream = CaStream::joined(CaDirection::to_server);
    for (int segment = 0; segment < 5; ++segment) {
      Bytes bytes(1 + random() % 3000);
      for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
      ASSERT_EQ(stream.feed(bytes), Events{});
    }
  }
}

// Arrays whose contents are made of the numbers that headers are made of, with gaps anywhere: the
// puts that are told are among those that were sent, each at most once and in their order.
TEST(CaResync, ArraysNeverBecomePuts) {
  std::mt19937 random(23);
  std::uint64_t sent = 0, told = 0;
  for (int round = 0; round < 300; ++round) {
    Bytes bytes;
    std::set<std::uint32_t> sids;
    std::vector<std::uint32_t> order;
    for (std::uint32_t sid = 1; sid <= 200; ++sid) {
      sids.insert(sid);
      order.push_back(sid);
      if (random() % 4) {
        bytes = std::move(bytes) + write(sid);
        continue;
      }
      Bytes payload((1 + random() % 1000) * 8);
      const std::uint8_t small[] = {0, 0, 0, 1, 4, 6, 8, 16, 19};
      for (std::size_t i = 0; i < payload.size(); i += 2) {
        payload[i] = random() % 50 == 0 ? small[random() % 9] : 0;
        payload[i + 1] = small[random() % 9];
      }
      // And sometimes whole messages, of channels that are not the circuit's.
      const Bytes inner = repeat(write(1000 + sid), random() % 3);
      if (inner.size() < payload.size()) std::copy(inner.begin(), inner.end(), payload.begin());
      bytes = std::move(bytes) +
              message(4, 4, static_cast<std::uint32_t>(payload.size()), sid, 0, payload);
    }
    auto stream = CaStream::from_start(CaDirection::to_server);
    stream.set_channels([&sids](std::uint32_t, std::uint32_t id) { return sids.contains(id); });
    std::vector<std::uint32_t> seen;
    const auto note = [&seen](const Events& events) {
      for (const auto& event : events)
        if (event.kind == IOCX_CA_PUT) seen.push_back(event.id);
    };
    note(stream.feed(version()));
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t to = std::min(bytes.size(), at + 8 * (1 + random() % 180));
      if (random() % 30 == 0)
        note(stream.gap(static_cast<std::uint32_t>(to - at)));
      else
        note(stream.feed(part(bytes, at, to)));
      at = to;
    }
    ASSERT_TRUE(std::is_sorted(seen.begin(), seen.end()));
    ASSERT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end());
    for (const std::uint32_t sid : seen) ASSERT_TRUE(sids.contains(sid));
    sent += order.size();
    told += seen.size();
  }
  EXPECT_LT(told, sent);           // gaps and proofs have cost some
  EXPECT_GT(told, sent * 3 / 10);  // others were found again
}

}  // namespace

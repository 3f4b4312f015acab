#include "support/ca_stream.h"

#include <gtest/gtest.h>

#include <random>

#include "bytes.h"

namespace {

using namespace ioc_exporter::testing;
using ioc_exporter::ca::CaDirection;
using ioc_exporter::ca::CaEvent;
using ioc_exporter::ca::CaStream;
using Events = std::vector<CaEvent>;

CaEvent put(std::uint32_t sid, bool notify = false, std::uint32_t ioid = 0) {
  return {IOCX_CA_PUT, sid, ioid, notify, {}};
}

Events feed_in_pieces(CaStream& stream, const Bytes& bytes, const std::vector<std::size_t>& cuts) {
  Events all;
  std::size_t from = 0;
  for (std::size_t i = 0; i <= cuts.size(); ++i) {
    const std::size_t to = i < cuts.size() ? cuts[i] : bytes.size();
    const auto events = stream.feed(std::span(bytes).subspan(from, to - from));
    all.insert(all.end(), events.begin(), events.end());
    from = to;
  }
  return all;
}

std::vector<std::size_t> every(std::size_t piece, std::size_t size) {
  std::vector<std::size_t> cuts;
  for (std::size_t cut = piece; cut < size; cut += piece) cuts.push_back(cut);
  return cuts;
}

std::vector<std::uint32_t> kinds(const Events& events) {
  std::vector<std::uint32_t> kinds;
  for (const CaEvent& event : events) kinds.push_back(event.kind);
  return kinds;
}

// Kinds of messages beside puts and channels, too.
struct Conversation {
  CaDirection direction;
  Bytes bytes;
  Events events;
};

CaEvent event(std::uint32_t kind, std::uint32_t id = 0, std::uint32_t other = 0) {
  return {kind, id, other, false, {}};
}
CaEvent failed(std::uint32_t command, std::uint32_t sid, std::uint32_t status, std::uint32_t ioid) {
  return {IOCX_CA_ERROR, sid, status, false, {}, command, ioid};
}

Conversation requests() {
  return {CaDirection::to_server,
          version() + subscribe(11, 3) + message(15, 6, 1, 11, 21) +  // READ_NOTIFY
              message(3, 6, 1, 11, 22) +                              // READ
              message(8, 0, 0, 0, 0) + message(23, 0, 0, 0, 0) +      // EVENTS_OFF, ECHO
              message(9, 0, 0, 0, 0) + unsubscribe(11, 3) + clear(11, 1),
          {event(IOCX_CA_SUBSCRIBE, 11, 3), event(IOCX_CA_GET, 11, 21), event(IOCX_CA_GET, 11, 22),
           event(IOCX_CA_PAUSE), event(IOCX_CA_ECHO), event(IOCX_CA_RESUME),
           event(IOCX_CA_UNSUBSCRIBE, 11, 3), event(IOCX_CA_CLEAR, 11, 1)}};
}

Conversation answers() {
  const Bytes large = long_message(4, 6, 20000, 12, 78, Bytes(160000, 1));
  return {CaDirection::to_client,
          version() + access_rights(1, 1) + message(18, 6, 5, 1, 11) + update(3) +
              long_message(1, 6, 10, 1, 4, Bytes(80, 2)) +  // a monitor of an array
              message(1, 6, 1, 1, 3) +                      // the end of one
              message(15, 6, 1, 1, 21, Bytes(8, 1)) +       // a get's value
              written(31) + written(32, 160) + message(23, 0, 0, 0, 0) +
              error(1, 376, write(11, 77), "PS:1:SP") + error(2, 72, large) +
              message(11, 0, 0, 1, 0, Bytes(8, 0)) +  // too short to say what failed
              cleared(11, 1) + access_rights(2, 0) + server_disconnect(2),
          {event(IOCX_CA_RIGHTS, 1, 1), event(IOCX_CA_CREATED, 1, 11), event(IOCX_CA_UPDATE, 1, 3),
           event(IOCX_CA_UPDATE, 1, 4), event(IOCX_CA_WRITTEN, 1, 31),
           event(IOCX_CA_WRITTEN, 160, 32), failed(IOCX_CA_CMD_WRITE, 11, 376, 77),
           failed(IOCX_CA_CMD_WRITE, 12, 72, 78), event(IOCX_CA_CLEAR_DONE, 11, 1),
           event(IOCX_CA_RIGHTS, 2, 0), event(IOCX_CA_DISCONNECT, 2, 0)}};
}

// A client's puts, with every kind of message that matters to them.
Conversation writes() {
  return {CaDirection::to_server,
          version() + host_name("console-1") + client_name("operator") + create(1, "PS:1:SP") +
              create(2, "PS:2:SP.VAL") + write(11) + message(23, 0, 0, 0, 0) + write_notify(12, 5) +
              long_message(4, 6, 3, 11, 1, Bytes(24, 1)) +
              message(1, 20, 1, 11, 3, Bytes(16, 0)) +     // EVENT_ADD
              message(4, 0, 1, 12, 7, text("a string")) +  //
              message(10, 1, 2, 3, 4, Bytes(32, 9)) +      // not a command that matters
              clear(11, 1) + write(12),
          {{IOCX_CA_HOST, 0, 0, false, "console-1"},
           {IOCX_CA_USER, 0, 0, false, "operator"},
           {IOCX_CA_CREATE, 1, 13, false, "PS:1:SP"},
           {IOCX_CA_CREATE, 2, 13, false, "PS:2:SP.VAL"},
           put(11),
           event(IOCX_CA_ECHO),
           put(12, true, 5),
           put(11, false, 1),
           event(IOCX_CA_SUBSCRIBE, 11, 3),
           put(12, false, 7),
           event(IOCX_CA_CLEAR, 11, 1),
           put(12)}};
}

class CaConversation : public ::testing::TestWithParam<Conversation (*)()> {
 protected:
  Events feed(const std::vector<std::size_t>& cuts) const {
    auto stream = CaStream::from_start(conversation_.direction);
    return feed_in_pieces(stream, conversation_.bytes, cuts);
  }
  const Conversation conversation_ = GetParam()();
};
INSTANTIATE_TEST_SUITE_P(Of, CaConversation, ::testing::Values(&writes, &requests, &answers),
                         [](const auto& of) {
                           return of.param == &writes     ? "Puts"
                                  : of.param == &requests ? "Requests"
                                                          : "Answers";
                         });

TEST_P(CaConversation, InOneSegment) {
  EXPECT_EQ(feed({}), conversation_.events);
}

TEST_P(CaConversation, SplitAtEveryOffset) {
  for (std::size_t cut = 1; cut < conversation_.bytes.size(); ++cut)
    ASSERT_EQ(feed({cut}), conversation_.events) << "cut at " << cut;
}

TEST_P(CaConversation, InPiecesOfEverySize) {
  for (std::size_t piece = 1; piece < 80; ++piece)
    ASSERT_EQ(feed(every(piece, conversation_.bytes.size())), conversation_.events) << piece;
}

TEST(CaStream, RandomCutsOfALongStream) {
  std::mt19937 random(23);
  Bytes bytes = version();
  std::vector<CaEvent> expected;
  for (std::uint32_t i = 0; i < 3001; ++i) {
    switch (random() % 4) {
      case 0:
        bytes = std::move(bytes) + write(i);
        expected.push_back(put(i));
        break;
      case 1:
        bytes = std::move(bytes) + write_notify(i);
        expected.push_back(put(i, true));
        break;
      case 2:
        bytes = std::move(bytes) + create(i, std::string(1 + random() % 200, 'n'));
        expected.push_back({IOCX_CA_CREATE, i, 13, false, {}});
        break;
      default:
        bytes = std::move(bytes) + message(4, 4, 1, i, 0, Bytes(random() % 5000, 4));
        expected.push_back(put(i));
    }
  }
  for (int round = 0; round < 5; ++round) {
    std::vector<std::size_t> cuts;
    for (std::size_t at = 1; at < bytes.size(); at += 1 + random() % (round == 0 ? 40 : 9000))
      cuts.push_back(at);
    auto stream = CaStream::from_start(CaDirection::to_server);
    auto events = feed_in_pieces(stream, bytes, cuts);
    for (auto& event : events) event.text.clear();
    ASSERT_EQ(events, expected);
  }
}

TEST(CaStream, PutCountsWithItsLastByte) {
  auto stream = CaStream::from_start(CaDirection::to_server);
  const Bytes bytes = version() + write(5);
  Bytes cut(bytes.begin(), bytes.end() - 1);
  EXPECT_EQ(stream.feed(cut), Events{});
  EXPECT_EQ(stream.feed(Bytes{0}), Events{put(5)});
}

TEST(CaStream, LongArraysSpanSegments) {
  auto stream = CaStream::from_start(CaDirection::to_server);
  EXPECT_EQ(stream.feed(version()), Events{});
  const Bytes bytes = long_message(19, 6, 50000, 8, 1, Bytes(400000, 4)) + write(9);
  const auto events = feed_in_pieces(stream, bytes, {65483, 130966, 400024, 400030});
  EXPECT_EQ(events, (Events{put(8, true, 1), put(9)}));
}

TEST(CaStream, KeepsNamesUpToTheirLimit) {
  auto stream = CaStream::from_start(CaDirection::to_server);
  const std::string longest(IOCX_CA_NAME - 1, 'x');
  const Bytes bytes = version() + create(1, longest) + create(2, longest + "yyyy") + write(3);
  std::vector<std::size_t> cuts;
  for (std::size_t cut = 7; cut < bytes.size(); cut += 7) cuts.push_back(cut);
  const auto events = feed_in_pieces(stream, bytes, cuts);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].text, longest);
  EXPECT_EQ(events[1].text, longest + "y");  // not terminated: the caller sees that it was cut
  EXPECT_EQ(events[2], put(3));
}

TEST(CaStream, NameWithoutTerminatorEndsWithItsPayload) {
  auto stream = CaStream::from_start(CaDirection::to_server);
  const Bytes bytes = version() + message(18, 0, 0, 1, 13, Bytes(8, 'n')) + write(3);
  EXPECT_EQ(stream.feed(bytes), (Events{{IOCX_CA_CREATE, 1, 13, false, "nnnnnnnn"}, put(3)}));
}

constexpr std::uint32_t kNotCa = IOCX_CA_NOT_CA, kRefused = IOCX_CA_REFUSED_ALL;

TEST(CaStream, FirstMessageNeedNotBeVersion) {
  for (const std::size_t piece : {1u, 7u, 1000u}) {
    auto stream = CaStream::from_start(CaDirection::to_server);
    const Bytes bytes = message(23, 0, 0, 0, 0) + version() + write(3);
    EXPECT_EQ(feed_in_pieces(stream, bytes, every(piece, bytes.size())),
              (Events{event(kNotCa), event(IOCX_CA_ECHO), put(3)}));
  }
}

TEST(CaStream, OtherProtocolsAreNotRead) {
  auto stream = CaStream::from_start(CaDirection::to_server);
  const Bytes odd = message(0x4745, 0, 0, 1, 2, Bytes(24, 'x'));
  EXPECT_EQ(stream.feed(odd + write(4)), (Events{event(kNotCa)}));
}

TEST(CaStream, SizeAloneMakesALongHeader) {
  for (const std::size_t piece : {1u, 23u, 1000u}) {
    auto stream = CaStream::from_start(CaDirection::to_server);
    Bytes with_count = long_message(4, 6, 1, 5, 0, Bytes(8, 1));
    with_count[7] = 77;
    const Bytes bytes = version() + repeat(with_count, 3) + write(6);
    EXPECT_EQ(feed_in_pieces(stream, bytes, every(piece, bytes.size())),
              (Events{put(5), put(5), put(5), put(6)}));
  }
}

// A client reads all of a payload: its end is never reached, whatever is sent behind the header.
TEST(CaStream, LengthOfAServersMessageDoesNotWrap) {
  for (const unsigned last : {0xE8u, 0xF0u, 0xFFu})
    for (const std::size_t piece : {1u, 9u, 1000u}) {
      auto stream = CaStream::from_start(CaDirection::to_client);
      Bytes wraps = long_message(15, 6, 1, 1, 0);
      for (const std::size_t at : {16u, 17u, 18u}) wraps[at] = 0xFF;
      wraps[19] = static_cast<std::uint8_t>(last);
      const Bytes bytes = version() + wraps + message(19, 6, 1, 1, 5) + Bytes(64, 0xFF);
      const auto events = feed_in_pieces(stream, bytes, every(piece, bytes.size()));
      for (const CaEvent& event : events) EXPECT_NE(event.other, 5u) << last << " " << piece;
    }
}

TEST(CaStream, NothingIsReadBehindAMessageThatEndsTheCircuit) {
  Bytes odd = write(1);
  odd[3] = 9;
  const std::vector<Bytes> ends{odd, message(5, 0, 0, 0, 0), message(22, 0, 0, 0, 0),
                                message(28, 0, 0, 0, 0), message(0x1234, 0, 0, 0, 0)};
  for (const Bytes& end : ends) {
    auto stream = CaStream::from_start(CaDirection::to_server);
    const auto events = stream.feed(version() + write(1) + end + repeat(write(2), 7));
    EXPECT_EQ(kinds(events), (std::vector<std::uint32_t>{IOCX_CA_PUT, kRefused}));
    EXPECT_EQ(stream.feed(repeat(write(2), 7)), Events{});
  }
}

TEST(CaStream, ServerSide) {
  auto stream = CaStream::from_start(CaDirection::to_client);
  const Bytes bytes = version() + created(1, 11) + create_failed(2) +
                      message(15, 20, 1, 1, 2, Bytes(16, 1)) +  // READ_NOTIFY's answer
                      message(19, 6, 1, 1, 5) + server_disconnect(1);
  EXPECT_EQ(stream.feed(bytes), (Events{event(IOCX_CA_RIGHTS, 1, 3), event(IOCX_CA_CREATED, 1, 11),
                                        event(IOCX_CA_FAILED, 2, 0), event(IOCX_CA_WRITTEN, 1, 5),
                                        event(IOCX_CA_DISCONNECT, 1, 0)}));
}

TEST(CaStream, JoinsWhereASegmentStartsWithMessages) {
  auto stream = CaStream::joined(CaDirection::to_server);
  EXPECT_EQ(stream.feed(Bytes(48, 0)), Events{});  // the rest of somebody's array
  EXPECT_TRUE(stream.is_lost());
  EXPECT_EQ(stream.feed(proof(3)), Events(0));
  EXPECT_EQ(stream.feed(write(3) + write(4)), (Events{put(3), put(4)}));
  EXPECT_FALSE(stream.is_lost());
}

TEST(CaStream, JoinsAtASingleMessageAfterASilence) {
  auto stream = CaStream::joined(CaDirection::to_server);
  stream.silence();
  EXPECT_EQ(stream.feed(create(7, "LATE:PV")), (Events{{IOCX_CA_CREATE, 7, 13, false, "LATE:PV"}}));
}

TEST(CaStream, JoinsThroughAnArrayThatSpansSegments) {
  auto stream = CaStream::joined(CaDirection::to_server);
  const Bytes bytes = long_message(4, 6, 50000, 8, 0, Bytes(400000, 4)) + proof(8) + write(9);
  EXPECT_EQ(feed_in_pieces(stream, bytes, {65483, 130966}).back(), put(9));
  EXPECT_FALSE(stream.is_lost());
}

TEST(CaStream, ArrayThatLooksLikeAHeaderIsNotBelieved) {
  auto stream = CaStream::joined(CaDirection::to_server);
  // A header that fits, and behind its message neither an end nor another header.
  Bytes bytes = write(3) + Bytes(40, 0x33);
  EXPECT_EQ(stream.feed(bytes), Events{});
  bytes = message(4, 4, 1504, 3, 0, Bytes(1504, 1)) + Bytes(40, 0x33);
  EXPECT_EQ(stream.feed(bytes), Events{});
  EXPECT_TRUE(stream.is_lost());
}

TEST(CaStream, GapInsideAPayloadLosesNothing) {
  auto stream = CaStream::from_start(CaDirection::to_server);
  stream.feed(version());
  const Bytes bytes = message(4, 4, 4000, 8, 0, Bytes(4000, 1)) + write(9);
  EXPECT_EQ(stream.feed(std::span(bytes).first(1000)), Events{});
  EXPECT_EQ(stream.gap(500), Events{});
  EXPECT_FALSE(stream.is_lost());
  EXPECT_EQ(stream.feed(std::span(bytes).subspan(1500)), (Events{put(8), put(9)}));
}

TEST(CaStream, GapUpToTheEndOfAPayloadLosesNothing) {
  auto stream = CaStream::from_start(CaDirection::to_server);
  const Bytes bytes = version() + message(4, 4, 4000, 8, 0, Bytes(4000, 1)) + write(9);
  EXPECT_EQ(stream.feed(std::span(bytes).first(1000)), Events{});
  EXPECT_EQ(stream.gap(static_cast<std::uint32_t>(bytes.size() - 24 - 1000)), Events{put(8)});
  EXPECT_EQ(stream.feed(write(9)), Events{put(9)});
}

// Whatever the bytes: no read outside (run under a sanitizer to see), an end, and no put from
// noise.
TEST(CaStream, NoiseNeverBecomesAPut) {
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

TEST(CaStream, NoiseFromTheStartEnds) {
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    auto stream = CaStream::from_start(round % 2 ? CaDirection::to_server : CaDirection::to_client);
    for (int segment = 0; segment < 20; ++segment) {
      Bytes bytes(1 + random() % 3000);
      for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random() % 3 ? 0 : random());
      const auto events = stream.feed(bytes);
      ASSERT_LE(events.size(), bytes.size() / 16 + 20);
    }
  }
}

// The IOID of a put goes with its event, also when its last byte was not seen but sent.
TEST(CaStream, HeldPutKeepsItsIoid) {
  auto stream = CaStream::from_start(CaDirection::to_server);
  const Bytes bytes = version() + message(19, 4, 4000, 8, 91, Bytes(4000, 1)) + write_notify(9, 92);
  EXPECT_EQ(stream.feed(std::span(bytes).first(1000)), Events{});
  EXPECT_EQ(stream.gap(static_cast<std::uint32_t>(bytes.size() - 24 - 1000)),
            (Events{{IOCX_CA_PUT, 8, 91, true, {}}}));
  EXPECT_EQ(stream.feed(write_notify(9, 92)), (Events{{IOCX_CA_PUT, 9, 92, true, {}}}));
}

}  // namespace

// What the parser makes of a circuit's messages besides puts and channels, however they are cut.
#include <gtest/gtest.h>

#include <algorithm>

#include "bytes.h"
#include "puts/tap/stream.h"

namespace {

using namespace ioc_exporter::testing;
using ioc_exporter::ca::CaDirection;
using ioc_exporter::ca::CaEvent;
using ioc_exporter::ca::CaStream;
using Events = std::vector<CaEvent>;

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

Conversation from_client() {
  return {CaDirection::to_server,
          version() + subscribe(11, 3) + message(15, 6, 1, 11, 21) +  // READ_NOTIFY
              message(3, 6, 1, 11, 22) +                              // READ
              message(8, 0, 0, 0, 0) + message(23, 0, 0, 0, 0) +      // EVENTS_OFF, ECHO
              message(9, 0, 0, 0, 0) + unsubscribe(11, 3) + clear(11, 1),
          {event(IOCX_CA_SUBSCRIBE, 11, 3), event(IOCX_CA_GET, 11, 21), event(IOCX_CA_GET, 11, 22),
           event(IOCX_CA_PAUSE), event(IOCX_CA_ECHO), event(IOCX_CA_RESUME),
           event(IOCX_CA_UNSUBSCRIBE, 11, 3), event(IOCX_CA_CLEAR, 11, 1)}};
}

Conversation from_server() {
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

class CaAnswers : public ::testing::TestWithParam<Conversation (*)()> {
 protected:
  const Conversation conversation_ = GetParam()();
};

TEST_P(CaAnswers, InOneSegment) {
  auto stream = CaStream::from_start(conversation_.direction);
  EXPECT_EQ(stream.feed(conversation_.bytes), conversation_.events);
}

TEST_P(CaAnswers, SplitAtEveryOffset) {
  const auto& bytes = conversation_.bytes;
  for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
    auto stream = CaStream::from_start(conversation_.direction);
    Events events = stream.feed(std::span(bytes).first(cut));
    const Events rest = stream.feed(std::span(bytes).subspan(cut));
    events.insert(events.end(), rest.begin(), rest.end());
    ASSERT_EQ(events, conversation_.events) << "cut at " << cut;
  }
}

TEST_P(CaAnswers, InPiecesOfEverySize) {
  const auto& bytes = conversation_.bytes;
  for (std::size_t piece = 1; piece < 80; ++piece) {
    auto stream = CaStream::from_start(conversation_.direction);
    Events events;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      const auto more =
          stream.feed(std::span(bytes).subspan(at, std::min(piece, bytes.size() - at)));
      events.insert(events.end(), more.begin(), more.end());
    }
    ASSERT_EQ(events, conversation_.events) << "pieces of " << piece;
  }
}

INSTANTIATE_TEST_SUITE_P(Directions, CaAnswers, ::testing::Values(&from_client, &from_server),
                         [](const auto& from) {
                           return from.param == &from_client ? "FromClient" : "FromServer";
                         });

// The IOID of a put goes with its event, also when its last byte was not seen but sent.
TEST(CaAnswers, HeldPutKeepsItsIoid) {
  auto stream = CaStream::from_start(CaDirection::to_server);
  const Bytes bytes = version() + message(19, 4, 4000, 8, 91, Bytes(4000, 1)) + write_notify(9, 92);
  EXPECT_EQ(stream.feed(std::span(bytes).first(1000)), Events{});
  EXPECT_EQ(stream.gap(static_cast<std::uint32_t>(bytes.size() - 24 - 1000)),
            (Events{{IOCX_CA_PUT, 8, 91, true, {}}}));
  EXPECT_EQ(stream.feed(write_notify(9, 92)), (Events{{IOCX_CA_PUT, 9, 92, true, {}}}));
}

}  // namespace

// The CA server at work while it is read.
#include "server_reader_fixture.h"

namespace ioc_exporter::puts {
namespace {

class ReadMovingCaServer : public ReadCaServer {};
INSTANTIATE_TEST_SUITE_P(Layouts, ReadMovingCaServer, both_layouts(), layout_name);

// At every moment of a reading a channel is closed and its memory given to another one: neither
// the one nor the other gets a name that is not its own.
TEST_P(ReadMovingCaServer, ChannelsThatComeAndGoMeanwhileGetNoWrongName) {
  fill();
  ASSERT_TRUE(read());
  const int reads = memory_.reads();
  int told = 0;
  for (int when = 1; when <= reads; ++when) {
    auto& channel = image_.add_channel(*ann_, 1, 1, "OLD", "OLD", "VAL");
    channel_after_ = nullptr;
    const CaServerTables tables = read_while(when, [&] {
      image_.remove_channel(channel);
      auto& next = image_.add_channel(*bob_, 2, 2, "NEW", "NEW", "VAL");
      // The old one's memory now says what the new one is, all but its SID.
      const auto sid = channel.by_db_addr.common.sid;
      std::memcpy(&channel.by_db_addr, &next.by_db_addr, sizeof next.by_db_addr);
      channel.by_db_addr.common.sid = sid;
      channel_after_ = &next;
    });
    const auto channels = by_sid(tables);
    if (const auto old = channels.find(1); old != channels.end()) {
      EXPECT_EQ(old->second.name, "OLD");
      ++told;
    }
    if (const auto fresh = channels.find(2); fresh != channels.end()) {
      EXPECT_EQ(fresh->second.name, "NEW");
      ++told;
    }
    EXPECT_EQ(tables.left_out, 0u) << "another attempt finds all as it is";
    for (std::uint32_t i = 0; i < 23; ++i) EXPECT_TRUE(channels.contains(4090 + i));
    image_.remove_channel(channel_after_ != nullptr ? *channel_after_ : channel);
  }
  EXPECT_GT(told, 0);
}

// One half of a channel is read before it was made, the other after: for as many reads as may be.
TEST_P(ReadMovingCaServer, AChannelOfWhichHalfIsOldIsNotTold) {
  fill();
  auto& channel = image_.add_channel(*ann_, 1, 1, "NEW", "NEW", "VAL");
  auto& other = image_.add_channel(*bob_, 2, 2, "OTHER", "OTHER", "VAL");
  ASSERT_TRUE(read());
  const int reads = memory_.reads();
  int told = 0;
  for (int until = 1; until <= reads / 2; ++until) {
    for (const bool whose : {true, false}) {
      if (whose)
        memory_.set_stale(channel.by_db_addr.common.client, CaServerImage::address(bob_));
      else if (keeps_asked_name())
        memory_.set_stale(channel.db_channel.name, other.db_channel.name);
      else
        memory_.set_stale(channel.by_db_addr.address.record, other.by_db_addr.address.record);
      const CaServerTables tables = read_while(until, [this] { memory_.clear_stale(); });
      memory_.clear_stale();
      for (const CaServerChannel& one : client(tables, "bob")->channels)
        EXPECT_NE(one.sid, 1u) << until;
      const auto channels = by_sid(tables);
      if (!channels.contains(1)) continue;
      EXPECT_EQ(channels.at(1).name, "NEW") << until;
      ++told;
    }
  }
  EXPECT_GT(told, 0);
}

// A circuit is replaced by another one, with the same struct client, while it is read.
TEST_P(ReadMovingCaServer, AClientThatIsReplacedMeanwhileIsNotMixedUp) {
  fill();
  ASSERT_TRUE(read());
  const int reads = memory_.reads();
  const layout::RsrvClient saved = *ann_;
  for (int when = 1; when <= reads; ++when) {
    const CaServerTables tables = read_while(when, [this] {
      ann_->port[0] = 1;
      ann_->user = bob_->user;
    });
    EXPECT_TRUE(tables.is_whole()) << "another attempt finds all as it is";
    for (const CaServerClient& one : tables.clients)
      EXPECT_TRUE(one.peer != peer({10, 0, 0, 7}, 40001) || one.user == "ann") << when;
    *ann_ = saved;
  }
}

}  // namespace
}  // namespace ioc_exporter::puts

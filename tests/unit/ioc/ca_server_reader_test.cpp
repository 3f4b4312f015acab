#include "ioc/ca_server_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <map>

#include "ca_server_image.h"
#include "database_image.h"
#include "shared/ca_parser.h"

namespace ioc_exporter::ioc {
namespace {

using testing::HasSubstr;

// This process' memory, in which something happens after a number of reads.
class MovingMemory : public Memory {
 public:
  explicit MovingMemory(Memory& memory) : memory_(memory) {}

  Result<std::size_t> read_some(std::uint64_t address, std::span<std::byte> into) override {
    ++reads_;
    if (happens) happens(reads_);
    auto got = memory_.read_some(address, into);
    for (const auto& [at, value] : stale_)
      if (got && at >= address && at + sizeof value <= address + *got)
        std::memcpy(into.data() + (at - address), &value, sizeof value);
    return got;
  }
  std::function<void(int)> happens;
  // While it is there, this pointer reads as what it was before.
  void set_stale(const std::uint64_t& pointer, std::uint64_t before) {
    stale_[reinterpret_cast<std::uintptr_t>(&pointer)] = before;
  }
  void clear_stale() { stale_.clear(); }
  int reads() const { return reads_; }

 private:
  Memory& memory_;
  std::map<std::uint64_t, std::uint64_t> stale_;
  int reads_ = 0;
};

CaPeer peer(const CaServerImage::Octets& octets, std::uint16_t port) {
  CaPeer at;
  at.address = {0, 0, 0,    0,    0,         0,         0,         0,
                0, 0, 0xFF, 0xFF, octets[0], octets[1], octets[2], octets[3]};
  at.port = port;
  return at;
}

class ReadCaServer : public testing::TestWithParam<ChannelLayout> {
 protected:
  void SetUp() override { ASSERT_NE(own_, nullptr); }

  bool keeps_asked_name() const { return GetParam() == ChannelLayout::by_db_channel; }
  Result<CaServerTables> read() {
    const discovery::CaServerSymbols symbols[]{image_.symbols()};
    return read_ca_server(memory_, symbols, peers_, "ioc X (pid 8)");
  }
  std::string failure() {
    const auto tables = read();
    return tables ? "no error" : tables.error().message();
  }
  // Two clients with channels, one without.
  void fill() {
    ann_ = &image_.add_client({10, 0, 0, 7}, 40001, "ann", "console1");
    bob_ = &image_.add_client({127, 0, 0, 1}, 513, "bob", "console2");
    image_.add_client({10, 0, 0, 7}, 40002, nullptr, nullptr);
    peers_ = {peer({10, 0, 0, 7}, 40001), peer({127, 0, 0, 1}, 513), peer({10, 0, 0, 7}, 40002)};
    for (std::uint32_t i = 0; i < 23; ++i)
      image_.add_channel(i % 2 == 0 ? *ann_ : *bob_, 100 + i, 4090 + i, "R:" + std::to_string(i),
                         "R:" + std::to_string(i), "VAL");
  }
  static const CaServerClient* client(const CaServerTables& tables, const std::string& user) {
    for (const CaServerClient& client : tables.clients)
      if (client.user == user) return &client;
    return nullptr;
  }
  static std::map<std::uint32_t, CaServerChannel> by_sid(const CaServerTables& tables) {
    std::map<std::uint32_t, CaServerChannel> all;
    for (const CaServerClient& client : tables.clients)
      for (const CaServerChannel& channel : client.channels) all.emplace(channel.sid, channel);
    return all;
  }

  std::unique_ptr<ProcMemory> own_ = own_memory();
  MovingMemory memory_{*own_};
  CaServerImage image_{GetParam()};
  CaPeers peers_;
  base::RsrvClient* ann_ = nullptr;
  base::RsrvClient* bob_ = nullptr;
  CaServerImage::Channel* channel_after_ = nullptr;
};

INSTANTIATE_TEST_SUITE_P(Layouts, ReadCaServer,
                         testing::Values(ChannelLayout::by_db_channel, ChannelLayout::by_db_addr),
                         [](const auto& layout) {
                           return layout.param == ChannelLayout::by_db_channel ? "DbChannel"
                                                                               : "DbAddr";
                         });

TEST_P(ReadCaServer, ClientsAndChannels) {
  fill();
  const auto tables = read();
  ASSERT_TRUE(tables) << tables.error().message();
  EXPECT_EQ(tables->channels, 23u);
  EXPECT_EQ(tables->left_out, 0u);
  ASSERT_EQ(tables->clients.size(), 3u);
  const CaServerClient* ann = client(*tables, "ann");
  ASSERT_NE(ann, nullptr);
  EXPECT_EQ(ann->peer, peer({10, 0, 0, 7}, 40001));
  EXPECT_EQ(ann->host, "console1");
  EXPECT_EQ(ann->channels.size(), 12u);
  const CaServerClient* silent = client(*tables, "");
  ASSERT_NE(silent, nullptr);
  EXPECT_EQ(silent->host, "");
  EXPECT_TRUE(silent->channels.empty());
  const auto channels = by_sid(*tables);
  ASSERT_EQ(channels.size(), 23u);
  for (std::uint32_t i = 0; i < 23; ++i) {
    EXPECT_EQ(channels.at(4090 + i).name, "R:" + std::to_string(i));
    EXPECT_EQ(channels.at(4090 + i).cid, 100 + i);
    EXPECT_EQ(channels.at(4090 + i).access, CaServerSample::read_write);
  }
}

TEST_P(ReadCaServer, NamesAsAskedOrAsFarAsTheyAreKept) {
  fill();
  image_.field("DESC", base::kDbfString);
  image_.field("FLNK", base::kDbfFwdLink3_14);
  image_.add_channel(*ann_, 1, 1, "alias.VAL", "R:1", "VAL");
  image_.add_channel(*ann_, 2, 2, "R:1.DESC", "R:1", "DESC");
  auto& text = image_.add_channel(*ann_, 3, 3, "R:1.DESC$", "R:1", "DESC");
  image_.address_of(text).field_type = base::kDbfChar;
  auto& link = image_.add_channel(*ann_, 4, 4, "R:1.FLNK$", "R:1", "FLNK");
  image_.address_of(link).dbr_field_type = base::kOldDbrChar;
  image_.add_channel(*ann_, 5, 5, "R:1.FLNK", "R:1", "FLNK");
  image_.add_channel(*ann_, 6, 6, "R:1.VAL{\"ts\":{}}", "R:1", "VAL");
  const auto tables = read();
  ASSERT_TRUE(tables) << tables.error().message();
  const auto channels = by_sid(*tables);
  EXPECT_EQ(channels.at(1).name, keeps_asked_name() ? "alias.VAL" : "R:1");
  EXPECT_EQ(channels.at(2).name, "R:1.DESC");
  EXPECT_EQ(channels.at(3).name, "R:1.DESC$");
  EXPECT_EQ(channels.at(4).name, "R:1.FLNK$");
  EXPECT_EQ(channels.at(5).name, "R:1.FLNK");
  EXPECT_EQ(channels.at(6).name, keeps_asked_name() ? "R:1.VAL{\"ts\":{}}" : "R:1");
}

TEST_P(ReadCaServer, LongTextsAreCutAsTheTapCutsThem) {
  fill();
  const std::string name(300, 'N');
  const std::string user(100, 'U');
  auto& talker = image_.add_client({10, 0, 0, 8}, 1, user.c_str(), "h");
  peers_.insert(peer({10, 0, 0, 8}, 1));
  image_.add_channel(talker, 1, 1, name, std::string(60, 'N'), "VAL");
  const auto tables = read();
  ASSERT_TRUE(tables) << tables.error().message();
  EXPECT_EQ(by_sid(*tables).at(1).name.size(), keeps_asked_name() ? IOCX_CA_NAME - 1 : 60);
  EXPECT_NE(client(*tables, user.substr(0, IOCX_CA_IDENTITY - 1)), nullptr);
}

TEST_P(ReadCaServer, AccessRightsAndMonitors) {
  fill();
  const auto add = [this](std::uint32_t id) -> CaServerImage::Channel& {
    return image_.add_channel(*bob_, id, id, "A:" + std::to_string(id), "A:" + std::to_string(id),
                              "VAL");
  };
  image_.secure(add(1), base::kAsNoAccess);
  image_.secure(add(2), base::kAsRead);
  image_.secure(add(3), base::kAsWrite);
  auto& fixed = add(4);
  image_.secure(fixed, base::kAsWrite);
  image_.address_of(fixed).special = base::kSpcNoMod;
  image_.address_of(add(5)).special = base::kSpcNoMod;
  auto& stranger = add(6);
  image_.secure(stranger, base::kAsWrite);
  stranger.access.user_private = 8;
  image_.secure(add(7), 77);
  add(8).by_db_addr.common.eventq.count = 31;
  const auto tables = read();
  ASSERT_TRUE(tables) << tables.error().message();
  const auto channels = by_sid(*tables);
  EXPECT_EQ(channels.at(1).access, CaServerSample::none);
  EXPECT_EQ(channels.at(2).access, CaServerSample::read);
  EXPECT_EQ(channels.at(3).access, CaServerSample::read_write);
  EXPECT_EQ(channels.at(4).access, CaServerSample::read);
  EXPECT_EQ(channels.at(5).access, CaServerSample::read) << "without access security";
  EXPECT_EQ(channels.at(6).access, CaServerSample::unknown) << "another channel's";
  EXPECT_EQ(channels.at(7).access, CaServerSample::unknown);
  EXPECT_EQ(channels.at(8).monitors, 31u);
  EXPECT_EQ(channels.at(7).monitors, 0u);
}

TEST_P(ReadCaServer, NoServerNoClientsNoChannels) {
  auto tables = read();
  ASSERT_TRUE(tables) << tables.error().message();
  EXPECT_TRUE(tables->clients.empty());
  image_.add_client({10, 0, 0, 7}, 1, "u", "h");
  peers_ = {peer({10, 0, 0, 7}, 1)};
  tables = read();
  ASSERT_TRUE(tables) << tables.error().message();
  EXPECT_EQ(tables->clients.size(), 1u);
  fill();
  image_.bucket_pointer() = 0;
  tables = read();
  ASSERT_TRUE(tables) << "the server is not set up";
  EXPECT_TRUE(tables->clients.empty());
  image_.bucket_pointer() = 12;
  EXPECT_EQ(failure(),
            "read the CA server's tables of ioc X (pid 8): pCaBucket is 0xc, no pointer");
  EXPECT_THAT(read_ca_server(memory_, {}, peers_, "x").error().message(),
              HasSubstr("no symbols pCaBucket and clientQ"));
}

TEST_P(ReadCaServer, TheFirstServerThatIsSetUpIsRead) {
  fill();
  CaServerImage unused{GetParam()};
  unused.bucket_pointer() = 0;
  const discovery::CaServerSymbols symbols[]{unused.symbols(), image_.symbols()};
  const auto tables = read_ca_server(memory_, symbols, peers_, "x");
  ASSERT_TRUE(tables) << tables.error().message();
  EXPECT_EQ(tables->channels, 23u);
}

TEST_P(ReadCaServer, OnlyPeersOfItsSocketsAreClients) {
  fill();
  peers_.erase(peer({127, 0, 0, 1}, 513));
  auto tables = read();
  ASSERT_TRUE(tables) << tables.error().message();
  EXPECT_EQ(client(*tables, "bob"), nullptr);
  EXPECT_EQ(tables->channels, 12u);
  EXPECT_EQ(tables->left_out, 0u) << "it came later: the tap saw it begin";
  bob_->family = 10;
  peers_.insert(peer({127, 0, 0, 1}, 513));
  tables = read();
  ASSERT_TRUE(tables);
  EXPECT_EQ(client(*tables, "bob"), nullptr) << "no IPv4 address";
  peers_.clear();
  EXPECT_THAT(failure(), HasSubstr("list of clients: none of them is the peer of a socket"));
}

TEST_P(ReadCaServer, WhatDoesNotFitIsLeftOutAndCounted) {
  fill();
  auto& homeless = image_.add_channel(*ann_, 1, 2001, "X:1", "X:1", "VAL");
  homeless.by_db_addr.common.client = 8;
  image_.add_channel(*ann_, 2, 2002, "X:\n", "X:\n", "VAL");
  auto& lost = image_.add_channel(*ann_, 3, 2003, "X:3", "X:3", "VAL");
  if (keeps_asked_name())
    lost.by_db_channel.db_channel = 0x10;
  else
    lost.by_db_addr.address.record = 0x10;
  auto& other = image_.add_channel(*ann_, 4, 2004, "X:4", "X:4", "VAL");
  other.item.type = 2;
  auto& shifted = image_.add_channel(*ann_, 5, 2005, "X:5", "X:5", "VAL");
  shifted.item.id += 4;
  auto& misplaced = image_.add_channel(*ann_, 6, 2006, "X:6", "X:6", "VAL");
  misplaced.by_db_addr.common.sid = 2007;
  auto& circle = image_.add_channel(*ann_, 8, 2008, "X:8", "X:8", "VAL");
  circle.item.next = CaServerImage::address(&circle.item);
  image_.add_channel(*ann_, 9, 2009, "X:9", "X:9", "VAL").item.next = 0x18;
  const auto tables = read();
  ASSERT_TRUE(tables) << tables.error().message();
  const auto channels = by_sid(*tables);
  EXPECT_EQ(channels.size(), 25u) << "the channel before a break is good";
  EXPECT_TRUE(channels.contains(2008) && channels.contains(2009));
  EXPECT_EQ(tables->left_out, 6u);
}

TEST_P(ReadCaServer, NothingThatFitsIsAnError) {
  fill();
  for (auto& head : image_.heads())
    if (head != 0) reinterpret_cast<base::BucketItem*>(head)->type = 1;
  EXPECT_EQ(failure(),
            "read the CA server's tables of ioc X (pid 8): hash of channels: "
            "an item is of another type");
  image_.bucket().mask = 100;
  EXPECT_THAT(failure(), HasSubstr("hash of channels: 23 items, 12 bits, mask 0x64, table 0x"));
  image_.bucket().mask = 4095;
  image_.bucket().in_use = 2'000'000'000;
  EXPECT_THAT(failure(), HasSubstr("2000000000 items"));
  image_.bucket().in_use = 0;
  image_.client_queue().count = 4;
  EXPECT_THAT(failure(), HasSubstr("list of clients: 3 nodes walked, 4 announced"));
}

TEST_P(ReadCaServer, ChannelsThatNoLayoutExplainsAreAnError) {
  CaServerImage& image = image_;
  auto& client = image.add_client({10, 0, 0, 7}, 1, "u", "h");
  peers_ = {peer({10, 0, 0, 7}, 1)};
  auto& channel = image.add_channel(client, 1, 1, "X", "X", "VAL");
  image.address_of(channel).description = CaServerImage::address(&channel);
  EXPECT_THAT(failure(), HasSubstr("channels: they are laid out in no way that is known"));
}

// At every moment of a reading a channel is closed and its memory given to another one: neither
// the one nor the other gets a name that is not its own.
TEST_P(ReadCaServer, ChannelsThatComeAndGoMeanwhileGetNoWrongName) {
  fill();
  ASSERT_TRUE(read());
  const int reads = memory_.reads();
  int told_old = 0;
  int told_new = 0;
  for (int when = 1; when <= reads; ++when) {
    auto& channel = image_.add_channel(*ann_, 1, 1, "OLD", "OLD", "VAL");
    const int start = memory_.reads();
    memory_.happens = [&](int now) {
      if (now - start != when) return;
      image_.remove_channel(channel);
      auto& next = image_.add_channel(*bob_, 2, 2, "NEW", "NEW", "VAL");
      // The old one's memory now says what the new one is, all but its SID.
      const auto sid = channel.by_db_addr.common.sid;
      std::memcpy(&channel.by_db_addr, &next.by_db_addr, sizeof next.by_db_addr);
      channel.by_db_addr.common.sid = sid;
      channel_after_ = &next;
    };
    channel_after_ = nullptr;
    const auto tables = read();
    memory_.happens = nullptr;
    ASSERT_TRUE(tables) << tables.error().message();
    const auto channels = by_sid(*tables);
    if (const auto old = channels.find(1); old != channels.end()) {
      EXPECT_EQ(old->second.name, "OLD");
      EXPECT_EQ(old->second.cid, 1u);
      ++told_old;
    }
    if (const auto fresh = channels.find(2); fresh != channels.end()) {
      EXPECT_EQ(fresh->second.name, "NEW");
      ++told_new;
    }
    EXPECT_EQ(tables->left_out, 0u) << "another attempt finds all as it is";
    for (std::uint32_t i = 0; i < 23; ++i) EXPECT_TRUE(channels.contains(4090 + i));
    image_.remove_channel(channel_after_ != nullptr ? *channel_after_ : channel);
  }
  EXPECT_GT(told_old + told_new, 0);
}

// One half of a channel is read before it was made, the other after: for as many reads as may be.
TEST_P(ReadCaServer, AChannelOfWhichHalfIsOldIsNotTold) {
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
      const int start = memory_.reads();
      memory_.happens = [&](int now) {
        if (now - start == until) memory_.clear_stale();
      };
      const auto tables = read();
      memory_.happens = nullptr;
      memory_.clear_stale();
      ASSERT_TRUE(tables) << tables.error().message();
      for (const CaServerChannel& one : client(*tables, "bob")->channels)
        EXPECT_NE(one.sid, 1u) << until;
      const auto channels = by_sid(*tables);
      if (!channels.contains(1)) continue;
      EXPECT_EQ(channels.at(1).name, "NEW") << until;
      ++told;
    }
  }
  EXPECT_GT(told, 0);
}

// A circuit is replaced by another one, with the same struct client, while it is read.
TEST_P(ReadCaServer, AClientThatIsReplacedMeanwhileIsNotMixedUp) {
  fill();
  ASSERT_TRUE(read());
  const int reads = memory_.reads();
  const base::RsrvClient saved = *ann_;
  for (int when = 1; when <= reads; ++when) {
    const int start = memory_.reads();
    memory_.happens = [&](int now) {
      if (now - start != when) return;
      ann_->port[0] = 1;
      ann_->user = bob_->user;
    };
    const auto tables = read();
    memory_.happens = nullptr;
    ASSERT_TRUE(tables) << tables.error().message();
    for (const CaServerClient& one : tables->clients)
      EXPECT_TRUE(one.peer != peer({10, 0, 0, 7}, 40001) || one.user == "ann") << when;
    *ann_ = saved;
  }
}

TEST_P(ReadCaServer, AnythingInTheTablesNeverHangsOrCrashes) {
  fill();
  auto& channel = image_.add_channel(*ann_, 1, 1, "X:1", "X:1", "VAL");
  std::uint32_t random = 99;
  const auto next = [&] { return random = random * 1664525u + 1013904223u; };
  int different = 0;
  for (int round = 0; round < 500; ++round) {
    const auto spoil = [&](void* object, std::size_t size) {
      static_cast<unsigned char*>(object)[next() % size] = static_cast<unsigned char>(next() >> 16);
    };
    const auto saved_channel = channel.by_db_addr;
    const auto saved_item = channel.item;
    const auto saved_bucket = image_.bucket();
    const auto saved_client = *ann_;
    spoil(&channel.by_db_addr, sizeof channel.by_db_addr);
    spoil(&channel.item, sizeof channel.item);
    if (round % 4 == 0) spoil(&image_.bucket(), sizeof(base::Bucket));
    if (round % 4 == 1) spoil(ann_, sizeof *ann_);
    const auto tables = read();
    if (!tables || tables->channels != 24) ++different;
    channel.by_db_addr = saved_channel;
    channel.item = saved_item;
    image_.bucket() = saved_bucket;
    *ann_ = saved_client;
  }
  EXPECT_GT(different, 150);
  EXPECT_EQ(read()->channels, 24u);
}

TEST_P(ReadCaServer, ManyChannelsInFewReads) {
  fill();
  for (std::uint32_t i = 0; i < 100'000; ++i)
    image_.add_channel(*ann_, i, 10'000 + i, "BIG:" + std::to_string(i), "BIG:" + std::to_string(i),
                       "VAL");
  const auto tables = read();
  ASSERT_TRUE(tables) << tables.error().message();
  EXPECT_EQ(tables->channels, 100'023u);
  EXPECT_EQ(tables->left_out, 0u);
  EXPECT_LT(memory_.reads(), 40'000);
}

}  // namespace
}  // namespace ioc_exporter::ioc

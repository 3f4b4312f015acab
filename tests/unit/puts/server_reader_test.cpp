#include "server_reader_fixture.h"

#include <gmock/gmock.h>

#include "shared/ca_parser.h"
#include "support/value_of.h"

namespace ioc_exporter::puts {
namespace {

using ::testing::HasSubstr;

INSTANTIATE_TEST_SUITE_P(Layouts, ReadCaServer, both_layouts(), layout_name);

TEST_P(ReadCaServer, ClientsAndChannels) {
  fill();
  const auto tables = value_of(read());
  EXPECT_EQ(tables.channels, 23u);
  EXPECT_EQ(tables.left_out, 0u);
  ASSERT_EQ(tables.clients.size(), 3u);
  const CaServerClient* ann = client(tables, "ann");
  ASSERT_NE(ann, nullptr);
  EXPECT_EQ(ann->peer, peer({10, 0, 0, 7}, 40001));
  EXPECT_EQ(ann->host, "console1");
  EXPECT_EQ(ann->channels.size(), 12u);
  const CaServerClient* silent = client(tables, "");
  ASSERT_NE(silent, nullptr);
  EXPECT_EQ(silent->host, "");
  EXPECT_TRUE(silent->channels.empty());
  const auto channels = by_sid(tables);
  ASSERT_EQ(channels.size(), 23u);
  for (std::uint32_t i = 0; i < 23; ++i) {
    EXPECT_EQ(channels.at(4090 + i).name, "R:" + std::to_string(i));
    EXPECT_EQ(channels.at(4090 + i).access, ServerSample::read_write);
  }
}

TEST_P(ReadCaServer, NamesAsAskedOrAsFarAsTheyAreKept) {
  fill();
  image_.field("DESC", layout::kDbfString);
  image_.field("FLNK", layout::kDbfFwdLink3_14);
  image_.add_channel(*ann_, 1, 1, "alias.VAL", "R:1", "VAL");
  image_.add_channel(*ann_, 2, 2, "R:1.DESC", "R:1", "DESC");
  auto& text = image_.add_channel(*ann_, 3, 3, "R:1.DESC$", "R:1", "DESC");
  image_.address_of(text).field_type = layout::kDbfChar;
  auto& link = image_.add_channel(*ann_, 4, 4, "R:1.FLNK$", "R:1", "FLNK");
  image_.address_of(link).dbr_field_type = layout::kOldDbrChar;
  image_.add_channel(*ann_, 5, 5, "R:1.FLNK", "R:1", "FLNK");
  image_.add_channel(*ann_, 6, 6, "R:1.VAL{\"ts\":{}}", "R:1", "VAL");
  image_.add_channel(*ann_, 7, 7, "R:1.VAL{/*\x01*/\n}", "R:1", "VAL");
  const auto tables = value_of(read());
  const auto channels = by_sid(tables);
  EXPECT_EQ(channels.at(1).name, keeps_asked_name() ? "alias.VAL" : "R:1");
  EXPECT_EQ(channels.at(2).name, "R:1.DESC");
  EXPECT_EQ(channels.at(3).name, "R:1.DESC$");
  EXPECT_EQ(channels.at(4).name, "R:1.FLNK$");
  EXPECT_EQ(channels.at(5).name, "R:1.FLNK");
  EXPECT_EQ(channels.at(6).name, keeps_asked_name() ? "R:1.VAL{\"ts\":{}}" : "R:1");
  EXPECT_EQ(channels.at(7).name, keeps_asked_name() ? "R:1.VAL{/*\x01*/\n}" : "R:1");
}

TEST_P(ReadCaServer, LongTextsAreCutAsTheTapCutsThem) {
  fill();
  const std::string name(300, 'N');
  const std::string user(100, 'U');
  auto& talker = image_.add_client({10, 0, 0, 8}, 1, user.c_str(), "h");
  peers_.insert(peer({10, 0, 0, 8}, 1));
  image_.add_channel(talker, 1, 1, name, std::string(60, 'N'), "VAL");
  const auto tables = value_of(read());
  EXPECT_EQ(by_sid(tables).at(1).name.size(), keeps_asked_name() ? IOCX_CA_NAME - 1 : 60);
  EXPECT_NE(client(tables, user.substr(0, IOCX_CA_IDENTITY - 1)), nullptr);
}

TEST_P(ReadCaServer, AccessRightsAndMonitors) {
  fill();
  const auto add = [this](std::uint32_t id) -> CaServerImage::Channel& {
    return image_.add_channel(*bob_, id, id, "A:" + std::to_string(id), "A:" + std::to_string(id),
                              "VAL");
  };
  image_.secure(add(1), layout::kAsNoAccess);
  image_.secure(add(2), layout::kAsRead);
  image_.secure(add(3), layout::kAsWrite);
  auto& fixed = add(4);
  image_.secure(fixed, layout::kAsWrite);
  image_.address_of(fixed).special = layout::kSpcNoMod;
  image_.address_of(add(5)).special = layout::kSpcNoMod;
  auto& stranger = add(6);
  image_.secure(stranger, layout::kAsWrite);
  stranger.access.user_private = 8;
  image_.secure(add(7), 77);
  add(8).by_db_addr.common.eventq.count = 31;
  const auto tables = value_of(read());
  const auto channels = by_sid(tables);
  EXPECT_EQ(channels.at(1).access, ServerSample::none);
  EXPECT_EQ(channels.at(2).access, ServerSample::read);
  EXPECT_EQ(channels.at(3).access, ServerSample::read_write);
  EXPECT_EQ(channels.at(4).access, ServerSample::read);
  EXPECT_EQ(channels.at(5).access, ServerSample::read) << "without access security";
  EXPECT_EQ(channels.at(6).access, ServerSample::unknown) << "another channel's";
  EXPECT_EQ(channels.at(7).access, ServerSample::unknown);
  EXPECT_EQ(channels.at(8).monitors, 31u);
  EXPECT_EQ(channels.at(7).monitors, 0u);
}

TEST_P(ReadCaServer, FlowControlWhereItsPlaceIsKnown) {
  fill();
  for (const layout::EventUserPlaces& places : layout::kEventUserPlaces) {
    layout::EventFlags& flags = image_.add_events(*ann_, places);
    EXPECT_EQ(client(*read(), "ann")->flow_controlled, false) << places.client;
    flags.flow_control = 1;
    EXPECT_EQ(client(*read(), "ann")->flow_controlled, true) << places.client;
    flags.extra_labor = 2;
    EXPECT_FALSE(client(*read(), "ann")->flow_controlled) << "no flag";
  }
  image_.add_events(*bob_, {0x900, 0x920}).flow_control = 1;
  EXPECT_FALSE(client(*read(), "bob")->flow_controlled) << "no Base has it there";
}

TEST_P(ReadCaServer, NoServerNoClientsNoChannels) {
  EXPECT_TRUE(value_of(read()).clients.empty());
  image_.add_client({10, 0, 0, 7}, 1, "u", "h");
  peers_ = {peer({10, 0, 0, 7}, 1)};
  EXPECT_EQ(value_of(read()).clients.size(), 1u);
  fill();
  image_.bucket_pointer() = 0;
  EXPECT_TRUE(value_of(read()).clients.empty()) << "the server is not set up";
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
  const iocs::CaServerSymbols symbols[]{unused.symbols(), image_.symbols()};
  EXPECT_EQ(value_of(read_ca_server(memory_, symbols, peers_, "x")).channels, 23u);
}

TEST_P(ReadCaServer, OnlyPeersOfItsSocketsAreClients) {
  fill();
  peers_.erase(peer({127, 0, 0, 1}, 513));
  const auto tables = value_of(read());
  EXPECT_EQ(client(tables, "bob"), nullptr);
  EXPECT_EQ(tables.channels, 12u);
  EXPECT_EQ(tables.left_out, 0u) << "it came later: the tap saw it begin";
  bob_->family = 10;
  peers_.insert(peer({127, 0, 0, 1}, 513));
  EXPECT_EQ(client(value_of(read()), "bob"), nullptr) << "no IPv4 address";
  peers_.clear();
  EXPECT_THAT(failure(), HasSubstr("list of clients: none of them is the peer of a socket"));
}

TEST_P(ReadCaServer, InvalidChannelsAreLeftOutAndCounted) {
  fill();
  auto& homeless = image_.add_channel(*ann_, 1, 2001, "X:1", "X:1", "VAL");
  homeless.by_db_addr.common.client = 8;
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
  const auto tables = value_of(read());
  const auto channels = by_sid(tables);
  EXPECT_EQ(channels.size(), 25u) << "the channel before a break is good";
  EXPECT_TRUE(channels.contains(2008) && channels.contains(2009));
  EXPECT_EQ(tables.left_out, 5u);
}

TEST_P(ReadCaServer, NothingThatFitsIsAnError) {
  fill();
  for (auto& head : image_.heads())
    if (head != 0) reinterpret_cast<layout::BucketItem*>(head)->type = 1;
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
  auto& client = image_.add_client({10, 0, 0, 7}, 1, "u", "h");
  peers_ = {peer({10, 0, 0, 7}, 1)};
  auto& channel = image_.add_channel(client, 1, 1, "X", "X", "VAL");
  image_.address_of(channel).description = CaServerImage::address(&channel);
  EXPECT_THAT(failure(), HasSubstr("channels: they are laid out in no way that is known"));
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
    if (round % 4 == 0) spoil(&image_.bucket(), sizeof(layout::Bucket));
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
  for (std::uint32_t i = 0; i < 20'000; ++i)
    image_.add_channel(*ann_, i, 10'000 + i, "BIG:" + std::to_string(i), "BIG:" + std::to_string(i),
                       "VAL");
  const auto tables = value_of(read());
  EXPECT_EQ(tables.channels, 20'023u);
  EXPECT_EQ(tables.left_out, 0u);
  EXPECT_LT(memory_.reads(), 8'000);
}

}  // namespace
}  // namespace ioc_exporter::puts

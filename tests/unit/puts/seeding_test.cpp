#include "puts/tap/seeding.h"

#include <gmock/gmock.h>

#include "support/temporary_folder.h"

namespace ioc_exporter::ca {
namespace {

iocx_ca_flow_key flow(std::uint8_t client, std::uint16_t client_port, std::uint8_t server) {
  iocx_ca_flow_key key{};
  key.client = iocx_ca_address{{10, 0, 0, client}};
  key.server = iocx_ca_address{{10, 0, 0, server}};
  key.client_port = client_port;
  key.server_port = 5064;
  return key;
}

ca::CaPeer far_end(std::uint8_t client, std::uint16_t port) {
  ca::CaPeer at;
  at.address = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 0, 0, client};
  at.port = port;
  return at;
}

TEST(CaSeeding, FarEndsWithTheirConnections) {
  const CaConnections connections =
      connections_of({flow(7, 4001, 1), flow(7, 4002, 1), flow(8, 4001, 1)});
  EXPECT_EQ(connections.peers, (ca::CaPeers{far_end(7, 4001), far_end(7, 4002), far_end(8, 4001)}));
  const iocx_ca_flow_key& key = connections.keys.at(far_end(7, 4002));
  EXPECT_EQ(key.client_port, 4002);
  EXPECT_EQ(key.server_port, 5064);
  EXPECT_EQ(ca::ca_address_text(key.server), "10.0.0.1");
}

TEST(CaSeeding, AFarEndWithTwoConnectionsIsNotGuessed) {
  const CaConnections connections =
      connections_of({flow(7, 4001, 1), flow(7, 4001, 2), flow(8, 4001, 1)});
  EXPECT_EQ(connections.peers, (ca::CaPeers{far_end(8, 4001)}));
  EXPECT_EQ(connections.keys.size(), 1u);
}

TEST(CaSeeding, ClientsGoToTheTapUnderTheirConnection) {
  const CaConnections connections = connections_of({flow(7, 4001, 1), flow(8, 513, 2)});
  ca::CaServerTables tables;
  tables.clients.push_back({far_end(8, 513), "bob", "h2", {}});
  tables.clients.push_back(
      {far_end(7, 4001),
       "ann",
       "h1",
       {{1, 11, "A", 2, CaServerSample::read}, {3, 13, "B", 0, CaServerSample::read_write}}});
  tables.clients.push_back({far_end(9, 1), "gone", "h3", {}});
  const ca::CaSeed seed = seed_of(23, tables, connections);
  EXPECT_EQ(seed.ioc, 23u);
  ASSERT_EQ(seed.circuits.size(), 2u);
  EXPECT_EQ(seed.circuits[0].user, "bob");
  EXPECT_EQ(seed.circuits[0].key.client_port, 513);
  const ca::CaSeedCircuit& ann = seed.circuits[1];
  EXPECT_EQ(ann.user, "ann");
  EXPECT_EQ(ann.host, "h1");
  EXPECT_EQ(ca::ca_address_text(ann.key.client), "10.0.0.7");
  ASSERT_EQ(ann.channels.size(), 2u);
  EXPECT_EQ(ann.channels[0].cid, 1u);
  EXPECT_EQ(ann.channels[0].sid, 11u);
  EXPECT_EQ(ann.channels[0].name, "A");
  EXPECT_EQ(ann.channels[0].monitors, 2u);
  EXPECT_EQ(ann.channels[0].access, std::uint32_t{CaServerSample::read});
  EXPECT_EQ(ann.channels[1].access, std::uint32_t{CaServerSample::read_write});
}

// When an IOC is looked at: on a /proc in which nobody's memory can be read.
class CaSeedingPlan : public ::testing::Test {
 protected:
  static constexpr const char* kConnection =
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout\n"
      "   0: 0100007F:13C8 0100007F:9C41 01 00000000:00000000 00:00000000 00000000 0 0 7 1 0\n";

  CaSeedingPlan() {
    ioc_.id = {8, 100};
    ioc_.name = "ps";
    ioc_.listening = {{{}, 5064}};
    ioc_.ca_server = {{0x1000, 0x2000}};
    connections(kConnection);
  }
  void connections(const std::string& lines) { folder_.write("/proc/8/net/tcp", lines); }
  // Looks at each of `seconds` seconds; gives the seconds at which the tap was told something.
  std::vector<int> run(int seconds) {
    std::vector<int> told;
    for (int i = 0; i < seconds; ++i, ++second_)
      seeding_.advance(
          {{23, &ioc_, {}, net_}}, unnamed_,
          [&](const ca::CaSeed& seed) {
            EXPECT_EQ(seed.ioc, 23u);
            EXPECT_TRUE(seed.circuits.empty());
            told.push_back(second_);
            return result_;
          },
          mutex_, start_ + std::chrono::seconds(second_));
    return told;
  }
  std::string problem() const {
    const auto found = seeding_.problems().find("ps");
    return found == seeding_.problems().end() ? "" : found->second;
  }

  const TemporaryFolder folder_;
  const std::string root_ = folder_.path();
  iocs::Ioc ioc_;
  std::optional<std::uint32_t> net_ = 0;
  CaSeeding seeding_{RootedFs(root_), std::make_shared<iocs::ProcessReader>(RootedFs(root_))};
  Result<ca::CaSeedResult> result_ = ca::CaSeedResult{};
  std::mutex mutex_;
  CaSeeding::Clock::time_point start_ = CaSeeding::Clock::now();
  int second_ = 0;
  CaSeeding::Unnamed unnamed_;
};

TEST_F(CaSeedingPlan, TwiceAndAgainWhenItListensElsewhere) {
  connections("");
  EXPECT_EQ(run(300), (std::vector<int>{0, 2}));
  EXPECT_EQ(problem(), "");
  ioc_.listening.push_back({{}, 5075});
  EXPECT_EQ(run(300), (std::vector<int>{300, 302}));
  ioc_.listening.clear();
  EXPECT_EQ(run(3), (std::vector<int>{}));
  ioc_.listening = {{{}, 5064}};
  net_.reset();
  EXPECT_EQ(run(3), (std::vector<int>{})) << "the tap does not see its puts";
}

TEST_F(CaSeedingPlan, FailuresAreRetriedForAWhile) {
  EXPECT_EQ(run(1), (std::vector<int>{}));
  EXPECT_EQ(problem(), "open " + root_ +
                           "/proc/8/pagemap: No such file or directory"
                           ": puts on channels that were open before have no name");
  connections("");
  EXPECT_EQ(run(300), (std::vector<int>{2, 4}));
  EXPECT_EQ(problem(), "") << "nothing is left to tell";
}

TEST_F(CaSeedingPlan, PausesGrowAndTriesEnd) {
  result_ = error_in_words("the tap says no");
  connections("");
  EXPECT_EQ(run(2000), (std::vector<int>{0, 2, 6, 14, 30, 62, 122, 182, 242, 302}));
  EXPECT_THAT(problem(), ::testing::StartsWith("the tap says no: puts on channels"));
}

TEST_F(CaSeedingPlan, LooksForChannelsWithoutNames) {
  connections("");
  EXPECT_EQ(run(100), (std::vector<int>{0, 2}));
  unnamed_[24] = 1;
  EXPECT_EQ(run(100), (std::vector<int>{})) << "another IOC's";
  unnamed_[23] = 1;
  EXPECT_EQ(run(300), (std::vector<int>{200, 204, 212, 228, 260, 320, 380, 440}));
  unnamed_.erase(23);
  EXPECT_EQ(run(100), (std::vector<int>{}));
  unnamed_[23] = 1;
  EXPECT_EQ(run(1), (std::vector<int>{600})) << "the pauses start anew";
}

TEST_F(CaSeedingPlan, WithoutSymbolsOnce) {
  unnamed_[23] = 1;
  ioc_.ca_server.clear();
  folder_.write("/proc/8/pagemap", std::string(8, '\0'));
  folder_.write("/proc/8/stat",
                "8 (x) S 1 0 0 0 0 0 0 0 0 0 0 0 0 0 20 0 9 0 100 1000 0 0 94 95 140 0\n");
  EXPECT_EQ(run(2000), (std::vector<int>{}));
  EXPECT_EQ(problem(),
            "read the CA server's tables of ioc ps (pid 8): no symbols pCaBucket and clientQ were "
            "found: puts on channels that were open before have no name");
}

TEST_F(CaSeedingPlan, NoRoomIsSaid) {
  connections("");
  ca::CaSeedResult full;
  full.channels_no_room = 7;
  result_ = full;
  run(1);
  EXPECT_EQ(problem(),
            "the tap has no room for 7 circuits and channels of ioc ps: puts on channels that were "
            "open before have no name");
}

TEST_F(CaSeedingPlan, ProblemsGoWithTheirIoc) {
  run(1);
  EXPECT_NE(problem(), "");
  seeding_.advance(
      {}, {}, [](const auto&) { return ca::CaSeedResult{}; }, mutex_, start_);
  EXPECT_EQ(problem(), "");
}

}  // namespace
}  // namespace ioc_exporter::ca

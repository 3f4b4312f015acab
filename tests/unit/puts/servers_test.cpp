// Servers that packets show, here and on other hosts.
#include <gtest/gtest.h>

#include "puts/tap/remote_servers.h"
#include "puts/tap/server_detector.h"

namespace ioc_exporter::puts {
namespace {

using std::chrono::seconds;

constexpr std::uint64_t kOwn = 4026531840, kOther = 4026532000;
const iocs::Listener kLoopback{kOwn, 50, {ipv4_address(127, 0, 0, 1), 5064}};
const iocs::Listener kAny{kOther, 60, {{}, 5064}};

class OtherCaDetectorTest : public ::testing::Test {
 protected:
  std::vector<iocs::Listener> look(const std::vector<TapServer>& learned) {
    return detector_.update(unclaimed_, learned, kOwn);
  }

  OtherCaDetector detector_;
  std::set<iocs::Listener> unclaimed_{kLoopback, kAny};
};

TEST_F(OtherCaDetectorTest, ASilentPortIsNoServer) {
  unclaimed_.insert({kOther, 70, {{}, 80}});
  EXPECT_TRUE(look({}).empty());
  EXPECT_EQ(detector_.taken(), (std::set<std::uint16_t>{5064})) << "of the other one nothing comes";
}

TEST_F(OtherCaDetectorTest, AnAnswerOnThePortIsAServer) {
  EXPECT_EQ(look({{{}, 5064, kIocToCome, false}}), std::vector{kLoopback});
  EXPECT_TRUE(look({{{}, 5065, kIocToCome, false}}).empty()) << "another port";
  EXPECT_TRUE(look({{{}, 5064, kRemoteServer, true}}).empty()) << "on another host";
}

iocx_ca_address v4(std::uint8_t last) {
  return iocx_ca_address{{10, 0, 0, last}};
}
TapServer elsewhere(std::uint8_t last) {
  return {v4(last), 5064, kRemoteServer, true};
}

TEST(AddressName, NamesAddressesAndTheWildcard) {
  EXPECT_EQ(address_name(v4(5), 5064), "10.0.0.5:5064");
  EXPECT_EQ(address_name({}, 5064), ":5064");
}

class ServersElsewhere : public ::testing::Test {
 protected:
  ServersElsewhere() {
    options_.remote = true;
    options_.ports = {5064, 6064};
    options_.keep = seconds(300);
  }
  std::map<std::string, std::uint32_t> numbers() {
    iocs_.publish();
    std::map<std::string, std::uint32_t> by_name;
    for (const auto& [number, name] : iocs_.view()->names()) by_name.emplace(name, number);
    return by_name;
  }

  RemoteServers::Options options_;
  iocs::Host iocs_{RootedFs("/nowhere"), iocs::Host::Options{}};
  RemoteServers::Clock::time_point now_{};
};

TEST_F(ServersElsewhere, GetANumberOfTheirOwn) {
  RemoteServers servers(options_);
  EXPECT_TRUE(servers.empty());
  servers.add({elsewhere(5), elsewhere(6), elsewhere(5)}, iocs_, now_);
  const auto known = numbers();
  ASSERT_EQ(known.size(), 2u);
  ASSERT_TRUE(known.contains("10.0.0.5:5064") && known.contains("10.0.0.6:5064"));
  servers.add({elsewhere(5), {{}, 5064, kRemoteServer, true}}, iocs_, now_);
  EXPECT_EQ(numbers(), known) << "a wildcard is no server";

  const auto watched = servers.servers();
  ASSERT_EQ(watched.size(), 2u + 2u);
  EXPECT_EQ(watched[0].ioc, known.at("10.0.0.5:5064"));
  EXPECT_TRUE(watched[0].remote);
  EXPECT_EQ(watched.back().ioc, kRemoteServer) << "a place for others";
  EXPECT_TRUE(watched.back().remote);
}

TEST_F(ServersElsewhere, NotAsked) {
  options_.remote = false;
  EXPECT_TRUE(RemoteServers(options_).servers().empty());
}

TEST_F(ServersElsewhere, TheFilterIsForTheirNamesToo) {
  options_.filter = {*Pattern::compile("10[.].*"), *Pattern::compile(".*6:5064")};
  RemoteServers servers(options_);
  servers.add({elsewhere(5), elsewhere(6)}, iocs_, now_);
  EXPECT_EQ(numbers().size(), 1u);
}

TEST_F(ServersElsewhere, OnlySoMany) {
  RemoteServers servers(options_);
  std::vector<TapServer> many;
  for (std::uint16_t port = 1; port <= RemoteServers::kMostServers + 7; ++port)
    many.push_back({v4(5), port, kRemoteServer, true});
  servers.add(many, iocs_, now_);
  EXPECT_EQ(numbers().size(), RemoteServers::kMostServers);
}

TEST_F(ServersElsewhere, GoAfterTheirLastCircuit) {
  RemoteServers servers(options_);
  servers.add({elsewhere(5), elsewhere(6)}, iocs_, now_);
  const std::uint32_t fifth = numbers().at("10.0.0.5:5064"), sixth = numbers().at("10.0.0.6:5064");
  servers.release_unused({fifth}, iocs_, now_ + seconds(299));
  EXPECT_EQ(numbers().size(), 2u);
  servers.release_unused({fifth}, iocs_, now_ + seconds(300));
  EXPECT_EQ(numbers().size(), 1u);
  EXPECT_EQ(iocs_.take_forgotten(), std::vector{sixth});
  servers.release_unused({}, iocs_, now_ + seconds(600));
  EXPECT_TRUE(servers.empty());
  EXPECT_EQ(iocs_.take_forgotten(), std::vector{fifth});
}

TEST_F(ServersElsewhere, StayUntilTheirCircuitsHaveBeenLookedAt) {
  options_.keep = {};
  RemoteServers servers(options_);
  servers.add({elsewhere(5)}, iocs_, now_);
  servers.release_unused({}, iocs_, now_);
  ASSERT_EQ(numbers().size(), 1u);
  const std::uint32_t fifth = numbers().begin()->second;
  servers.release_unused({fifth}, iocs_, now_ + RemoteServers::kLeast);
  EXPECT_EQ(numbers().size(), 1u) << "in use";
  servers.release_unused({}, iocs_, now_ + 2 * RemoteServers::kLeast);
  EXPECT_TRUE(servers.empty());
}

TEST_F(ServersElsewhere, OneNameHereAndElsewhere) {
  RemoteServers servers(options_);
  TapServer here = elsewhere(5);
  here.remote = false;
  servers.add({elsewhere(5), here}, iocs_, now_);
  EXPECT_EQ(numbers().size(), 1u);
  EXPECT_EQ(servers.servers()[0].ioc, servers.servers()[1].ioc);
  servers.add({here}, iocs_, now_ + seconds(200));
  servers.release_unused({}, iocs_, now_ + seconds(300));
  EXPECT_EQ(numbers().size(), 1u) << "the other one has it still";
  servers.release_unused({}, iocs_, now_ + seconds(500));
  EXPECT_TRUE(numbers().empty());
}

}  // namespace
}  // namespace ioc_exporter::puts

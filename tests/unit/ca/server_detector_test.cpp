#include "ca/server_detector.h"

#include <gtest/gtest.h>

namespace ioc_exporter::ca {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::uint64_t kOwn = 4026531840, kOther = 4026532000, kUntapped = 4026532001;
const iocs::Listener kLoopback{kOwn, 50, {ipv4_address(127, 0, 0, 1), 5064}};
const iocs::Listener kAny{kOther, 60, {{}, 5064}};

class ListenerJudging : public testing::Test {
 protected:
  std::vector<iocs::Listener> look(const std::vector<ca::CaVerdict>& verdicts,
                                   const std::vector<ca::CaServer>& learned = {}) {
    return judge_.update(
        unclaimed_, verdicts, learned,
        [](std::uint64_t inode) -> std::optional<std::uint32_t> {
          if (inode == kUntapped) return {};
          return inode == kOwn ? 0 : 3;
        },
        now_);
  }
  static ca::CaVerdict verdict(const iocs::Listener& listener, std::uint32_t net, bool speaks) {
    return {ca_server(listener.socket, net, ca::kCaCandidate), speaks};
  }

  CaServerDetector judge_;
  std::set<iocs::Listener> unclaimed_{kLoopback, kAny};
  CaServerDetector::Clock::time_point now_{};
};

TEST_F(ListenerJudging, WhatNobodyKnowsIsACandidate) {
  unclaimed_.insert({kUntapped, 70, {{}, 80}});
  EXPECT_TRUE(look({}).empty());
  ASSERT_EQ(judge_.candidates().size(), 2u);
  for (const ca::CaServer& server : judge_.candidates()) {
    EXPECT_EQ(server.ioc, ca::kCaCandidate);
    EXPECT_EQ(server.port, 5064);
    EXPECT_FALSE(server.remote);
    EXPECT_EQ(ca::ca_address_text(server.address), server.net == 0 ? "127.0.0.1" : "::");
  }
  using Taken = std::set<std::pair<std::uint32_t, std::uint16_t>>;
  EXPECT_EQ(judge_.taken(), (Taken{{0, 5064}, {3, 5064}}));
}

TEST_F(ListenerJudging, YesTellsTheListener) {
  EXPECT_EQ(look({verdict(kAny, 3, true)}), std::vector{kAny});
  EXPECT_EQ(judge_.candidates().size(), 2u) << "watched until it has a name";
  EXPECT_TRUE(look({verdict(kAny, 2, true)}).empty()) << "of another network namespace";
}

TEST_F(ListenerJudging, NoHoldsForAWhile) {
  EXPECT_TRUE(look({verdict(kLoopback, 0, false)}).empty());
  EXPECT_EQ(judge_.candidates().size(), 1u);
  EXPECT_EQ(judge_.taken().size(), 2u) << "nor is an IOC expected there";
  now_ += CaServerDetector::kSecondLook - seconds(1);
  look({});
  EXPECT_EQ(judge_.candidates().size(), 1u);
  now_ += seconds(1);
  look({});
  EXPECT_EQ(judge_.candidates().size(), 2u);
}

TEST_F(ListenerJudging, YesAfterNo) {
  look({verdict(kLoopback, 0, false)});
  EXPECT_EQ(look({verdict(kLoopback, 0, true)}), std::vector{kLoopback});
  EXPECT_EQ(judge_.candidates().size(), 2u);
}

TEST_F(ListenerJudging, AnotherSocketOnThePortIsJudgedAnew) {
  look({verdict(kLoopback, 0, false)});
  unclaimed_ = {{kOwn, 51, kLoopback.socket}};
  look({});
  EXPECT_EQ(judge_.candidates().size(), 1u);
}

TEST_F(ListenerJudging, WhoAnswersSearchesIsAServerWhateverWasSaid) {
  look({verdict(kLoopback, 0, false)});
  EXPECT_EQ(look({}, {{{}, 5064, ca::kCaIocToCome, 0, false}}), std::vector{kLoopback});
  EXPECT_TRUE(look({}, {{{}, 5064, ca::kCaRemote, 0, true}}).empty()) << "it is elsewhere";
  EXPECT_TRUE(look({}, {{{}, 5065, ca::kCaIocToCome, 0, false}}).empty());
}

}  // namespace
}  // namespace ioc_exporter::ca

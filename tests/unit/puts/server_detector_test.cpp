#include "puts/tap/server_detector.h"

#include <gtest/gtest.h>

namespace ioc_exporter::ca {
namespace {

constexpr std::uint64_t kOwn = 4026531840, kOther = 4026532000, kUntapped = 4026532001;
const iocs::Listener kLoopback{kOwn, 50, {ipv4_address(127, 0, 0, 1), 5064}};
const iocs::Listener kAny{kOther, 60, {{}, 5064}};

class CaServerDetectorTest : public ::testing::Test {
 protected:
  std::vector<iocs::Listener> look(const std::vector<CaServer>& learned) {
    return detector_.update(unclaimed_, learned,
                            [](std::uint64_t inode) -> std::optional<std::uint32_t> {
                              if (inode == kUntapped) return {};
                              return inode == kOwn ? 0 : 3;
                            });
  }

  CaServerDetector detector_;
  std::set<iocs::Listener> unclaimed_{kLoopback, kAny};
};

TEST_F(CaServerDetectorTest, WhoIsSilentIsNoServer) {
  unclaimed_.insert({kUntapped, 70, {{}, 80}});
  EXPECT_TRUE(look({}).empty());
  using Taken = std::set<std::pair<std::uint32_t, std::uint16_t>>;
  EXPECT_EQ(detector_.taken(), (Taken{{0, 5064}, {3, 5064}}));
}

TEST_F(CaServerDetectorTest, WhoAnswersOnItsPortIsAServer) {
  EXPECT_EQ(look({{{}, 5064, kCaIocToCome, 0, false}}), std::vector{kLoopback});
  EXPECT_EQ(look({{{}, 5064, kCaIocToCome, 3, false}}), std::vector{kAny});
  EXPECT_TRUE(look({{{}, 5065, kCaIocToCome, 0, false}}).empty()) << "another port";
  EXPECT_TRUE(look({{{}, 5064, kCaRemote, 0, true}}).empty()) << "on another host";
  EXPECT_TRUE(look({{{}, 5064, kCaIocToCome, 2, false}}).empty()) << "another namespace";
}

}  // namespace
}  // namespace ioc_exporter::ca

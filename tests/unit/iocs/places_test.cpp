#include "iocs/find/places.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ioc_exporter::iocs {
namespace {

constexpr uid_t kMallory = 1001, kAlice = 1002, kBob = 1003;

class Places : public testing::Test {
 protected:
  void want(uid_t user, int count, bool has_one = false, bool goes_first = false) {
    for (int i = 0; i < count; ++i)
      wanted_.push_back({{++pid_, static_cast<std::uint64_t>(pid_)}, user, goes_first, has_one});
  }
  void share(std::size_t places, std::size_t most_others = SIZE_MAX) {
    given_ = share_places(wanted_, places, most_others);
  }
  std::ptrdiff_t given(uid_t user) const {
    std::ptrdiff_t count = 0;
    for (std::size_t i = 0; i < wanted_.size(); ++i)
      count += wanted_[i].user == user && given_[i] ? 1 : 0;
    return count;
  }

  std::vector<PlaceWanted> wanted_;
  std::vector<bool> given_;
  pid_t pid_ = 0;
};

TEST_F(Places, EverybodyGetsOneWhileThereAreEnough) {
  want(kMallory, 1000);
  want(kAlice, 24);
  share(1024);
  EXPECT_EQ(std::ranges::count(given_, true), 1024);
}

TEST_F(Places, OneOfAnotherUserTakesThatOfTheYoungest) {
  want(kMallory, 1024, true);
  want(kAlice, 1);
  share(1024);
  EXPECT_EQ(given(kAlice), 1);
  EXPECT_EQ(given(kMallory), 1023);
  EXPECT_FALSE(given_[1023]) << "the youngest";
}

TEST_F(Places, WhoIsBelowHisShareLosesNothing) {
  want(kMallory, 5000);
  want(kAlice, 300);
  want(kBob, 3);
  share(1024);
  EXPECT_EQ(given(kAlice), 300);
  EXPECT_EQ(given(kBob), 3);
  EXPECT_EQ(given(kMallory), 721);
}

TEST_F(Places, FairSharesOfThoseWhoWantMore) {
  want(kMallory, 5000);
  want(kAlice, 600);
  want(kBob, 24);
  share(1024);
  EXPECT_EQ(given(kMallory), 500);
  EXPECT_EQ(given(kAlice), 500);
  EXPECT_EQ(given(kBob), 24);
}

TEST_F(Places, AmongOnesOwnWhoHasOneKeepsIt) {
  want(kMallory, 3);
  want(kMallory, 2, true);
  share(2);
  EXPECT_EQ(given_, (std::vector<bool>{false, false, false, true, true}));
}

TEST_F(Places, UsersWhoGoFirstTakeTheirsFromOthersAndNotFromEachOther) {
  want(kMallory, 1024, true);
  want(kAlice, 900, true, true);
  want(0, 200, false, true);
  share(1024);
  EXPECT_EQ(given(kAlice), 900);
  EXPECT_EQ(given(0), 124);
  EXPECT_EQ(given(kMallory), 0);
}

TEST_F(Places, StrangersHaveLittleInAll) {
  want(kMallory, 100);
  want(kBob, 100);
  want(kAlice, 2, false, true);
  share(1024, 64);
  EXPECT_EQ(given(kMallory), 32);
  EXPECT_EQ(given(kBob), 32);
  EXPECT_EQ(given(kAlice), 2);
}

}  // namespace
}  // namespace ioc_exporter::iocs

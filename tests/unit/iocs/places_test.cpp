#include "iocs/find/finder.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ioc_exporter::iocs {
namespace {

constexpr uid_t kMallory = 1001, kAlice = 1002;

class Places : public testing::Test {
 protected:
  void want(uid_t user, int count, bool has_one = false) {
    for (int i = 0; i < count; ++i) wanted_.push_back({user, has_one});
  }
  void share(std::size_t places) { given_ = share_places(wanted_, places); }
  std::ptrdiff_t given(uid_t user) const {
    std::ptrdiff_t count = 0;
    for (std::size_t i = 0; i < wanted_.size(); ++i)
      count += wanted_[i].user == user && given_[i] ? 1 : 0;
    return count;
  }

  std::vector<PlaceWanted> wanted_;
  std::vector<bool> given_;
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

TEST_F(Places, AmongOnesOwnWhoHasOneKeepsIt) {
  want(kMallory, 3);
  want(kMallory, 2, true);
  share(2);
  EXPECT_EQ(given_, (std::vector<bool>{false, false, false, true, true}));
}

}  // namespace
}  // namespace ioc_exporter::iocs

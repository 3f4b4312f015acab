#include "iocs/find/name_registry.h"

#include <gtest/gtest.h>

namespace ioc_exporter::iocs {
namespace {

using std::chrono::minutes;

class Names : public testing::Test {
 protected:
  std::string take(const std::string& name, pid_t pid, const std::string& user = "alice") {
    taken_ = names_.take(name, claim(pid, user), now_);
    return taken_.name;
  }
  static NameClaim claim(pid_t pid, const std::string& user) {
    return {{pid, 1}, static_cast<uid_t>(user.front()), user};
  }
  void release(const std::string& name) { names_.release(name, now_); }

  NameRegistry names_{minutes(5)};
  NameRegistry::Clock::time_point now_{};
  NameRegistry::Name taken_;
};

TEST_F(Names, HolderKeepsItAndALaterOneGetsItsPid) {
  EXPECT_EQ(take("ps", 7), "ps");
  EXPECT_EQ(taken_.contested_with, "");
  EXPECT_EQ(take("ps", 8), "ps-8");
  EXPECT_EQ(taken_.contested_with, "alice") << "two of one user";
  EXPECT_EQ(take("ps", 9), "ps-9");
  release("ps");
  EXPECT_EQ(take("ps", 10), "ps");
  EXPECT_EQ(taken_.contested_with, "");
  release("ps-8");
  EXPECT_EQ(take("ps", 8), "ps-8");
}

TEST_F(Names, NamesThatLookLikeUniqueOnes) {
  EXPECT_EQ(take("ps-8", 7), "ps-8");
  EXPECT_EQ(take("ps", 3), "ps");
  EXPECT_EQ(take("ps", 8), "ps-8-8");
  EXPECT_EQ(take("ps-mallory", 4), "ps-mallory");
  EXPECT_EQ(take("ps", 9, "mallory"), "ps-mallory-9");
}

TEST_F(Names, AnotherUserIsToldApartByHisName) {
  EXPECT_EQ(take("ps", 7), "ps");
  EXPECT_EQ(take("ps", 8, "mallory"), "ps-mallory");
  EXPECT_EQ(taken_.contested_with, "alice");
  EXPECT_EQ(take("ps", 9, "mallory"), "ps-mallory-9");
}

TEST_F(Names, WhileAnIocRestartsItsNameIsItsUsers) {
  take("ps", 7);
  release("ps");
  now_ += minutes(4);
  EXPECT_EQ(take("ps", 8, "mallory"), "ps-mallory");
  EXPECT_EQ(taken_.contested_with, "alice");
  EXPECT_EQ(take("ps", 9), "ps");
  EXPECT_EQ(taken_.contested_with, "");
}

TEST_F(Names, LaterAnotherUserGetsItAndItIsSaid) {
  take("ps", 7);
  release("ps");
  now_ += minutes(6);
  EXPECT_EQ(take("ps", 8, "mallory"), "ps");
  EXPECT_EQ(taken_.contested_with, "alice");
  EXPECT_EQ(take("ps", 9), "ps-alice");
  EXPECT_EQ(taken_.contested_with, "mallory");
}

TEST_F(Names, ManyNamesOfOneUserDisplaceNobodyElses) {
  take("ps", 7);
  release("ps");
  for (int i = 0; i < 1000; ++i) release(take("fake" + std::to_string(i), 8, "mallory"));
  EXPECT_EQ(take("ps", 9, "mallory"), "ps-mallory");
}

// A dead IOC's name is not had by another user, to make it look alive; not after any time.
TEST_F(Names, AReservedNameIsItsUsersOnly) {
  names_.reserve({{"ps", claim(0, "alice")}});
  now_ += std::chrono::hours(24 * 30);
  EXPECT_EQ(take("ps", 8, "mallory"), "ps-mallory");
  EXPECT_EQ(taken_.contested_with, "alice");
  release("ps-mallory");
  now_ += std::chrono::hours(24);
  EXPECT_EQ(take("ps", 9, "mallory"), "ps-mallory");
  EXPECT_EQ(take("ps", 7), "ps");
  EXPECT_EQ(taken_.contested_with, "");
  release("ps");
  names_.reserve({});
  now_ += std::chrono::hours(1);
  EXPECT_EQ(take("ps", 10, "mallory"), "ps") << "it was forgotten";
}

}  // namespace
}  // namespace ioc_exporter::iocs

// Who may have how much of a table that all IOCs share.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "records/probe/share_holders.h"

namespace ioc_exporter::records {
namespace {

// A table of the kernel, as its programs count it.
class Table {
 public:
  explicit Table(std::uint32_t room) : room_(room) {}

  bool take(int ioc, int user) {
    if (!iocx_holder_may(room_, all_, iocs_[ioc], users_[user])) return false;
    ++all_, ++iocs_[ioc], ++users_[user];
    return true;
  }
  void give(int ioc, int user) { --all_, --iocs_[ioc], --users_[user]; }
  std::uint32_t take_all(int ioc, int user) {
    std::uint32_t taken = 0;
    while (take(ioc, user)) ++taken;
    return taken;
  }
  std::uint32_t left() const { return room_ - all_; }

 private:
  std::uint32_t room_, all_ = 0;
  std::map<int, std::uint32_t> iocs_, users_;
};

TEST(Shares, OneIocLeavesHalf) {
  for (const std::uint32_t room : {64u, 512u, 4096u, 262'144u}) {
    Table table(room);
    EXPECT_EQ(table.take_all(1, 1), room / 2);
    EXPECT_EQ(table.take_all(2, 2), room / 2 / 9 + 1);  // an eighth of what is left after that
  }
}

// However many IOCs a user has: others get what small ones need.
TEST(Shares, AUserLeavesAnEighth) {
  Table table(4096);
  for (int ioc = 0; ioc < 1000; ++ioc) table.take_all(ioc, 1);
  EXPECT_GE(table.left(), 4096u / 8);
  std::uint32_t taken = 0;
  for (int ioc = 2000; ioc < 2003; ++ioc) taken += table.take_all(ioc, 2);
  EXPECT_GE(taken, 60u);
}

TEST(Shares, ASmallTableHasRoomForOne) {
  Table table(1);
  EXPECT_TRUE(table.take(1, 1));
  EXPECT_FALSE(table.take(1, 1));
  EXPECT_FALSE(table.take(2, 2));
}

TEST(Shares, WhatIsGivenBackIsThereAsBefore) {
  Table table(64);
  for (int round = 0; round < 1000; ++round) {
    const std::uint32_t taken = table.take_all(1, 1);
    EXPECT_EQ(taken, 32u);
    for (std::uint32_t i = 0; i < taken; ++i) table.give(1, 1);
  }
}

bool all_empty(std::uint32_t) {
  return true;
}

TEST(ShareHolders, IocsOfOneUserAreOneGroup) {
  ShareHolders holders;
  const iocx_holder a = holders.take(1001, all_empty);
  const iocx_holder b = holders.take(1001, all_empty);
  const iocx_holder c = holders.take(1002, all_empty);
  EXPECT_EQ(a.user, b.user);
  const std::set<std::uint16_t> numbers = {a.user, c.user, a.ioc, b.ioc, c.ioc};
  EXPECT_EQ(numbers.size(), 5u);
  EXPECT_GE(*numbers.begin(), IOCX_SHARE_FREE);
}

// Who stops to be an IOC while his threads live on has not given back what they hold.
TEST(ShareHolders, WhatIsLeftBehindIsTheUsersAndNobodyElses) {
  ShareHolders holders;
  const iocx_holder gone = holders.take(1001, all_empty);
  const auto is_empty = [&](std::uint32_t number) {
    return number != gone.ioc && number != gone.user;
  };
  holders.release(1001, gone);
  for (std::uint32_t i = 0; i < 2 * IOCX_SHARE_BUCKETS; ++i) {
    const iocx_holder other = holders.take(5000 + i, is_empty);
    EXPECT_TRUE(is_empty(other.ioc) && is_empty(other.user));
    holders.release(5000 + i, other);
  }
  EXPECT_EQ(holders.take(1001, is_empty).user, gone.user);
}

TEST(ShareHolders, ThereIsANumberForEveryIoc) {
  ShareHolders holders;
  const auto none_empty = [](std::uint32_t) { return false; };
  std::set<std::uint16_t> numbers;
  for (std::uint32_t i = 0; i < 1024; ++i) {
    const iocx_holder holder = holders.take(i, none_empty);
    numbers.insert({holder.ioc, holder.user});
  }
  EXPECT_EQ(numbers.size(), 2048u);
  EXPECT_FALSE(numbers.contains(0));
}

}  // namespace
}  // namespace ioc_exporter::records

// Shares of a table that many users fill.
#include "shared/shares.h"

#include <gtest/gtest.h>

#include <map>

namespace ioc_exporter {
namespace {

constexpr int kNobody = IOCX_SHARE_ALL, kLocal = IOCX_SHARE_LOCAL;

// A table of the kernel, as its programs count it.
class Table {
 public:
  explicit Table(std::uint32_t room) : room_(room) {}

  bool take(int one, int group) {
    if (!iocx_share_may({room_, room_ / 2}, index(one), index(group), all_, ones_[one],
                        groups_[group]))
      return false;
    ++all_, ++ones_[one], ++groups_[group];
    return true;
  }
  void give(int one, int group) { --all_, --ones_[one], --groups_[group]; }
  std::uint32_t take_all(int one, int group) {
    std::uint32_t taken = 0;
    while (take(one, group)) ++taken;
    return taken;
  }
  std::uint32_t left() const { return room_ - all_; }

 private:
  static std::uint32_t index(int number) { return static_cast<std::uint32_t>(number); }

  std::uint32_t room_, all_ = 0;
  std::map<int, std::uint32_t> ones_, groups_;
};

TEST(Shares, AnIocMayTakeHalf) {
  for (const std::uint32_t room : {64u, 512u, 4096u, 262'144u}) {
    Table table(room);
    EXPECT_EQ(table.take_all(11, 11), room / 2);
    EXPECT_EQ(table.take_all(12, 12), room / 2 / 9 + 1);  // an eighth of what is left after that
  }
}

// However many IOCs a user has: others get what small ones need.
TEST(Shares, AUserLeavesAnEighth) {
  Table table(4096);
  for (int ioc = 0; ioc < 1000; ++ioc) table.take_all(100 + ioc, 11);
  EXPECT_GE(table.left(), 4096u / 8);
  std::uint32_t taken = 0;
  for (int ioc = 2000; ioc < 2003; ++ioc) taken += table.take_all(ioc, 12);
  EXPECT_GE(taken, 60u);
}

TEST(Shares, ASmallTableHasRoomForOne) {
  Table table(1);
  EXPECT_TRUE(table.take(11, 11));
  EXPECT_FALSE(table.take(11, 11));
  EXPECT_FALSE(table.take(12, 12));
}

TEST(Shares, ReturnedEntriesAreFreeAgain) {
  Table table(64);
  for (int round = 0; round < 1000; ++round) {
    const std::uint32_t taken = table.take_all(11, 11);
    EXPECT_EQ(taken, 32u);
    for (std::uint32_t i = 0; i < taken; ++i) table.give(11, 11);
  }
}

// Clients on this host are told apart by their circuits alone. Something is left for those
// elsewhere.
TEST(Shares, TheLocalGroupLeavesASixteenth) {
  Table table(4096);
  for (int circuit = 0; circuit < 1000; ++circuit) table.take_all(circuit, kLocal);
  EXPECT_EQ(table.left(), 4096u / 16);
  EXPECT_TRUE(table.take(2000, 12));
}

TEST(Shares, EntriesWithoutAHolderAreBoundedByTheirGroup) {
  Table table(4096);
  while (table.take(kNobody, 11)) continue;
  EXPECT_EQ(table.left(), 1024u);
  EXPECT_TRUE(table.take(kNobody, 12));
}

// However many take what they can: some places are left for what must have one.
TEST(Shares, ASixtyFourthIsLeftInAnyCase) {
  Table table(4096);
  for (int group = 10; group < 2000; ++group) table.take_all(group, group);
  EXPECT_EQ(table.left(), 4096u / 64);
}

}  // namespace
}  // namespace ioc_exporter

#include "records/probe/kernel_memory.h"

#include <gtest/gtest.h>

#include <numeric>

namespace ioc_exporter::records {
namespace {

using Shares = std::vector<std::uint64_t>;

MemoryClaim claim(std::uint32_t user, std::uint64_t held, std::uint64_t wanted) {
  return {.user = user, .held = held, .likely = 2 * held, .wanted = wanted};
}

std::uint64_t sum(const Shares& shares) {
  return std::accumulate(shares.begin(), shares.end(), std::uint64_t{0});
}

TEST(MemoryShares, AUserGetsHalfAtMost) {
  EXPECT_EQ(share_memory(1000, {claim(1, 0, 5000)}), Shares{500});
  EXPECT_EQ(share_memory(1000, {claim(1, 0, 5000), claim(1, 0, 5000)}), (Shares{250, 250}));
}

// Many fakes of one user take no more from another than one would.
TEST(MemoryShares, UsersShareEquallyHoweverManyIocsTheyHave) {
  std::vector<MemoryClaim> claims(100, claim(1, 0, 5000));
  claims.push_back(claim(2, 0, 400));
  const Shares shares = share_memory(1000, claims);
  EXPECT_EQ(shares.back(), 400u);
  EXPECT_LE(sum(shares), 900u);
}

TEST(MemoryShares, WhatIsHeldIsNotTakenBack) {
  const Shares shares = share_memory(1000, {claim(1, 800, 5000), claim(2, 0, 600)});
  EXPECT_EQ(shares, (Shares{800, 200}));
  EXPECT_EQ(share_memory(1000, {claim(1, 1200, 5000), claim(2, 0, 600)}), (Shares{1200, 0}));
}

// A large database of which little processes leaves the room to another that needs it.
TEST(MemoryShares, WhatIsUsedGoesBeforeWhatIsOnlyWanted) {
  const Shares shares = share_memory(1000, {claim(1, 10, 5000), claim(1, 240, 480)});
  EXPECT_EQ(shares, (Shares{20, 480}));
}

}  // namespace
}  // namespace ioc_exporter::records

#include "records/probe/memory_shares.h"

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

TEST(MemoryShares, WhatGoesRoundIsGiven) {
  EXPECT_EQ(share_memory(1000, {claim(1, 0, 300), claim(1, 10, 200), claim(2, 5, 400)}),
            (Shares{300, 200, 400}));
  EXPECT_TRUE(share_memory(1000, {}).empty());
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

TEST(MemoryShares, SomeComeFirst) {
  std::vector<MemoryClaim> claims = {claim(1, 100, 5000), claim(2, 0, 700)};
  claims[1].comes_first = true;
  EXPECT_EQ(share_memory(1000, claims), (Shares{300, 700}));
  claims[1].wanted = 5000;
  EXPECT_EQ(share_memory(1000, claims), (Shares{100, 900}));
}

TEST(MemoryShares, TogetherTheyAreWithinTheLimit) {
  for (const std::uint64_t limit : {0u, 1u, 7u, 999u, 4096u, 100'000u}) {
    std::vector<MemoryClaim> claims;
    for (std::uint32_t i = 0; i < 40; ++i) {
      claims.push_back(claim(i % 7, 0, 37 * i * i % 5000));
      claims.back().likely = i * 10;
      claims.back().comes_first = i % 5 == 0;
    }
    const Shares shares = share_memory(limit, claims);
    EXPECT_LE(sum(shares), limit);
    for (std::size_t i = 0; i < claims.size(); ++i) EXPECT_LE(shares[i], claims[i].wanted);
  }
}

}  // namespace
}  // namespace ioc_exporter::records

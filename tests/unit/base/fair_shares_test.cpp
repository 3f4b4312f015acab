#include "base/fair_shares.h"

#include <gtest/gtest.h>

namespace ioc_exporter {
namespace {

using Shares = std::vector<std::uint64_t>;

TEST(FairShares, AllGetTheirMostWhereThereIsEnough) {
  EXPECT_EQ(fair_shares(1000, {{0, 300}, {10, 200}, {5, 400}}), (Shares{300, 200, 400}));
  EXPECT_EQ(fair_shares(1000, {}), Shares{});
}

TEST(FairShares, WhoWantsLittleLosesNothingToThoseWhoWantMuch) {
  EXPECT_EQ(fair_shares(1024, {{0, 5000}, {0, 600}, {0, 24}}), (Shares{500, 500, 24}));
  EXPECT_EQ(fair_shares(1024, {{0, 5000}, {0, 300}, {0, 3}}), (Shares{721, 300, 3}));
}

TEST(FairShares, NobodyLosesWhatHeHas) {
  EXPECT_EQ(fair_shares(1000, {{800, 5000}, {0, 600}}), (Shares{800, 200}));
  EXPECT_EQ(fair_shares(1000, {{1200, 5000}, {0, 600}}), (Shares{1200, 0}));
}

TEST(FairShares, TogetherTheyAreWithinTheTotal) {
  for (const std::uint64_t total : {0u, 1u, 7u, 999u, 4096u, 100'000u}) {
    std::vector<Claim> claims;
    for (std::uint64_t i = 0; i < 40; ++i) claims.push_back({0, 37 * i * i % 5000});
    std::uint64_t sum = 0;
    const Shares shares = fair_shares(total, claims);
    for (std::size_t i = 0; i < claims.size(); ++i) {
      EXPECT_LE(shares[i], claims[i].most);
      sum += shares[i];
    }
    EXPECT_LE(sum, total);
  }
}

}  // namespace
}  // namespace ioc_exporter

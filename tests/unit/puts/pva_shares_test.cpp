// Who gets one more entry in the table of PV Access puts.
#include <gtest/gtest.h>

#include "shared/pva_witness.h"

namespace {

// How many entries the caller gets who takes all that he can.
std::uint32_t greedy(std::uint32_t all, std::uint32_t user, std::uint32_t ioc) {
  std::uint32_t own = 0;
  while (iocx_pva_may(all + own, user + own, ioc + own, own)) ++own;
  return own;
}

TEST(PvaShares, AGreedyClientLeavesRoomForTheOthersOfItsIoc) {
  const std::uint32_t first = greedy(0, 0, 0);
  EXPECT_GT(first, 1000u);
  EXPECT_LT(first, IOCX_PVA_PUTS / 4u - 1000u);
  const std::uint32_t second = greedy(first, first, first);
  EXPECT_GT(second, 100u);
  EXPECT_GT(greedy(first + second, first + second, first + second), 50u);
}

TEST(PvaShares, ManyClientsOfAnIocLeaveThreeQuartersToOtherIocs) {
  std::uint32_t ioc = 0;
  while (iocx_pva_may(ioc, ioc, ioc, 0)) ++ioc;
  EXPECT_LE(ioc, IOCX_PVA_PUTS / 4u);
  EXPECT_GT(greedy(ioc, 0, 0), 1000u);
}

TEST(PvaShares, AUserWithManyIocsLeavesRoomForAnother) {
  std::uint32_t all = 0;
  for (int ioc = 0; ioc < 1000; ++ioc) {
    std::uint32_t own = 0;
    while (iocx_pva_may(all, all, own, 0)) ++own, ++all;
  }
  EXPECT_LT(all, static_cast<std::uint32_t>(IOCX_PVA_PUTS));
  EXPECT_GT(greedy(all, 0, 0), 50u);
}

}  // namespace

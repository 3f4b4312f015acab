// Which IOC gets the next slot of a server probe.
#include <gtest/gtest.h>

#include "shared/server_probe.h"

namespace {

constexpr std::uint32_t kRoom = 16'384;

// How many slots the caller gets who takes all that he can.
std::uint32_t greedy(std::uint32_t all, std::uint32_t user, std::uint32_t ioc) {
  std::uint32_t own = 0;
  while (iocx_server_may(kRoom, all + own, user + own, ioc + own, own)) ++own;
  return own;
}

TEST(ServerProbeShares, AGreedyClientLeavesRoomForTheOthersOfItsIoc) {
  const std::uint32_t first = greedy(0, 0, 0);
  EXPECT_EQ(first, kRoom / 2);
  const std::uint32_t second = greedy(first, first, first);
  EXPECT_GT(second, 100u);
  EXPECT_GT(greedy(first + second, first + second, first + second), 50u);
}

TEST(ServerProbeShares, ManyClientsOfAnIocLeaveRoomForOtherIocs) {
  std::uint32_t ioc = 0;
  while (iocx_server_may(kRoom, ioc, ioc, ioc, 0)) ++ioc;
  EXPECT_LT(ioc, kRoom);
  EXPECT_GT(greedy(ioc, 0, 0), 100u);
}

TEST(ServerProbeShares, AUserWithManyIocsLeavesRoomForAnother) {
  std::uint32_t all = 0;
  for (int ioc = 0; ioc < 1000; ++ioc)
    for (std::uint32_t own = 0; iocx_server_may(kRoom, all, all, own, own); ++own) ++all;
  EXPECT_LT(all, kRoom);
  EXPECT_GT(greedy(all, 0, 0), 50u);
}

}  // namespace

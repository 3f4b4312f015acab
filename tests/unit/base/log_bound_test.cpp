#include "base/log.h"

#include <gtest/gtest.h>

namespace ioc_exporter {
namespace {

TEST(LogBound, SaysHowManyWereLeftOut) {
  LogBound bound(3);
  const auto now = LogBound::Clock::now();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(bound.allows(now));
  for (int i = 0; i < 7; ++i) EXPECT_FALSE(bound.allows(now + LogBound::kWindow / 2));
  EXPECT_EQ(bound.take_left_out(), 0u) << "when it is over";
  EXPECT_TRUE(bound.allows(now + LogBound::kWindow));
  EXPECT_EQ(bound.take_left_out(), 7u);
  EXPECT_EQ(bound.take_left_out(), 0u);
}

}  // namespace
}  // namespace ioc_exporter

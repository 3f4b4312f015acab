#include "base/retry.h"

#include <gtest/gtest.h>

namespace ioc_exporter {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Retry, PausesGrowUpToALimit) {
  auto now = Retry::Clock::time_point{} + seconds(100);
  Retry retry(now);
  EXPECT_TRUE(retry.is_due(now));
  EXPECT_FALSE(retry.is_due(now - milliseconds(1)));
  for (const int pause : {500, 1000, 2000, 4000, 8000, 16000, 30000, 30000, 30000}) {
    retry.failed(now, "broken");
    EXPECT_FALSE(retry.is_due(now + milliseconds(pause - 1))) << pause;
    now += milliseconds(pause);
    EXPECT_TRUE(retry.is_due(now)) << pause;
  }
  retry.succeeded(now + seconds(7));
  EXPECT_FALSE(retry.is_due(now + seconds(6)));
  EXPECT_TRUE(retry.is_due(now + seconds(7)));
  retry.failed(now, "broken");
  EXPECT_TRUE(retry.is_due(now + milliseconds(500)));
}

TEST(Retry, TheSecondFailureInARowIsWorthALineAndTheSameTextOnce) {
  const auto now = Retry::Clock::time_point{};
  Retry retry;
  EXPECT_FALSE(retry.failed(now, "a"));
  EXPECT_TRUE(retry.failed(now, "a"));
  EXPECT_FALSE(retry.failed(now, "a"));
  EXPECT_TRUE(retry.failed(now, "b"));
  retry.succeeded();
  EXPECT_FALSE(retry.failed(now, "c"));
  EXPECT_TRUE(retry.failed(now, "c"));
}

}  // namespace
}  // namespace ioc_exporter

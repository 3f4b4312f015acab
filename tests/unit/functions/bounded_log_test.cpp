#include "functions/bounded_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace ioc_exporter::functions {
namespace {

TEST(BoundedLogTest, TenThousandTextsAreFewLines) {
  BoundedLog lines;
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 10'000; ++i) lines.warn("attach it at " + std::to_string(i));
  const std::string all =
      ::testing::internal::GetCapturedStdout() + ::testing::internal::GetCapturedStderr();
  const auto count = static_cast<std::uint64_t>(std::ranges::count(all, '\n'));
  EXPECT_GE(count, BoundedLog::kMostLines);
  EXPECT_LE(count, 3 * BoundedLog::kMostLines);  // the minute may end meanwhile
}

}  // namespace
}  // namespace ioc_exporter::functions

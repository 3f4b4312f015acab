#include "records/nothing_counted.h"

#include <gtest/gtest.h>

namespace ioc_exporter::records {
namespace {

using std::chrono::seconds;
constexpr std::uint64_t kSecond = 1'000'000'000;

// Looks every 30 s at an IOC that uses `percent` of a core, and enters so often between two looks.
bool is_told(int looks, std::uint64_t percent, std::uint64_t entries, bool attached = true) {
  NothingCounted nothing;
  bool told = false;
  for (int i = 1; i <= looks; ++i)
    told = nothing.update(NothingCounted::Clock::time_point(seconds(1'000 + 30 * i)), attached,
                          23 + static_cast<std::uint64_t>(i) * entries,
                          static_cast<std::uint64_t>(i) * 30 * kSecond * percent / 100);
  return told;
}

TEST(NothingCounted, IsToldAfterFiveMinutesOfWork) {
  EXPECT_FALSE(is_told(10, 2, 0));
  EXPECT_TRUE(is_told(11, 2, 0));
  EXPECT_TRUE(is_told(100, 2, 0));
}

TEST(NothingCounted, IsNotToldOfOneThatRestsOrIsCountedOrHasNoProbes) {
  EXPECT_FALSE(is_told(100, 0, 0));
  EXPECT_FALSE(is_told(100, 2, 1));
  EXPECT_FALSE(is_told(100, 2, 0, false));
}

}  // namespace
}  // namespace ioc_exporter::records

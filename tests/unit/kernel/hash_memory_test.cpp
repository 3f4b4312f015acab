#include "kernel/hash_memory.h"

#include <gtest/gtest.h>

namespace ioc_exporter::kernel {
namespace {

constexpr Cpus kTwo{2, 2}, kMany{64, 64};

// The shape of a record's counts.
HashShape records(std::uint32_t entries, bool on_demand) {
  return {8, 920, entries, on_demand};
}

TEST(HashMemory, AMapThatIsMadeFullTakesTheSameAlways) {
  const auto map = records(1'000'000, false);
  EXPECT_EQ(hash_bytes(map, 0, kTwo), hash_bytes(map, 1'000'000, kTwo));
  EXPECT_NEAR(static_cast<double>(hash_bytes(map, 0, kTwo)), 976e6 + 16 * (1 << 20), 1e5);
}

TEST(HashMemory, OnDemandExistingEntriesTakeMemory) {
  const auto map = records(100'000, true);
  EXPECT_LT(hash_bytes(map, 0, kTwo), 2'200'000u);  // buckets
  const auto thousand = hash_bytes(map, 1'000, kTwo) - hash_bytes(map, 0, kTwo);
  EXPECT_GE(thousand, 1'000u * 1024);
  EXPECT_LT(thousand, 1'100u * 1024);
}

// Entries that a CPU keeps ready are counted, but not for CPUs that can have added none.
TEST(HashMemory, EachCpuKeepsEntriesReady) {
  const auto map = records(1'000, true);
  const auto more = [&](std::uint64_t entries) {
    return hash_bytes(map, entries, kMany) - hash_bytes(map, 0, kMany);
  };
  EXPECT_LT(more(1), 22u * 1024);
  EXPECT_LT(more(1'000), (1'000u + 64 * 21) * 1024);
  EXPECT_GT(hash_bytes(map, 0, kMany), hash_bytes(map, 0, kTwo) + 62 * 1024);
}

TEST(HashMemory, HowManyEntriesFitIsTheInverse) {
  for (const Cpus& cpus : {kTwo, kMany}) {
    const auto map = records(10'000, true);
    for (const std::uint64_t entries : {0u, 1u, 2u, 63u, 64u, 65u, 1'000u, 9'999u}) {
      const auto bytes = hash_bytes(map, entries, cpus);
      EXPECT_EQ(hash_entries_within(map, bytes, cpus), entries);
      if (entries > 0) {
        EXPECT_LT(hash_entries_within(map, bytes - 1, cpus), entries);
      }
    }
    EXPECT_EQ(hash_entries_within(map, 1ull << 40, cpus), 10'000u);
    EXPECT_EQ(hash_entries_within(map, 0, cpus), 0u);
  }
}

TEST(HashMemory, TheLargestMapThatFits) {
  for (const bool on_demand : {false, true}) {
    const auto map = records(50'000, on_demand);
    const auto needed = hash_bytes(map, 12'500, kTwo);
    EXPECT_EQ(hash_capacity_within(map, needed, kTwo), 50'000u);
    EXPECT_LT(hash_capacity_within(map, needed - 1, kTwo), 50'000u);
    EXPECT_EQ(hash_capacity_within(map, 0, kTwo), 0u);
    const auto half = hash_capacity_within(map, 20'000'000, kTwo);
    EXPECT_LE(hash_bytes(records(half, on_demand), half / 4, kTwo), 20'000'000u);
  }
  EXPECT_NEAR(hash_capacity_within(records(50'000, false), 20'000'000, kTwo), 20'000, 500);
}

}  // namespace
}  // namespace ioc_exporter::kernel

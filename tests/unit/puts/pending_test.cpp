#include "puts/pending.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "puts/tables.h"

namespace ioc_exporter::puts {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr WallClock::Reading kNow{100'000'000'000, 1'700'000'100'000'000'000};

PendingPut put(std::uint32_t ioc, const std::string& pv, std::uint64_t since_s) {
  return {{ioc, pv, "10.0.0.7", "scan", "console1"}, false, since_s * 1'000'000'000};
}

// Names are text in JSON.
TEST(PendingPuts, AreCountedWhereAllServersTellThem) {
  PendingPuts pending{
      {put(1, "X\xff", 90), put(2, "Y", 95), put(1, "W", 40), put(3, "Z", 50)}, {1, 2, 4}, {2}};
  pending.puts.push_back({{1, "V", "shutterSeq", "", "", true}, false, 99'000'000'000});
  const auto samples =
      pending_samples({{1, "ps"}, {2, "rf"}, {4, "idle"}}, std::move(pending), kNow);
  EXPECT_EQ(
      to_json(samples),
      R"([{"ioc":"idle","pending":0,"oldest_seconds":0,"oldest":[]},)"
      R"({"ioc":"ps","pending":3,"oldest_seconds":60,"oldest":[)"
      R"({"pv":"W","client":"10.0.0.7","user":"scan","client_host":"console1","protocol":"ca",)"
      R"("time":"2023-11-14T22:14:00.000000000Z"},)"
      R"({"pv":"X\\xFF","client":"10.0.0.7","user":"scan","client_host":"console1","protocol":"ca",)"
      R"("time":"2023-11-14T22:14:50.000000000Z"},)"
      R"({"pv":"V","client":"shutterSeq","user":"","client_host":"","protocol":"inside",)"
      R"("time":"2023-11-14T22:14:59.000000000Z"}]}])"
      "\n");
  EXPECT_THAT(pending_samples({}, {{}, {1}, {}}, kNow), IsEmpty());
}

TEST(PendingPuts, TenOfEachIocHaveNames) {
  PendingPuts pending{{}, {1}, {}};
  for (std::uint64_t i = 0; i < 23; ++i)
    pending.puts.push_back(put(1, "P" + std::to_string(i), 60 - i));
  PutsSamples samples;
  samples.pending_puts = pending_samples({{1, "ps"}}, std::move(pending), kNow);
  EXPECT_EQ(samples.pending_puts[0].count, 23u);
  ASSERT_EQ(samples.pending_puts[0].oldest.size(), kPendingShown);
  EXPECT_EQ(samples.pending_puts[0].oldest[0].pv, "P22");
  const auto table = pending_table(samples, 1'700'000'100);
  EXPECT_EQ(table.rows.size(), kPendingShown);
  EXPECT_EQ(table.more, "And 13 more.");
  EXPECT_THAT(table.rows[0],
              ElementsAre("1 min 2 s ago", "ps", "P22", "10.0.0.7", "scan", "console1"));
}

}  // namespace
}  // namespace ioc_exporter::puts

#include "app/rates.h"

#include <gtest/gtest.h>

namespace ioc_exporter::app {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;

Snapshot snapshot(std::uint64_t processed, std::uint64_t puts, bool attached = true) {
  Snapshot all;
  IocSample ioc;
  ioc.name = "a";
  ioc.up = true;
  ioc.records_attached = attached;
  for (const std::uint64_t part : {processed / 2, processed - processed / 2})
    ioc.records.emplace_back().processed = part;
  all.iocs.push_back(std::move(ioc));
  for (const char* name : {"a", "gone"}) {
    PutSample put;
    put.ioc = name;
    put.count = puts;
    all.puts.push_back(std::move(put));
  }
  return all;
}

TEST(Rates, AreSinceTheLookBefore) {
  Rates rates;
  const auto start = Rates::Clock::now();
  EXPECT_TRUE(rates.of(snapshot(100, 10), start).empty());
  EXPECT_TRUE(rates.of(snapshot(100, 10), start + milliseconds(500)).empty());
  const auto now = rates.of(snapshot(146, 33), start + milliseconds(2000));
  ASSERT_EQ(now.size(), 1u);
  EXPECT_DOUBLE_EQ(*now.at("a").processed, 23);
  EXPECT_DOUBLE_EQ(now.at("a").puts, 11.5);
}

TEST(Rates, GoOnFromTheLatestThatIsOldEnough) {
  Rates rates;
  const auto start = Rates::Clock::now();
  rates.of(snapshot(0, 0), start);
  rates.of(snapshot(1000, 0), start + milliseconds(1000));
  rates.of(snapshot(1000, 0), start + milliseconds(2000));
  EXPECT_DOUBLE_EQ(*rates.of(snapshot(1023, 0), start + milliseconds(3000)).at("a").processed, 23);
}

TEST(Rates, OfARestartedIocBeginAnew) {
  Rates rates;
  const auto start = Rates::Clock::now();
  rates.of(snapshot(1000, 100), start);
  const auto now = rates.of(snapshot(46, 7), start + milliseconds(2000));
  EXPECT_DOUBLE_EQ(*now.at("a").processed, 23);
  EXPECT_DOUBLE_EQ(now.at("a").puts, 3.5);
}

TEST(Rates, WithoutRecordsThereIsNoRateOfThem) {
  Rates rates;
  const auto start = Rates::Clock::now();
  rates.of(snapshot(0, 0, false), start);
  EXPECT_FALSE(rates.of(snapshot(0, 0, false), start + milliseconds(2000)).at("a").processed);
}

TEST(Rates, ALongTimeAgoIsNoNow) {
  Rates rates;
  const auto start = Rates::Clock::now();
  rates.of(snapshot(0, 0), start);
  EXPECT_TRUE(rates.of(snapshot(46, 0), start + minutes(11)).empty());
}

}  // namespace
}  // namespace ioc_exporter::app

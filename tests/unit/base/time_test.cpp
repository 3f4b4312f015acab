// Durations, times as text, and what goes by them: retries and rates.
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <utility>

#include "base/rates.h"
#include "base/retry.h"
#include "base/time_text.h"
#include "support/value_of.h"

namespace ioc_exporter {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(Duration, PrometheusDurationsAreReadAndWrittenAlike) {
  for (const auto& [text, count] : {std::pair{"0s", 0ll},
                                    {"1ms", 1ll},
                                    {"250ms", 250ll},
                                    {"1s500ms", 1'500ll},
                                    {"5s", 5'000ll},
                                    {"1m30s", 90'000ll},
                                    {"2h", 7'200'000ll},
                                    {"7d", 604'800'000ll},
                                    {"1d1h1m1s1ms", 90'061'001ll}}) {
    EXPECT_EQ(value_of(parse_duration(text)), milliseconds(count)) << text;
    EXPECT_EQ(duration_text(milliseconds(count)), text);
  }
  EXPECT_EQ(value_of(parse_duration("0.5")), milliseconds(500));
  EXPECT_EQ(value_of(parse_duration("3")), milliseconds(3'000));
  EXPECT_EQ(value_of(parse_duration("90s")), milliseconds(90'000));
}

TEST(Duration, RefusesTheRestAndNamesIt) {
  for (const char* text :
       {"", "s", "5x", "-1s", "1s2", "nan", "inf", "5 s", "1e3s", "99999d", "5s "}) {
    EXPECT_NE(error_of(parse_duration(text)).find('"' + std::string(text) + '"'), std::string::npos)
        << text;
  }
}

class LocalTime : public testing::Test {
 protected:
  ~LocalTime() override { set_zone(before_.empty() ? nullptr : before_.c_str()); }

  static void set_zone(const char* zone) {
    zone ? ::setenv("TZ", zone, 1) : ::unsetenv("TZ");
    ::tzset();
  }

 private:
  std::string before_ = std::getenv("TZ") ? std::getenv("TZ") : "";
};

TEST_F(LocalTime, HasMillisecondsAndZone) {
  set_zone("UTC0");
  EXPECT_EQ(local_time(1790000000.25), "2026-09-21 14:13:20.250 +0000");
  EXPECT_EQ(local_time(1790000000.9999), "2026-09-21 14:13:20.999 +0000") << "cut, not rounded";
  EXPECT_EQ(local_time(0), "1970-01-01 00:00:00.000 +0000");
  set_zone("CET-1CEST,M3.5.0,M10.5.0/3");
  EXPECT_EQ(local_time(1790000000.25), "2026-09-21 16:13:20.250 +0200");
  EXPECT_EQ(local_time(1767225600), "2026-01-01 01:00:00.000 +0100");
}

TEST(SpanText, TwoUnitsAtMost) {
  for (const auto& [span, text] : {std::pair{-5.0, "0 s"},
                                   {0.0, "0 s"},
                                   {0.04, "0.0 s"},
                                   {0.4, "0.4 s"},
                                   {9.94, "9.9 s"},
                                   {9.96, "10 s"},
                                   {59.4, "59 s"},
                                   {59.6, "1 min"},
                                   {200, "3 min 20 s"},
                                   {3600, "1 h"},
                                   {7530, "2 h 5 min"},
                                   {86400, "1 d"},
                                   {350000, "4 d 1 h"},
                                   {1e9, "11574 d 1 h"}})
    EXPECT_EQ(span_text(span), text);
}

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

TEST(Rates, AreSinceTheLookBefore) {
  Rates rates;
  const auto start = Rates::Clock::now();
  EXPECT_TRUE(rates.of({{"a", 100}, {"b", 10}}, start).empty());
  EXPECT_TRUE(rates.of({{"a", 100}, {"b", 10}}, start + milliseconds(500)).empty());
  const auto now = rates.of({{"a", 146}, {"b", 33}}, start + milliseconds(2000));
  ASSERT_EQ(now.size(), 2u);
  EXPECT_DOUBLE_EQ(now.at("a"), 23);
  EXPECT_DOUBLE_EQ(now.at("b"), 11.5);
}

TEST(Rates, GoOnFromTheLatestThatIsOldEnough) {
  Rates rates;
  const auto start = Rates::Clock::now();
  rates.of({{"a", 0}}, start);
  rates.of({{"a", 1000}}, start + milliseconds(1000));
  rates.of({{"a", 1000}}, start + milliseconds(2000));
  EXPECT_DOUBLE_EQ(rates.of({{"a", 1023}}, start + milliseconds(3000)).at("a"), 23);
}

TEST(Rates, ARestartedIocBeginsAnewAndNewCountersHaveNone) {
  Rates rates;
  const auto start = Rates::Clock::now();
  rates.of({{"a", 1000}, {"b", 100}}, start);
  const auto now = rates.of({{"a", 46}, {"b", 7}, {"new", 7}}, start + milliseconds(2000));
  EXPECT_EQ(now.size(), 2u);
  EXPECT_DOUBLE_EQ(now.at("a"), 23);
  EXPECT_DOUBLE_EQ(now.at("b"), 3.5);
  EXPECT_TRUE(rates.of({{"a", 92}}, start + minutes(11)).empty()) << "a long time ago is no now";
}

}  // namespace
}  // namespace ioc_exporter

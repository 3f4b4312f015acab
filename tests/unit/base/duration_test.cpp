#include "base/time_text.h"

#include <gtest/gtest.h>

namespace ioc_exporter {
namespace {

using std::chrono::milliseconds;

TEST(Duration, ReadsWhatPrometheusWrites) {
  EXPECT_EQ(*parse_duration("250ms"), milliseconds(250));
  EXPECT_EQ(*parse_duration("5s"), milliseconds(5'000));
  EXPECT_EQ(*parse_duration("1m30s"), milliseconds(90'000));
  EXPECT_EQ(*parse_duration("2h"), milliseconds(7'200'000));
  EXPECT_EQ(*parse_duration("7d"), milliseconds(604'800'000));
  EXPECT_EQ(*parse_duration("0.5"), milliseconds(500));
  EXPECT_EQ(*parse_duration("3"), milliseconds(3'000));
}

TEST(Duration, RefusesTheRestAndNamesIt) {
  for (const char* text :
       {"", "s", "5x", "-1s", "1s2", "nan", "inf", "5 s", "1e3s", "99999d", "5s "}) {
    const auto parsed = parse_duration(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_NE(parsed.error().message().find('"' + std::string(text) + '"'), std::string::npos);
  }
}

TEST(Duration, TextIsReadBack) {
  using std::chrono::milliseconds;
  for (const char* text :
       {"0s", "1ms", "500ms", "1s500ms", "90s", "1m30s", "5m", "2h", "30d", "1d1h1m1s1ms"}) {
    const milliseconds duration = *parse_duration(text);
    EXPECT_EQ(*parse_duration(duration_text(duration)), duration) << text;
  }
  EXPECT_EQ(duration_text(milliseconds(0)), "0s");
  EXPECT_EQ(duration_text(std::chrono::seconds(90)), "1m30s");
  EXPECT_EQ(duration_text(std::chrono::hours(30 * 24)), "30d");
}

}  // namespace
}  // namespace ioc_exporter

#include "base/time_text.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <string>
#include <utility>

namespace ioc_exporter {
namespace {

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
  for (const auto& [seconds, text] : {std::pair{-5.0, "0 s"},
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
    EXPECT_EQ(span_text(seconds), text);
}

}  // namespace
}  // namespace ioc_exporter

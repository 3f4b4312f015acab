#include "policy/time_window.h"

#include <gtest/gtest.h>

namespace ioc_exporter::policy {
namespace {

TimeWindow window(const std::string& days, const std::string& hours,
                  const std::string& zone = "UTC") {
  const auto window = TimeWindow::create(*parse_weekdays(days), *parse_hours(hours), zone);
  EXPECT_TRUE(window) << zone;
  return *window;
}

// 2026-11-23 was a Monday.
std::int64_t utc(int year, int month, int day, int hour, int minute = 0, int second = 0) {
  return absl::ToUnixSeconds(absl::FromCivil(
      absl::CivilSecond(year, month, day, hour, minute, second), absl::UTCTimeZone()));
}

TEST(TimeWindow, BeginsAtItsFirstAndEndsBeforeItsLastMinute) {
  const TimeWindow work = window("mon-fri", "08:00-17:30");
  EXPECT_FALSE(work.contains(utc(2026, 11, 23, 7, 59, 59)));
  EXPECT_TRUE(work.contains(utc(2026, 11, 23, 8)));
  EXPECT_TRUE(work.contains(utc(2026, 11, 23, 17, 29, 59)));
  EXPECT_FALSE(work.contains(utc(2026, 11, 23, 17, 30)));
  EXPECT_TRUE(work.contains(utc(2026, 11, 27, 12)));
  EXPECT_FALSE(work.contains(utc(2026, 11, 28, 12)));
}

TEST(TimeWindow, OverMidnightBelongsToTheDayOnWhichItBegins) {
  const TimeWindow night = window("fri", "22:00-06:00");
  EXPECT_FALSE(night.contains(utc(2026, 11, 27, 5)));  // Friday's morning is Thursday's night
  EXPECT_TRUE(night.contains(utc(2026, 11, 27, 22)));
  EXPECT_TRUE(night.contains(utc(2026, 11, 28, 5, 59)));
  EXPECT_FALSE(night.contains(utc(2026, 11, 28, 6)));
  EXPECT_FALSE(night.contains(utc(2026, 11, 28, 22)));
  const TimeWindow sunday = window("sun", "23:00-01:00");
  EXPECT_TRUE(sunday.contains(utc(2026, 11, 30, 0, 30)));
}

TEST(TimeWindow, WholeDay) {
  const TimeWindow day = window("tue", "00:00-24:00");
  EXPECT_FALSE(day.contains(utc(2026, 11, 23, 23, 59, 59)));
  EXPECT_TRUE(day.contains(utc(2026, 11, 24, 0)));
  EXPECT_TRUE(day.contains(utc(2026, 11, 24, 23, 59, 59)));
  EXPECT_FALSE(day.contains(utc(2026, 11, 25, 0)));
}

TEST(TimeWindow, FollowsTheClocksOfItsZone) {
  const TimeWindow work = window("mon-fri", "08:00-17:00", "Europe/Berlin");
  EXPECT_TRUE(work.contains(utc(2026, 7, 20, 6)));  // summer: UTC+2
  EXPECT_FALSE(work.contains(utc(2026, 11, 23, 6)));
  EXPECT_TRUE(work.contains(utc(2026, 11, 23, 7)));  // winter: UTC+1
  // Monday morning in Tokyo is Sunday evening in UTC.
  EXPECT_TRUE(window("mon", "08:00-09:00", "Asia/Tokyo").contains(utc(2026, 11, 22, 23, 30)));
}

TEST(TimeWindow, ClocksThatArePutForward) {  // 2026-03-29, 02:00 becomes 03:00
  const TimeWindow skipped = window("sun", "02:00-03:00", "Europe/Berlin");
  for (int minute = -120; minute < 120; ++minute)
    EXPECT_FALSE(skipped.contains(utc(2026, 3, 29, 1) + minute * 60)) << minute;
  const TimeWindow around = window("sun", "01:30-03:30", "Europe/Berlin");
  EXPECT_TRUE(around.contains(utc(2026, 3, 29, 0, 59)));
  EXPECT_TRUE(around.contains(utc(2026, 3, 29, 1, 29)));
  EXPECT_FALSE(around.contains(utc(2026, 3, 29, 1, 30)));
}

TEST(TimeWindow, ClocksThatArePutBack) {  // 2026-10-25, 03:00 becomes 02:00
  const TimeWindow twice = window("sun", "02:00-03:00", "Europe/Berlin");
  EXPECT_FALSE(twice.contains(utc(2026, 10, 24, 23, 59)));
  EXPECT_TRUE(twice.contains(utc(2026, 10, 25, 0)));
  EXPECT_TRUE(twice.contains(utc(2026, 10, 25, 1, 59)));
  EXPECT_FALSE(twice.contains(utc(2026, 10, 25, 2)));
}

TEST(TimeWindow, SaysItselfInWords) {
  EXPECT_EQ(window("fri-mon", "22:00-06:00", "Europe/Berlin").text(),
            "mon,fri-sun 22:00-06:00 Europe/Berlin");
  EXPECT_EQ(window("mon", "08:00-09:00", "Asia/Tokyo").shown(utc(2026, 11, 22, 23, 30)),
            "mon 08:30");
}

TEST(TimeWindow, ReadsWeekdays) {
  EXPECT_EQ(*parse_weekdays("mon"), 0x01);
  EXPECT_EQ(*parse_weekdays("Mon-Fri"), 0x1f);
  EXPECT_EQ(*parse_weekdays("sat, sunday"), 0x60);
  EXPECT_EQ(*parse_weekdays("sat-mon"), 0x61);
  EXPECT_EQ(*parse_weekdays("mon-sun"), kEveryDay);
  for (const char* text : {"", "mo", "monx", "mon-", "mon,", "mon-fri-sun", "1-5"})
    EXPECT_FALSE(parse_weekdays(text)) << text;
}

TEST(TimeWindow, RefusesWhatIsNoTime) {
  for (const char* text : {"", "8:00-17:00", "08:00", "08:00-08:00", "08:60-09:00", "24:00-06:00",
                           "08:00-24:01", "08:00-17:00x", "ab:cd-ef:gh"})
    EXPECT_FALSE(parse_hours(text)) << text;
  for (const char* zone : {"Europe/Atlantis", "", "/etc/localtime", "../zoneinfo/UTC", "CE:ST"})
    EXPECT_FALSE(TimeWindow::create(kEveryDay, {}, zone)) << zone;
  EXPECT_TRUE(TimeWindow::create(kEveryDay, {}, "local"));
}

}  // namespace
}  // namespace ioc_exporter::policy

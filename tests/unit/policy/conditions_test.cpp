// Conditions of a rule: times and networks.
#include <gmock/gmock.h>

#include <vector>

#include "base/client_network.h"
#include "policy/time_window.h"
#include "support/value_of.h"

namespace ioc_exporter::policy {
namespace {

TEST(Moment, IsReadAsPeopleWriteIt) {
  EXPECT_EQ(*parse_moment("2026-11-23 12:00Z"), 1795435200);
  EXPECT_EQ(*parse_moment("2026-11-23T12:00:30Z"), 1795435230);
  EXPECT_EQ(*parse_moment("2026-11-23T13:00:00+01:00"), 1795435200);
  EXPECT_TRUE(parse_moment("2026-11-23 12:00"));
  EXPECT_TRUE(parse_moment("2026-11-23T12:00:30"));
  for (const char* text : {"", "12:00", "2026-11-23", "2026-13-01 12:00", "2026-11-23 12:00 x"})
    EXPECT_FALSE(parse_moment(text)) << text;
}

TimeWindow window(const std::string& days, const std::string& hours,
                  const std::string& zone = "UTC") {
  return value_of(TimeWindow::create(*parse_weekdays(days), *parse_hours(hours), zone));
}

// 2026-11-23 was a Monday.
std::int64_t utc(int year, int month, int day, int hour, int minute = 0, int second = 0) {
  return absl::ToUnixSeconds(absl::FromCivil(
      absl::CivilSecond(year, month, day, hour, minute, second), absl::UTCTimeZone()));
}

void expect_in(const TimeWindow& window, const std::vector<std::int64_t>& moments) {
  for (const std::int64_t moment : moments) EXPECT_TRUE(window.contains(moment)) << moment;
}
void expect_out(const TimeWindow& window, const std::vector<std::int64_t>& moments) {
  for (const std::int64_t moment : moments) EXPECT_FALSE(window.contains(moment)) << moment;
}

TEST(TimeWindow, BeginsAtItsFirstAndEndsBeforeItsLastMinute) {
  const TimeWindow work = window("mon-fri", "08:00-17:30");
  expect_in(work, {utc(2026, 11, 23, 8), utc(2026, 11, 23, 17, 29, 59), utc(2026, 11, 27, 12)});
  expect_out(work,
             {utc(2026, 11, 23, 7, 59, 59), utc(2026, 11, 23, 17, 30), utc(2026, 11, 28, 12)});
}

TEST(TimeWindow, OverMidnightBelongsToTheDayOnWhichItBegins) {
  const TimeWindow night = window("fri", "22:00-06:00");
  expect_in(night, {utc(2026, 11, 27, 22), utc(2026, 11, 28, 5, 59)});
  // Friday's morning is Thursday's night.
  expect_out(night, {utc(2026, 11, 27, 5), utc(2026, 11, 28, 6), utc(2026, 11, 28, 22)});
  expect_in(window("sun", "23:00-01:00"), {utc(2026, 11, 30, 0, 30)});
}

TEST(TimeWindow, MidnightToMidnightIsAWholeDay) {
  const TimeWindow day = window("tue", "00:00-24:00");
  expect_in(day, {utc(2026, 11, 24, 0), utc(2026, 11, 24, 23, 59, 59)});
  expect_out(day, {utc(2026, 11, 23, 23, 59, 59), utc(2026, 11, 25, 0)});
}

TEST(TimeWindow, FollowsTheClocksOfItsZone) {
  const TimeWindow work = window("mon-fri", "08:00-17:00", "Europe/Berlin");
  expect_in(work, {utc(2026, 7, 20, 6), utc(2026, 11, 23, 7)});  // summer: UTC+2, winter: UTC+1
  expect_out(work, {utc(2026, 11, 23, 6)});
  // Monday morning in Tokyo is Sunday evening in UTC.
  expect_in(window("mon", "08:00-09:00", "Asia/Tokyo"), {utc(2026, 11, 22, 23, 30)});
}

TEST(TimeWindow, ClocksThatArePutForward) {  // 2026-03-29, 02:00 becomes 03:00
  const TimeWindow skipped = window("sun", "02:00-03:00", "Europe/Berlin");
  for (int minute = -120; minute < 120; ++minute)
    EXPECT_FALSE(skipped.contains(utc(2026, 3, 29, 1) + minute * 60)) << minute;
  const TimeWindow around = window("sun", "01:30-03:30", "Europe/Berlin");
  expect_in(around, {utc(2026, 3, 29, 0, 59), utc(2026, 3, 29, 1, 29)});
  expect_out(around, {utc(2026, 3, 29, 1, 30)});
}

TEST(TimeWindow, ClocksThatArePutBack) {  // 2026-10-25, 03:00 becomes 02:00
  const TimeWindow twice = window("sun", "02:00-03:00", "Europe/Berlin");
  expect_in(twice, {utc(2026, 10, 25, 0), utc(2026, 10, 25, 1, 59)});
  expect_out(twice, {utc(2026, 10, 24, 23, 59), utc(2026, 10, 25, 2)});
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

TEST(TimeWindow, RefusesInvalidTimes) {
  for (const char* text : {"", "8:00-17:00", "08:00", "08:00-08:00", "08:60-09:00", "24:00-06:00",
                           "08:00-24:01", "08:00-17:00x", "ab:cd-ef:gh"})
    EXPECT_FALSE(parse_hours(text)) << text;
  for (const char* zone : {"Europe/Atlantis", "", "/etc/localtime", "../zoneinfo/UTC", "CE:ST"})
    EXPECT_FALSE(TimeWindow::create(kEveryDay, {}, zone)) << zone;
  EXPECT_TRUE(TimeWindow::create(kEveryDay, {}, "local"));
}

bool contains(const std::string& network, const std::string& address) {
  const auto parsed = ClientNetwork::parse(network);
  const auto client = parse_client_address(address);
  EXPECT_TRUE(parsed) << network;
  EXPECT_TRUE(client) << address;
  return parsed && client && parsed->contains(*client);
}

TEST(ClientNetwork, ContainsAddressesWithItsPrefix) {
  EXPECT_TRUE(contains("10.0.0.0/8", "10.255.3.4"));
  EXPECT_FALSE(contains("10.0.0.0/8", "11.0.0.0"));
  EXPECT_TRUE(contains("172.16.0.0/12", "172.31.255.255"));
  EXPECT_FALSE(contains("172.16.0.0/12", "172.32.0.0"));
  EXPECT_TRUE(contains("192.168.1.7", "192.168.1.7"));
  EXPECT_FALSE(contains("192.168.1.7", "192.168.1.6"));
  EXPECT_TRUE(contains("192.168.1.6/31", "192.168.1.7"));
  EXPECT_TRUE(contains("0.0.0.0/0", "203.0.113.9"));
  EXPECT_TRUE(contains("2001:db8::/33", "2001:db8:7fff::1"));
  EXPECT_FALSE(contains("2001:db8::/33", "2001:db8:8000::1"));
  EXPECT_TRUE(contains("fe80::/10", "fe80::1%eth0"));
  EXPECT_TRUE(contains("::1", "::1"));
}

TEST(ClientNetwork, KeepsTheFamiliesApart) {
  EXPECT_FALSE(contains("0.0.0.0/0", "2001:db8::1"));
  EXPECT_FALSE(contains("2000::/3", "32.0.0.1"));
  EXPECT_TRUE(contains("10.0.0.0/8", "::ffff:10.1.2.3"));  // IPv4 on an IPv6 socket
  EXPECT_TRUE(contains("::/0", "10.1.2.3"));
}

TEST(ClientNetwork, NamesAnInvalidNetwork) {
  for (const char* text : {"", "10.0.0", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "::/129",
                           "10.0.0.0/8x", "console", "fe80::1%eth0"})
    EXPECT_FALSE(ClientNetwork::parse(text)) << text;
  EXPECT_EQ(ClientNetwork::parse("10.1.2.3/8").error().message(),
            "\"10.1.2.3/8\" is no network: the address has bits beyond the first 8");
  EXPECT_FALSE(ClientNetwork::parse("2001:db8::1/64"));
  EXPECT_FALSE(parse_client_address("unix"));
  EXPECT_FALSE(parse_client_address(""));
}

}  // namespace
}  // namespace ioc_exporter::policy

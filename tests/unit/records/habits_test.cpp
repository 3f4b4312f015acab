// Records are compared with their own habits, by a simulated clock.
#include "records/habits.h"

#include "support/value_of.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace ioc_exporter::records {
namespace {

using std::chrono::duration_cast;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr seconds kStep{60};

using Rate = std::function<double(seconds time)>;

Rate steady(double rate) {
  return [rate](seconds) { return rate; };
}

// An IOC of a few records, each with a rate for each moment since Monday, 0:00.
class Habits : public testing::Test {
 protected:
  void add(const std::string& name, Rate rate) {
    names_.push_back(name);
    rates_.push_back(std::move(rate));
    counts_.push_back(0);
  }
  // Restarts it: all counts begin at 0, in another order.
  void restart() {
    ++pid_;
    database_.reset();
    std::ranges::fill(counts_, 0);
  }
  // Whether anything was unusual at any moment of that time.
  bool pass(seconds time) {
    bool any = false;
    for (const seconds end = time_ + time; time_ < end; time_ += kStep) {
      IocSample ioc = sample();
      habits_.look({ioc}, RecordHabits::Clock::time_point(time_));
      std::vector<IocSample> all = {ioc};
      habits_.add_to(all, shown_);
      now_ = all.front().unusual.value_or(UnusualSample{});
      any |= now_.stopped + now_.surging > 0;
    }
    return any;
  }
  // Names of what is unusual now: "-stopped +surging".
  std::string unusual() const {
    std::string text;
    for (const UnusualRecord& record : now_.worst_stopped) text += "-" + record.name;
    for (const UnusualRecord& record : now_.worst_surging) text += "+" + record.name;
    return text;
  }

  IocSample sample() {
    if (!database_) {
      auto database = std::make_shared<Database>();
      for (std::size_t i = 0; i < names_.size(); ++i)
        database->records.push_back({i, names_[index(i)], 0});
      database_ = database;
    }
    IocSample ioc;
    ioc.name = "ps";
    ioc.user = user_;
    ioc.up = up_;
    ioc.pid = pid_;
    ioc.records_watched = watched_;
    ioc.database = database_;
    for (std::uint32_t i = 0; i < names_.size(); ++i) {
      counts_[index(i)] += rates_[index(i)](time_) * static_cast<double>(kStep.count());
      RecordSample& record = ioc.records.emplace_back();
      record.record = i;
      record.processed = static_cast<std::uint64_t>(counts_[index(i)]);
    }
    if (!is_read_) ioc.records.clear();
    return ioc;
  }
  // Another order of the records in each life.
  std::size_t index(std::size_t i) const {
    return (i + static_cast<std::size_t>(pid_)) % names_.size();
  }

  // The host, or the exporter: what is known goes through a file, and `off` goes by.
  void restart_exporter(seconds off) {
    auto read = value_of(habits_from_bytes(to_bytes(1, habits_.kept())));
    habits_ = RecordHabits();
    habits_.restore(std::move(read.iocs));
    time_ += off;
  }

  static bool is_weekend(seconds time) { return time.count() / 86'400 % 7 >= 5; }
  static bool is_day(seconds time) {
    const auto hour = time.count() / 3600 % 24;
    return hour >= 8 && hour < 20;
  }

  RecordHabits habits_;
  NameFilter shown_;
  std::vector<std::string> names_;
  std::vector<Rate> rates_;
  std::vector<double> counts_;
  std::shared_ptr<const Database> database_;
  seconds time_{0};
  int pid_ = 812;
  std::string user_ = "epics";
  bool up_ = true;
  bool watched_ = true;
  bool is_read_ = true;
  UnusualSample now_;
};

TEST_F(Habits, ASuddenStopIsSeenInTenMinutesAndEnds) {
  bool stops = false;
  add("R:a", [&](seconds) { return stops ? 0 : 10.0; });
  add("R:b", [&](seconds) { return stops ? 0 : 1.0; });
  add("R:c", steady(1));
  EXPECT_FALSE(pass(hours(30)));
  stops = true;
  EXPECT_FALSE(pass(minutes(9)));
  pass(minutes(4));
  EXPECT_EQ(unusual(), "-R:a-R:b") << "the busiest first";
  EXPECT_NEAR(now_.worst_stopped[0].value, 720, 120);
  EXPECT_EQ(now_.stopped, 2u);
  stops = false;
  pass(minutes(2));
  EXPECT_EQ(unusual(), "");
  // The same again is seen again, though not sooner.
  EXPECT_FALSE(pass(hours(3)));
  stops = true;
  pass(minutes(40));
  EXPECT_EQ(unusual(), "-R:a-R:b");
  // A record that stays silent is no news after three days.
  pass(hours(24 * 4));
  EXPECT_EQ(unusual(), "");
}

TEST_F(Habits, NothingIsKnownOnTheFirstDay) {
  bool stops = false;
  add("R:a", [&](seconds) { return stops ? 0 : 10.0; });
  EXPECT_FALSE(pass(hours(23)));
  stops = true;
  EXPECT_FALSE(pass(hours(24)));
}

TEST_F(Habits, ANightlyRebootIsNeither) {
  bool stops = false;
  add("R:a", [&](seconds) { return stops ? 0 : 10.0; });
  add("R:slow", [](seconds time) { return time.count() % 3600 < 60 ? 1.0 / 60 : 0; });
  add("R:burst", [](seconds time) { return time.count() % 86'400 < 300 ? 500.0 : 0.1; });
  for (int night = 0; night < 10; ++night) {
    EXPECT_FALSE(pass(hours(24) - minutes(20))) << night;
    up_ = false;
    EXPECT_FALSE(pass(minutes(20)));
    up_ = true;
    restart();
  }
  // One that does not come back after the reboot has stopped.
  EXPECT_FALSE(pass(hours(1)));
  stops = true;
  restart();
  EXPECT_FALSE(pass(minutes(10)));
  pass(minutes(3));
  EXPECT_EQ(unusual(), "-R:a");
}

TEST_F(Habits, QuietNightsAndWeekends) {
  add("R:shift", [](seconds time) { return is_day(time) && !is_weekend(time) ? 2.0 : 0; });
  add("R:daily", [](seconds time) { return time.count() % 86'400 < 60 ? 1.0 / 60 : 0; });
  EXPECT_FALSE(pass(hours(24 * 7 * 5)));
}

TEST_F(Habits, ASlowDriftIsNone) {
  add("R:up", [](seconds time) { return 1 + static_cast<double>(time.count()) / 1000; });
  add("R:down", [](seconds time) { return 700.0 / (1 + static_cast<double>(time.count()) / 900); });
  EXPECT_FALSE(pass(hours(24 * 7)));
}

TEST_F(Habits, ASuddenStormIsSeenAtOnceAndAccepted) {
  double rate = 1;
  add("R:a", [&](seconds) { return rate; });
  add("R:busy", [&](seconds) { return 30 * std::min(rate, 5.0); });
  EXPECT_FALSE(pass(hours(30)));
  rate = 40;
  pass(minutes(2));
  EXPECT_EQ(unusual(), "+R:a") << "five times as much is not ten";
  EXPECT_NEAR(now_.worst_surging[0].value, 40, 0.1);
  pass(hours(3));
  EXPECT_EQ(unusual(), "+R:a");
  rate = 1;
  pass(minutes(2));
  EXPECT_EQ(unusual(), "");
  rate = 4000;
  pass(hours(48));
  EXPECT_EQ(unusual(), "") << "it is a habit by now";
}

TEST_F(Habits, ProbesThatAreOffSayNothing) {
  bool stops = false;
  add("R:a", [&](seconds) { return stops ? 0 : 10.0; });
  pass(hours(30));
  watched_ = false;
  stops = true;
  EXPECT_FALSE(pass(hours(12)));
  watched_ = true;
  EXPECT_FALSE(pass(minutes(8)));
  pass(minutes(6));
  EXPECT_EQ(unusual(), "-R:a");
}

// A fly scan that somebody starts once a week, and one of each day.
TEST_F(Habits, ASurgeThatComesAgainIsNone) {
  const auto surges_at = [](std::int64_t hour, std::int64_t each) {
    return [=](seconds time) {
      const auto now = time.count() / 3600;
      return now >= 48 && now % each == hour && time.count() % 3600 < 900 ? 100.0 : 0.01;
    };
  };
  add("R:weekly", surges_at(60, 168));
  add("R:daily", surges_at(10, 24));
  EXPECT_TRUE(pass(hours(59)));
  EXPECT_TRUE(pass(hours(24)));
  EXPECT_FALSE(pass(hours(24 * 7 * 6)));
}

TEST_F(Habits, CountsThatCouldNotBeReadOnceAreNoSurge) {
  add("R:a", steady(10));
  pass(hours(30));
  is_read_ = false;
  EXPECT_FALSE(pass(minutes(1)));
  is_read_ = true;
  EXPECT_FALSE(pass(minutes(5)));
}

// The burst of a start, and the first counts of an exporter that comes late.
TEST_F(Habits, AStartIsNoStorm) {
  add("R:a",
      [this](seconds time) { return time < seconds(300) || counts_[0] < 1000 ? 900.0 : 0.1; });
  EXPECT_FALSE(pass(hours(30)));
  restart();
  EXPECT_FALSE(pass(hours(1)));
}

TEST_F(Habits, TenAreNamedAndAllAreCounted) {
  bool stops = false;
  for (int i = 0; i < 25; ++i)
    add("R:" + std::to_string(i), [&, i](seconds) { return stops ? 0 : 1.0 + i; });
  shown_.exclude = *Pattern::compile("R:24");
  pass(hours(30));
  stops = true;
  pass(minutes(13));
  EXPECT_EQ(now_.stopped, 25u);
  ASSERT_EQ(now_.worst_stopped.size(), 9u) << "one of the ten is not to be shown";
  EXPECT_EQ(now_.worst_stopped[0].name, "R:23");
}

// A host that reboots each night never knew its records by heart.
TEST_F(Habits, OutliveTheExporter) {
  bool stops = false, surges = false;
  add("R:a", [&](seconds) { return stops ? 0 : 10.0; });
  add("R:b", [&](seconds) { return surges ? 500.0 : 1.0; });
  for (int night = 0; night < 3; ++night) {
    EXPECT_FALSE(pass(hours(10)));
    restart();
    restart_exporter(hours(14));
  }
  EXPECT_FALSE(pass(minutes(11)));
  EXPECT_NEAR(now_.observed_seconds, 3 * 10 * 3600, 1800);
  surges = true;
  pass(minutes(2));
  EXPECT_EQ(unusual(), "+R:b");
  surges = false;
  pass(minutes(2));
  stops = true;
  pass(minutes(14));
  EXPECT_EQ(unusual(), "-R:a") << "the hours in which nobody looked made no silence of its own";
  restart_exporter(hours(1));
  pass(minutes(13));
  EXPECT_EQ(unusual(), "-R:a") << "it has stopped for as long as before";
}

TEST_F(Habits, HabitsOfAnotherDatabaseOrUserAreForgotten) {
  bool stops = false;
  add("R:a", [&](seconds) { return stops ? 0 : 10.0; });
  add("R:b", [&](seconds) { return stops ? 0 : 5.0; });
  EXPECT_FALSE(pass(hours(30)));
  restart_exporter(hours(1));
  names_[1] = "R:new";
  restart();
  EXPECT_FALSE(pass(minutes(12)));
  stops = true;
  pass(minutes(14));
  EXPECT_EQ(unusual(), "-R:a") << "what the new record does usually is not known";
  stops = false;
  pass(minutes(2));
  EXPECT_EQ(habits_.kept().at("ps").habits.size(), 2u) << "the record that is gone is forgotten";
  restart_exporter(hours(1));
  user_ = "somebody";
  restart();
  EXPECT_FALSE(pass(minutes(12)));
  EXPECT_LT(now_.observed_seconds, 3600);
  stops = true;
  EXPECT_FALSE(pass(hours(2)));
}

// IOCs with new names again and again do not take memory for ever, nor the habits of a real one.
TEST_F(Habits, KeptHabitsOfEndedIocsAreBounded) {
  bool stops = false;
  add("R:a", [&](seconds) { return stops ? 0 : 10.0; });
  pass(hours(30));
  auto big = std::make_shared<Database>();
  big->records.resize(RecordHabits::kMostKept / 4);
  for (int i = 0; i < 12; ++i) {
    time_ += kStep;
    IocSample fake;
    fake.name = "fake" + std::to_string(i);
    fake.up = fake.records_watched = true;
    fake.database = big;
    habits_.look({fake}, RecordHabits::Clock::time_point(time_));
  }
  EXPECT_FALSE(pass(minutes(15)));
  stops = true;
  pass(minutes(15));
  EXPECT_EQ(unusual(), "-R:a");
}

}  // namespace
}  // namespace ioc_exporter::records

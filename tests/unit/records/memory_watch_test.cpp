#include "records/memory/memory_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <deque>

#include "iocs/find/process_stat.h"
#include "iocs/memory/base_layout.h"

namespace ioc_exporter::records {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

// As the offsets say below.
struct Record {
  std::uint16_t severity = 0;
  std::uint8_t active = 0;
  std::uint8_t pad = 0;
  std::uint64_t time = 0;
};

// This process is the IOC.
class MemoryWatchTest : public testing::Test {
 protected:
  MemoryWatchTest() {
    const auto stat = iocs::read_process_stat(RootedFs("/"), ::getpid());
    job_.id = stat->id;
    job_.offsets.sevr = offsetof(Record, severity);
    job_.offsets.pact = offsetof(Record, active);
    job_.offsets.time = offsetof(Record, time);
    auto database = std::make_shared<Database>();
    for (std::uint16_t i = 0; i < 7; ++i) {
      records_.push_back({static_cast<std::uint16_t>(i % 4), 0, 0, 1});
      database->records.push_back({reinterpret_cast<std::uintptr_t>(&records_.back()), "R", 0});
    }
    job_.database = std::move(database);
  }

  IocSample ioc() const {
    IocSample sample;
    sample.name = "x";
    sample.up = true;
    sample.pid = job_.id.pid;
    sample.database = job_.database;
    return sample;
  }
  IocSample told() {
    std::vector<IocSample> iocs{ioc()};
    watch_.add_to(iocs);
    return iocs[0];
  }

  std::deque<Record> records_;
  MemoryWatch::Job job_;
  MemoryWatch watch_{std::make_shared<iocs::ProcessReader>(RootedFs("/")), 0ms, 1min};
};

TEST_F(MemoryWatchTest, TellsTheStatesOfRecordsAndMissingOnes) {
  records_[5].active = 1;
  watch_.read({job_});
  const IocSample sample = told();
  ASSERT_TRUE(sample.memory && sample.memory->records);
  EXPECT_THAT(sample.memory->records->by_severity, ElementsAre(2, 2, 2, 1));
  EXPECT_EQ(sample.memory->records->in_flight, 1u);
  EXPECT_EQ(sample.memory->records->stuck, 1u);
  EXPECT_FALSE(sample.memory->scan_lists);
  EXPECT_FALSE(sample.memory->queues);
  EXPECT_FALSE(sample.memory->suspended_threads);
  EXPECT_THAT(sample.notes, Contains(HasSubstr("they are stripped")));
}

TEST_F(MemoryWatchTest, OneVariableThatMakesNoSenseIsANote) {
  const std::int32_t periods = -7;
  const std::uint64_t lists = 8;
  job_.variables["nPeriodic"] = {{reinterpret_cast<std::uintptr_t>(&periods), sizeof periods}};
  job_.variables["papPeriodic"] = {{reinterpret_cast<std::uintptr_t>(&lists), sizeof lists}};
  watch_.read({job_});
  const IocSample sample = told();
  EXPECT_THAT(sample.notes, Contains("scan lists not known: nPeriodic is -7"));
  EXPECT_THAT(sample.notes, Contains("queues not known: no symbol callbackQueue was found"));
  EXPECT_TRUE(sample.memory->records);
}

TEST_F(MemoryWatchTest, ASeverityThatIsNoneIsANote) {
  records_[3].severity = 23;
  watch_.read({job_});
  const IocSample sample = told();
  EXPECT_FALSE(sample.memory->records);
  EXPECT_THAT(sample.notes, Contains("states of records not known: record R: its severity is 23"));
}

TEST_F(MemoryWatchTest, NothingIsToldOfAnotherDatabaseOrOfAnEndedIoc) {
  watch_.read({job_});
  std::vector<IocSample> iocs{ioc(), ioc(), ioc()};
  iocs[0].database = std::make_shared<Database>(*job_.database);
  iocs[1].up = false;
  iocs[2].pid = 1;
  watch_.add_to(iocs);
  for (const IocSample& each : iocs) EXPECT_FALSE(each.memory);
  EXPECT_TRUE(told().memory);
  watch_.read({});
  EXPECT_FALSE(told().memory) << "it is watched no more";
}

TEST_F(MemoryWatchTest, OfAStoppedIocAllStaysAsItWas) {
  records_[5].active = 1;
  watch_.read({job_});
  const auto told_before = told().memory;
  job_.is_held = true;
  records_[5].active = 0;
  watch_.read({job_});
  EXPECT_EQ(told().memory->records->time_seconds, told_before->records->time_seconds);
  EXPECT_EQ(told().memory->records->stuck, 1u) << "it is not read";
  job_.is_held = false;
  records_[5].active = 1;
  watch_.read({job_});
  const auto memory = told().memory;
  ASSERT_EQ(memory->records->longest_stuck.size(), 1u);
  EXPECT_GT(memory->records->longest_stuck[0].seconds,
            told_before->records->longest_stuck[0].seconds)
      << "the stop is no new start";
}

TEST_F(MemoryWatchTest, CountsOfAnotherLifeAreNotThisOnes) {
  static const char kName[] = ".1 second";
  iocs::layout::PeriodicScanList list{};
  list.period = 0.1;
  list.name = reinterpret_cast<std::uintptr_t>(kName);
  list.overruns = 7;
  const std::int32_t periods = 1;
  const auto place = reinterpret_cast<std::uintptr_t>(&list);
  const auto* const pointers = &place;
  job_.variables["nPeriodic"] = {{reinterpret_cast<std::uintptr_t>(&periods), sizeof periods}};
  job_.variables["papPeriodic"] = {{reinterpret_cast<std::uintptr_t>(&pointers), sizeof pointers}};
  const auto overruns = [&] {
    watch_.read({job_});
    return told().memory->scan_lists->at(0).overruns;
  };
  EXPECT_EQ(overruns(), 7u);
  job_.serial = 2;
  list.overruns = 9;
  EXPECT_EQ(overruns(), 2u);
  EXPECT_EQ(overruns(), 2u);
}

TEST_F(MemoryWatchTest, AnotherProcessWithThePidIsNotRead) {
  ++job_.id.start_ticks;
  watch_.read({job_});
  const IocSample sample = told();
  EXPECT_FALSE(sample.memory->records);
  EXPECT_THAT(sample.notes, Contains(HasSubstr("the process has ended")));
}

TEST_F(MemoryWatchTest, RecordsThatThereWasNoTimeToReadAreNotTold) {
  MemoryWatch hasty(std::make_shared<iocs::ProcessReader>(RootedFs("/")), 0ms, 0ms);
  hasty.read({job_});
  std::vector<IocSample> iocs{ioc()};
  hasty.add_to(iocs);
  EXPECT_FALSE(iocs[0].memory);
}

}  // namespace
}  // namespace ioc_exporter::records

#include "records/memory/record_states.h"

#include <gmock/gmock.h>
#include <sys/mman.h>

#include <cstring>
#include <limits>
#include <set>

#include "support/value_of.h"
#include "unit/iocs/database_image.h"
#include "unit/iocs/variables_image.h"

namespace ioc_exporter::records {
namespace {

using namespace iocs;

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using Clock = RecordStates::Clock;

constexpr std::uint16_t kTimeAt = 168;
constexpr auto kForever = Clock::time_point::max();

class RecordStatesTest : public testing::Test {
 protected:
  RecordStatesTest() : memory_(iocs::own_memory()) {
    offsets_.sevr = kSevrAt;
    offsets_.pact = kPactAt;
    offsets_.time = kTimeAt;
  }

  // Records with severities 0, 1, 2, 3, 0, ...; none is active.
  RecordStates states(std::size_t count, std::chrono::milliseconds stuck_after = 1h) {
    database_ = std::make_shared<Database>();
    for (std::size_t i = 0; i < count; ++i) {
      RecordImage& image = images_.emplace_back();
      std::memset(static_cast<void*>(&image), 0, sizeof image);
      put(i, kSevrAt, static_cast<std::uint16_t>(i % 4));
      put(i, kTimeAt, std::uint64_t{1});
      std::string name = "R";
      name += std::to_string(i);
      database_->records.push_back({address_of(&image), std::move(name), 0});
    }
    return RecordStates(database_, offsets_, stuck_after);
  }

  template <class T>
  void put(std::size_t record, std::size_t at, T value) {
    std::memcpy(reinterpret_cast<char*>(&images_[record]) + at, &value, sizeof value);
  }
  void set_active(std::size_t record, bool active) {
    put(record, kPactAt, static_cast<std::uint8_t>(active ? 1 : 0));
  }

  RecordStatesSample look(RecordStates& states) {
    auto done = states.read(*memory_, kForever);
    EXPECT_TRUE(done) << done.error().message();
    return states.sample().value_or(RecordStatesSample{});
  }

  std::unique_ptr<iocs::ProcMemory> memory_;
  iocs::FieldOffsets offsets_;
  std::shared_ptr<Database> database_;  // of the last states()
  std::deque<RecordImage> images_;
};

RecordSample processed(std::uint32_t record, std::uint64_t times) {
  RecordSample sample;
  sample.record = record;
  sample.processed = times;
  return sample;
}

TEST_F(RecordStatesTest, CountsSeveritiesAndActiveRecords) {
  RecordStates all = states(2003);
  EXPECT_FALSE(all.sample());
  set_active(3, true);
  set_active(2002, true);
  const auto sample = look(all);
  EXPECT_THAT(sample.by_severity, ElementsAre(501, 501, 501, 500));
  EXPECT_EQ(sample.in_flight, 2u);
  EXPECT_EQ(sample.stuck, 0u);
}

TEST_F(RecordStatesTest, GoesOnWhereTheTimeWasUp) {
  RecordStates all = states(2003);
  const auto past = Clock::now() - 1s;
  int calls = 1;
  for (must_succeed(all.read(*memory_, past)); !all.sample() && calls < 10; ++calls)
    must_succeed(all.read(*memory_, past));
  EXPECT_EQ(calls, 4);  // of 512 records each
  EXPECT_THAT(all.sample()->by_severity, ElementsAre(501, 501, 501, 500));
}

TEST_F(RecordStatesTest, ARecordThatStaysActiveIsStuck) {
  RecordStates all = states(5, 0ms);
  for (const std::size_t record : {1u, 2u, 4u}) set_active(record, true);
  look(all);
  set_active(2, false);
  put(4, kTimeAt, std::uint64_t{77});  // it completed, and was started again
  const auto second = Clock::now();
  const auto sample = look(all);
  EXPECT_EQ(sample.in_flight, 2u);
  EXPECT_EQ(sample.stuck, 2u) << "no time is allowed";
  ASSERT_EQ(sample.longest_stuck.size(), 2u);
  EXPECT_EQ(sample.longest_stuck[0].record, 1u);
  EXPECT_EQ(sample.longest_stuck[1].record, 4u);
  const double since_second = std::chrono::duration<double>(Clock::now() - second).count();
  EXPECT_LE(sample.longest_stuck[1].seconds, since_second);
  EXPECT_GT(sample.longest_stuck[0].seconds, sample.longest_stuck[1].seconds);
}

// With the same TIME: its device sets none.
TEST_F(RecordStatesTest, ARecordThatWasProcessedAgainIsActiveAnew) {
  RecordStates all = states(3, 0ms);
  for (const std::size_t record : {0u, 1u, 2u}) set_active(record, true);
  look(all);
  all.take_counts(std::vector{processed(0, 7), processed(1, 5)});  // of record 2 nothing so far
  look(all);
  const auto later = Clock::now() + 1h;
  all.take_counts(std::vector{processed(0, 7), processed(1, 6), processed(2, 1)}, later);
  const auto sample = look(all);
  ASSERT_EQ(sample.longest_stuck.size(), 3u);
  EXPECT_EQ(sample.longest_stuck[0].record, 0u);
  EXPECT_GT(sample.longest_stuck[0].seconds, 0);
  EXPECT_EQ(sample.longest_stuck[1].seconds, 0) << "since a time that is to come";
  EXPECT_EQ(sample.longest_stuck[2].seconds, 0);
}

TEST_F(RecordStatesTest, OneThatWaitsByRightIsNotStuck) {
  RecordStates all = states(5, 0ms);
  constexpr std::uint16_t kDoubleAt = 240, kFloatAt = 248;
  database_->types = {"calcout", "sscan", "ai"};
  database_->delay_fields = {{{kDoubleAt, 8}, {kFloatAt, 4}}, {}, {}};
  database_->records[3].type = 1;
  database_->records[4].type = 2;
  put(0, kDoubleAt, 3600.0);
  put(1, kFloatAt, 3600.0f);
  for (std::size_t i = 0; i < 5; ++i) set_active(i, true);
  const auto records_of = [](const std::vector<ActiveRecord>& active) {
    std::set<std::uint32_t> records;
    for (const ActiveRecord& one : active) records.insert(one.record);
    return records;
  };
  auto sample = look(all);
  EXPECT_THAT(records_of(sample.longest_waiting), ElementsAre(0, 1, 3));
  EXPECT_THAT(records_of(sample.longest_stuck), ElementsAre(2, 4));
  put(0, kDoubleAt, std::numeric_limits<double>::quiet_NaN());
  sample = look(all);
  EXPECT_THAT(records_of(sample.longest_waiting), ElementsAre(1, 3));
  EXPECT_EQ(sample.stuck, 3u);
}

TEST_F(RecordStatesTest, OneThatNeverProcessedIsNotStuck) {
  RecordStates all = states(4, 0ms);
  for (const std::size_t record : {0u, 1u, 3u}) {
    set_active(record, true);
    put(record, kTimeAt, std::uint64_t{0});
  }
  look(all);
  all.take_counts(std::vector{processed(3, 1)});  // its first processing does not come to its end
  auto sample = look(all);
  EXPECT_EQ(sample.in_flight, 3u);
  EXPECT_EQ(sample.stuck, 1u);
  EXPECT_EQ(sample.longest_stuck.at(0).record, 3u);
  EXPECT_EQ(sample.never_processed, 2u);
  EXPECT_THAT(sample.some_never_processed, ElementsAre(0, 1));
  put(1, kTimeAt, std::uint64_t{9});
  sample = look(all);
  EXPECT_EQ(sample.stuck, 2u);
  EXPECT_THAT(sample.some_never_processed, ElementsAre(0));
}

TEST_F(RecordStatesTest, ManyStuckRecordsAreCountedButNotAllTold) {
  RecordStates all = states(307, 0ms);
  for (std::size_t i = 0; i < 307; ++i) set_active(i, true);
  const auto sample = look(all);
  EXPECT_EQ(sample.stuck, 307u);
  EXPECT_EQ(sample.longest_stuck.size(), RecordStates::kMostNamed);
}

TEST_F(RecordStatesTest, ASeverityThatIsNoneIsAnError) {
  RecordStates all = states(5);
  look(all);
  put(3, kSevrAt, std::uint16_t{4});
  EXPECT_EQ(error_of(all.read(*memory_, kForever)), "record R3: its severity is 4");
  EXPECT_TRUE(all.sample()) << "as before";
}

TEST_F(RecordStatesTest, ARecordThatIsNotMappedIsAnError) {
  states(600);
  auto database = std::make_shared<Database>();
  for (const RecordImage& image : images_)
    database->records.push_back({address_of(&image), "R", 0});
  void* const hole = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ::munmap(hole, 4096);
  database->records[300].address = address_of(static_cast<char*>(hole));
  RecordStates all(std::move(database), offsets_, 1h);
  EXPECT_THAT(error_of(all.read(*memory_, kForever)), HasSubstr("not mapped"));
}

}  // namespace
}  // namespace ioc_exporter::records

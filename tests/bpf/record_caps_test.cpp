// Tables that all IOCs share: who makes up what fills them takes nothing from others.
#include <gtest/gtest.h>

#include "fake_ioc.h"
#include "records/probe/process.h"
#include "records/probe/threads.h"
#include "support/value_of.h"

namespace ioc_exporter::records {
namespace {

using test::FakeIoc;

// One probe for all, with the smallest tables: 64 of each.
class RecordCapsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (::geteuid() != 0) return;
    RecordProcessOptions options;
    options.max_threads = 64;  // and 64 more that find their place taken
    options.causes = options.scan_lists = options.scan_names = 64;
    probe_ = std::make_unique<RecordProcess>(value_of(RecordProcess::start(options)));
  }
  static void TearDownTestSuite() { probe_.reset(); }
  void SetUp() override {
    if (!probe_) GTEST_SKIP() << "needs root to load BPF programs";
  }
  void TearDown() override {
    if (!probe_) return;
    for (std::uint32_t slot = 0; slot < 8; ++slot) {
      probe_->unwatch({slot});
      EXPECT_TRUE(forget_scan_lists(maps(), slot));
    }
    free_threads();
    for (std::uint32_t holder = 0; holder < IOCX_RECORD_HOLDERS; ++holder)
      for (std::uint32_t table = 0; table < IOCX_CAPPED_TABLES; ++table)
        EXPECT_EQ(maps().caps.held(table, holder), 0u) << table << " of " << holder;
  }

  static const RecordMaps& maps() { return probe_->object().maps(); }
  static void free_threads() {
    EXPECT_TRUE(probe_->free_ended_threads([](std::int32_t, std::int32_t) { return false; }));
  }
  static std::uint32_t watch(const FakeIoc& ioc, std::vector<std::string> scan_periods = {}) {
    RecordTarget target = ioc.target(512, true);
    target.extras = {
        {RecordProgram::scan_list, FakeIoc::offset_of("scanList"), FakeIoc::ending("scanList")},
        {RecordProgram::put, FakeIoc::offset_of("dbPut")},
        {RecordProgram::notify, FakeIoc::offset_of("dbProcessNotify")}};
    target.scan_periods = std::move(scan_periods);
    const auto slot = probe_->watch(target);
    EXPECT_TRUE(slot) << slot.error().message();
    return slot ? *slot : 0;
  }
  static std::uint64_t timed(std::uint32_t slot) { return probe_->counts()->at(slot).timed; }
  static std::uint64_t processed(std::uint32_t slot) {
    std::uint64_t sum = 0;
    for (const RawRecord& record : *probe_->collect(slot)) sum += record.stats.processed;
    return sum;
  }

  static inline std::unique_ptr<RecordProcess> probe_;
};

TEST_F(RecordCapsTest, ThreadsOfOneTakeNoPlacesFromOthers) {
  FakeIoc hog, other;
  const auto hogs = watch(hog), others = watch(other);
  constexpr int kRounds = 10;
  std::uint64_t of_hog = 0, of_others = 0;
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < 2; ++i) of_hog = hog.ask("threads 100 1");
    of_others = other.ask("threads 3 5");
    EXPECT_EQ(timed(others), of_others) << "round " << round;
    free_threads();
    EXPECT_EQ(maps().caps.held(IOCX_HELD_THREADS), 0u);
    EXPECT_EQ(maps().caps.held(IOCX_HELD_OVERFLOW_THREADS), 0u);
  }
  EXPECT_EQ(of_hog, kRounds * 200u);
  EXPECT_EQ(processed(hogs), of_hog);
  EXPECT_GE(timed(hogs), kRounds * 32u);
  EXPECT_LT(timed(hogs), of_hog);
}

// The stack of a thread is held by the IOC that it is now.
TEST_F(RecordCapsTest, AThreadOfAnotherIocThanBeforeBringsItsPlaceAlong) {
  FakeIoc ioc;
  const auto first = watch(ioc);
  ioc.ask("call 0 1");
  probe_->unwatch({first});
  EXPECT_EQ(maps().caps.held(IOCX_HELD_THREADS), 1u);
  const auto again = watch(ioc);
  ioc.ask("call 0 1");
  EXPECT_EQ(timed(again), 1u);
  EXPECT_EQ(maps().caps.held(IOCX_HELD_THREADS), 1u);
}

TEST_F(RecordCapsTest, CausesOfOneTakeNoRoomFromOthers) {
  FakeIoc hog, other;
  watch(hog);
  const auto slot = watch(other);
  hog.chain(99);
  for (const char* start : {"0", "50", "90"}) hog.ask(std::string("call ") + start + " 1");
  hog.ask("many 200");
  other.ask({"set 0 link 1", "call 0 5"});
  std::map<std::uint64_t, std::uint64_t> causes;
  const auto all_causes = *probe_->causes();
  ASSERT_TRUE(all_causes.contains(slot));
  for (const RawCause& cause : all_causes.at(slot)) causes[cause.address] += cause.count;
  EXPECT_EQ(causes,
            (std::map<std::uint64_t, std::uint64_t>{{other.record(0), 5}, {other.record(1), 5}}));
}

TEST_F(RecordCapsTest, ScanListsOfOneTakeNoRoomFromOthers) {
  FakeIoc hog, other;
  watch(hog);
  const auto slot = watch(other);
  hog.ask("name scan-0.1");
  for (int i = 0; i < 3; ++i) {  // made by threads that are gone
    hog.ask("scan 100 1");
    free_threads();
  }
  EXPECT_GE(maps().caps.held(IOCX_HELD_SCAN_LISTS), 32u);
  other.ask({"name scan-0.1", "scan 3 2"});
  const auto lists = value_of(read_scan_lists(maps()));
  ASSERT_TRUE(lists.contains(slot));
  EXPECT_EQ(lists.at(slot).size(), 3u);
}

// However many another begins.
TEST_F(RecordCapsTest, PutsWithCallbackThatWaitAreNotForgottenForAnothersMany) {
  FakeIoc hog, other, root;
  const auto slot = watch(other), roots = watch(root);
  watch(hog);
  for (FakeIoc* ioc : {&hog, &other, &root}) ioc->ask("name CAS-client");
  other.ask("notify 1");
  root.ask("notify 1");
  hog.ask("notify " + std::to_string(4 * IOCX_MAX_NOTIFIES));
  for (FakeIoc* ioc : {&other, &root}) {
    ioc->ask("name cbLow");
    ioc->ask("restart");
  }
  for (const auto number : {slot, roots}) {
    const auto records = *probe_->collect(number);
    EXPECT_EQ(only(records).stats.puts[IOCX_PUT_CA], 1u);
    EXPECT_EQ(only(records).stats.puts[IOCX_PUT_OTHER], 0u);
  }
}

TEST_F(RecordCapsTest, PeriodsThatOneMakesUpTakeNoNamesOfScansFromOthers) {
  FakeIoc hog, other;
  std::vector<std::string> made_up;
  for (int i = 0; i < 100; ++i) made_up.push_back("0." + std::to_string(1000 + i));
  watch(hog, made_up);
  const auto slot = watch(other, {"0.3", "0.7"});
  for (const char* name : {"name scan-0.3", "name scan-0.7"}) {
    other.ask(name);
    other.ask("threads 1 5");
  }
  const auto causes = *probe_->causes();
  ASSERT_TRUE(causes.contains(slot));
  std::map<std::string, std::uint64_t> by_cause;
  for (const RawCause& cause : causes.at(slot)) by_cause[cause.cause] += cause.count;
  EXPECT_EQ(by_cause, (std::map<std::string, std::uint64_t>{{"scan_0.3", 5}, {"scan_0.7", 5}}));
}

}  // namespace
}  // namespace ioc_exporter::records

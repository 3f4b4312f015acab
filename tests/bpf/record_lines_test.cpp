// Records that are called often are counted in lines of their own: what tests see are the sums.
#include "record_process_fixture.h"

#include "support/value_of.h"

namespace ioc_exporter::records {
namespace {

using std::chrono::hours;

constexpr std::uint32_t kMade = 5'000;  // records

class RecordLinesTest : public RecordProcessTest {
 protected:
  static bool done(const Result<bool>& result) { return result && *result; }
  std::uint32_t chunks() const { return probe_->object().maps().caps.held(IOCX_HELD_LINES); }
  void expect_transitions(std::uint32_t slot, std::array<std::uint64_t, IOCX_SEVERITIES> wanted) {
    EXPECT_EQ(counts(slot).transitions, wanted);
  }
};

TEST_P(RecordLinesTest, ARecordIsCountedOnBothSidesOfItsLine) {
  FakeIoc ioc;
  const auto slot = watch(ioc);
  ioc.ask("call 5 15");
  EXPECT_EQ(chunks(), 0u);
  ioc.ask("call 5 1");
  EXPECT_EQ(chunks(), 1u);
  ioc.ask("call 5 101");
  auto seen = stats(slot, ioc.record(5));
  EXPECT_EQ(seen.processed, 117u);
  EXPECT_EQ(seen.untimed, 0u);
  EXPECT_EQ(timed(seen), 117u);
  EXPECT_EQ(seen.self_ns, seen.sum_ns);
  ASSERT_TRUE(end_window(slot, false));
  ioc.ask("call 5 211");
  const auto sum = seen.sum_ns;
  seen = stats(slot, ioc.record(5));
  EXPECT_EQ(seen.processed, 328u);
  EXPECT_EQ(seen.untimed, 211u);
  EXPECT_EQ(timed(seen), 117u);
  EXPECT_EQ(seen.sum_ns, sum);
  EXPECT_EQ(counts(slot).timed, 117u);
  EXPECT_EQ(chunks(), 1u);
}

TEST_P(RecordLinesTest, CallsOverTheRoomOfASlotAreStillCounted) {
  FakeIoc ioc;
  const auto slot = watch(ioc);
  ioc.ask("call 5 23");
  const std::uint32_t weight = IOCX_LINE_SLOT_MOST / 2;
  ASSERT_TRUE(done(probe_->time_window(slot, weight, hours(1))));
  ioc.ask("call 5 31");
  EXPECT_EQ(timed(stats(slot, ioc.record(5))), 23u + 31u * std::uint64_t{weight});
}

TEST_P(RecordLinesTest, AChangeOfSeverityIsSeenOnceWhereverItIsKept) {
  FakeIoc ioc;
  const auto slot = watch(ioc);
  ioc.ask({"call 5 15", "set 5 sevr 1"});
  ioc.ask("call 5 1");  // with it a line is made
  expect_transitions(slot, {0, 1, 0, 0});
  ioc.ask("call 5 2");
  expect_transitions(slot, {0, 1, 0, 0});
  ioc.ask({"set 5 sevr 2", "call 5 2"});
  expect_transitions(slot, {0, 1, 1, 0});
  ASSERT_TRUE(end_window(slot, false));
  ioc.ask("call 5 2");
  expect_transitions(slot, {0, 1, 1, 0});
  ioc.ask({"set 5 sevr 0", "call 5 2"});
  expect_transitions(slot, {1, 1, 1, 0});
  ASSERT_TRUE(done(probe_->time_all(slot)));
  ioc.ask({"call 5 2", "set 5 sevr 3", "call 5 2"});
  expect_transitions(slot, {1, 1, 1, 1});
}

TEST_P(RecordLinesTest, AnAsynchronousRecordLeavesItsLine) {
  FakeIoc ioc;
  const auto slot = watch(ioc);
  ioc.ask({"set 3 sevr 1", "call 3 23", "set 3 async 1"});
  ioc.ask("call 3 2");  // the second one finds it active
  ioc.ask({"set 3 pact 0", "set 3 sevr 2", "call 3 1"});
  const auto seen = stats(slot, ioc.record(3));
  EXPECT_EQ(seen.processed, 25u);
  EXPECT_EQ(timed(seen), 25u);
  EXPECT_EQ(seen.skipped_active, 1u);
  EXPECT_EQ(seen.asynchronous, 1u);
  EXPECT_GT(seen.async_start_ns, 0u);
  EXPECT_EQ(seen.line, 0u);
  expect_transitions(slot, {0, 0, 1, 0});
}

TEST_P(RecordLinesTest, LinesEndWithTheMapOfTheirRecords) {
  FakeIoc ioc;
  const auto slot = watch(ioc, 1);
  ioc.ask("call 1 23");
  ASSERT_TRUE(probe_->update(slot, ioc.target(128, true)));
  EXPECT_EQ(stats(slot, ioc.record(1)).processed, 23u);
  ioc.ask("call 1 7");
  EXPECT_EQ(stats(slot, ioc.record(1)).line, 0u);
  ioc.ask("call 1 31");
  EXPECT_NE(stats(slot, ioc.record(1)).line, 0u);
  EXPECT_EQ(stats(slot, ioc.record(1)).processed, 61u);
  EXPECT_EQ(timed(stats(slot, ioc.record(1))), 61u);
}

TEST_P(RecordLinesTest, ManyRecordsInTurn) {
  FakeIoc ioc;
  const auto slot = watch(ioc, kMade);
  ioc.ask("many " + std::to_string(kMade));
  for (int i = 0; i < 12; ++i) ioc.ask("again");
  ASSERT_TRUE(end_window(slot, false));
  for (int i = 0; i < 10; ++i) ioc.ask("again");
  const auto records = value_of(probe_->collect(slot));
  EXPECT_EQ(records.size(), kMade);
  for (const RawRecord& record : records) {
    EXPECT_EQ(record.stats.processed, 23u);
    EXPECT_EQ(record.stats.untimed, 10u);
    EXPECT_EQ(timed(record.stats), 13u);
  }
  EXPECT_EQ(chunks(), (kMade + IOCX_CHUNK_LINES - 1) / IOCX_CHUNK_LINES);
}

INSTANTIATE_TEST_SUITE_P(ByEnds, RecordLinesTest, ::testing::Values(Mode{true, true, true}));

}  // namespace
}  // namespace ioc_exporter::records

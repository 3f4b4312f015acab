// What sets records off, of an IOC that is looked at in slices of time: how often each has, and
// whose calls it was.
#include <map>
#include <utility>

#include "record_process_fixture.h"
#include "records/counters.h"
#include "records/scan_passes.h"

namespace ioc_exporter::records {
namespace {

using Keeps = RecordProcess::Keeps;

// Of CLOCK_MONOTONIC: when nothing has been under way for long.
constexpr std::uint64_t kQuiet = UINT64_MAX;

class RecordTriggersTest : public RecordProcessTest {
 protected:
  std::uint32_t watch_with_triggers(const FakeIoc& ioc) {
    RecordTarget target = ioc.target(128, GetParam().one_read);
    target.extras.push_back(
        {RecordProgram::scan_list, ioc.scan_list_offset(), FakeIoc::ending("scanList")});
    target.extras.push_back({RecordProgram::put, ioc.put_offset()});
    target.extras.push_back({RecordProgram::completion, ioc.completion_offset()});
    auto slot = probe_->watch(target);
    EXPECT_TRUE(slot) << slot.error().message();
    slot_ = slot ? *slot : 0;
    return slot_;
  }
  void TearDown() override {
    if (probe_) {
      EXPECT_TRUE(forget_scan_lists(probe_->object().maps(), slot_));
    }
    RecordProcessTest::TearDown();
  }
  PassModel::Lists passes_of(std::uint32_t slot, bool puts = true) {
    auto lists = read_passes(probe_->object().maps(), slot, probe_->generation(slot), puts, kQuiet);
    EXPECT_TRUE(lists);
    return lists ? *lists : PassModel::Lists();
  }
  // In a slice, of the record: by trigger.
  std::map<PassModel::Trigger, std::uint64_t> calls_of(std::uint32_t slot, std::uint64_t record) {
    const auto records = probe_->collect(slot);
    EXPECT_TRUE(records);
    PassModel::Calls calls;
    add_triggers(calls, before_, *records);
    return {calls[record].by.begin(), calls[record].by.end()};
  }
  void begin_slice(std::uint32_t slot) {
    before_ = triggers_of(*probe_->collect(slot));
    ASSERT_TRUE(probe_->resume(slot, Keeps::passes_and_puts));
  }
  using By = std::map<PassModel::Trigger, std::uint64_t>;

 private:
  std::uint32_t slot_ = 0;
  TriggerCounts before_;
};

// Of an IOC that is looked at in slices: in the slices besides all else, in the pauses alone.
TEST_P(RecordTriggersTest, WhatSetsRecordsOffIsCountedInSlicesAndPauses) {
  FakeIoc ioc;
  const auto slot = watch_with_triggers(ioc);
  ioc.ask("name cbLow");
  using Sums = std::pair<std::uint64_t, std::uint64_t>;  // of passes, of puts
  const auto counted = [&](bool puts) {
    Sums sums;
    for (const auto& [trigger, passes] : passes_of(slot, puts))
      ((trigger & IOCX_TRIGGER_PUT) != 0 ? sums.second : sums.first) += passes.ended;
    return sums;
  };
  const auto work = [&](int passes, int puts) {
    ioc.ask("scan 1 " + std::to_string(passes));
    ioc.ask("puts 1 " + std::to_string(puts));
  };
  work(3, 5);
  EXPECT_EQ(counted(true), Sums(0, 0)) << "it is not looked at in slices";
  ASSERT_TRUE(probe_->pause(slot, Keeps::passes_and_puts));
  work(7, 11);
  EXPECT_EQ(counted(true), Sums(7, 11));
  EXPECT_TRUE(probe_->counts_puts(slot));
  ASSERT_TRUE(probe_->resume(slot, Keeps::passes_and_puts));
  const auto puts = [&] {
    const auto record = stats(slot, ioc.record(0));
    return std::accumulate(std::begin(record.puts), std::end(record.puts), std::uint64_t{0});
  };
  const std::uint64_t before = puts();
  work(2, 4);
  EXPECT_EQ(counted(true), Sums(9, 15));
  EXPECT_EQ(puts() - before, 4u);
  ASSERT_TRUE(probe_->pause(slot, Keeps::passes));
  work(1, 8);
  EXPECT_EQ(counted(false), Sums(10, 0));
  EXPECT_TRUE(probe_->counts_passes(slot));
  EXPECT_FALSE(probe_->counts_puts(slot));
  ASSERT_TRUE(probe_->resume(slot));
  work(6, 6);
  EXPECT_EQ(counted(true), Sums(10, 15)) << "in no slice";
  EXPECT_TRUE(forget_scan_lists(probe_->object().maps(), slot));
  EXPECT_EQ(counted(true), Sums(0, 0));
}

// Whatever calls are within them, and however deep.
TEST_P(RecordTriggersTest, EachCallIsOfWhatHasSetItOff) {
  FakeIoc ioc;
  const auto slot = watch_with_triggers(ioc);
  // 0 is scanned, processes 1 in turn, and writes to 2, which processes 3.
  ioc.ask("set 0 link 1");
  ioc.ask("set 0 puts 2");
  ioc.ask("set 2 link 3");
  ioc.ask("set 4 link 5");
  ASSERT_TRUE(probe_->pause(slot, Keeps::passes_and_puts));
  begin_slice(slot);
  ioc.ask("name cbLow");
  ioc.ask("scan 1 47");
  ioc.ask("field 4 5");
  ioc.ask("call 4 3");  // by nothing that is known
  const PassModel::Trigger list = ioc.record(0), put = ioc.record(2) | IOCX_TRIGGER_PUT;
  EXPECT_EQ(calls_of(slot, ioc.record(0)), By({{list, 47}}));
  EXPECT_EQ(calls_of(slot, ioc.record(1)), By({{list, 47}}));
  EXPECT_EQ(calls_of(slot, ioc.record(2)), By({{put, 47}}));
  EXPECT_EQ(calls_of(slot, ioc.record(3)), By({{put, 47}}));
  for (const int record : {4, 5})
    EXPECT_EQ(calls_of(slot, ioc.record(record)), By({{ioc.record(4) | IOCX_TRIGGER_PUT, 5}}));
  EXPECT_EQ(stats(slot, ioc.record(5)).processed, 8u);
  const auto passes = passes_of(slot);
  EXPECT_EQ(passes.at(list).ended, 47u);
  EXPECT_EQ(passes.at(put).ended, 47u);
}

TEST_P(RecordTriggersTest, CallsOfAPeriodicScanAreOfItsThread) {
  FakeIoc ioc;
  const auto slot = watch_with_triggers(ioc);
  ASSERT_TRUE(probe_->pause(slot, Keeps::passes));
  begin_slice(slot);
  ioc.ask("name scan-0.1");
  ioc.ask("scan 1 9");
  const auto calls = calls_of(slot, ioc.record(0));
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls.begin()->second, 9u);
  const auto passes = passes_of(slot);
  ASSERT_TRUE(passes.contains(calls.begin()->first));
  EXPECT_EQ(passes.at(calls.begin()->first).ended, 9u);
}

TEST_P(RecordTriggersTest, WhatACompletionProcessesIsOfTheRecordThatCompletes) {
  FakeIoc ioc;
  const auto slot = watch_with_triggers(ioc);
  ioc.ask("set 0 async 1");
  ASSERT_TRUE(probe_->pause(slot, Keeps::passes_and_puts));
  begin_slice(slot);
  ioc.ask("call 0 1");
  ioc.ask("set 0 link 1");
  ioc.ask("set 1 link 2");
  ioc.ask("complete 0 1");
  ioc.ask("set 0 async 0");
  ioc.ask("call 0 1");  // not within a completion any more
  const By wanted({{ioc.record(0) | IOCX_TRIGGER_COMPLETION, 1}});
  EXPECT_EQ(calls_of(slot, ioc.record(0)), By());
  EXPECT_EQ(calls_of(slot, ioc.record(1)), wanted);
  EXPECT_EQ(calls_of(slot, ioc.record(2)), wanted);
}

// A third trigger waits until another has not come for a slice.
TEST_P(RecordTriggersTest, ARecordHasTwoTriggersAtATime) {
  FakeIoc ioc;
  const auto slot = watch_with_triggers(ioc);
  ioc.ask("name cbLow");
  for (const int from : {0, 1, 2}) ioc.ask("set " + std::to_string(from) + " link 9");
  ASSERT_TRUE(probe_->pause(slot, Keeps::passes_and_puts));
  begin_slice(slot);
  for (const int from : {0, 1, 2}) ioc.ask("field " + std::to_string(from) + " 3");
  const auto put = [&](int record) { return ioc.record(record) | IOCX_TRIGGER_PUT; };
  EXPECT_EQ(calls_of(slot, ioc.record(9)), By({{put(0), 3}, {put(1), 3}}));
  ASSERT_TRUE(probe_->pause(slot, Keeps::passes_and_puts));
  begin_slice(slot);
  for (const int from : {1, 2}) ioc.ask("field " + std::to_string(from) + " 5");
  EXPECT_EQ(calls_of(slot, ioc.record(9)), By({{put(1), 5}, {put(2), 5}}));
}

// However many records are written to, there is room for lists.
TEST_P(RecordTriggersTest, WritesTakeAQuarterOfTheTable) {
  start({.triggers = 32});
  FakeIoc ioc;
  const auto slot = watch_with_triggers(ioc);
  ioc.ask("name cbLow");
  ASSERT_TRUE(probe_->pause(slot, Keeps::passes_and_puts));
  ioc.ask("puts 9 3");
  ioc.ask("scan 5 3");
  const auto sorted = [&] {
    std::pair<std::size_t, std::size_t> lists_and_puts;
    for (const auto& [trigger, passes] : passes_of(slot)) {
      EXPECT_EQ(passes.ended, 3u);
      ((trigger & IOCX_TRIGGER_PUT) != 0 ? lists_and_puts.second : lists_and_puts.first) += 1;
    }
    return lists_and_puts;
  };
  EXPECT_EQ(sorted(), std::pair(std::size_t{5}, std::size_t{8}));
  const auto& maps = probe_->object().maps();
  EXPECT_TRUE(forget_triggers(maps, slot, IOCX_TRIGGER_PUT));
  EXPECT_EQ(sorted(), std::pair(std::size_t{5}, std::size_t{0}));
  EXPECT_EQ(maps.shares.held(IOCX_SHARE_TRIGGERS), 5u);
}

TEST_P(RecordTriggersTest, NothingIsNotedWhereItIsNotWanted) {
  FakeIoc ioc;
  const auto slot = watch_with_triggers(ioc);
  ioc.ask("name cbLow");
  ioc.ask("scan 1 3");
  ioc.ask("field 4 5");
  EXPECT_EQ(stats(slot, ioc.record(0)).triggers.trigger[0], 0u);
  EXPECT_EQ(stats(slot, ioc.record(4)).triggers.trigger[0], 0u);
  EXPECT_TRUE(passes_of(slot).empty());
}

INSTANTIATE_TEST_SUITE_P(ByEnds, RecordTriggersTest,
                         ::testing::Values(Mode{true, true, 0, Durations::by_ends}));
INSTANTIATE_TEST_SUITE_P(TwoReads, RecordTriggersTest, ::testing::Values(Mode{false, false, 0}));
INSTANTIATE_TEST_SUITE_P(SessionOneRead, RecordTriggersTest,
                         ::testing::Values(Mode{true, true, 10}));
INSTANTIATE_TEST_SUITE_P(Off, RecordTriggersTest,
                         ::testing::Values(Mode{true, true, 0, Durations::off}));

}  // namespace
}  // namespace ioc_exporter::records

// Exact counts of the record probes.
#include "record_process_fixture.h"

namespace ioc_exporter::records {
namespace {

TEST_P(RecordProcessTest, CountsEachCallOnce) {
  FakeIoc ioc;
  const auto slot = watch(ioc);
  EXPECT_EQ(ioc.ask("call 5 23"), 23u);
  const auto seen = stats(slot, ioc.record(5));
  EXPECT_EQ(timed(seen), 23u);
  EXPECT_EQ(seen.untimed, 0u);
  EXPECT_EQ(seen.processed, 23u);
  EXPECT_EQ(seen.self_ns, seen.sum_ns);
  EXPECT_GT(seen.sum_ns, 0u);
  EXPECT_EQ(probe_->collect(slot)->size(), 1u);
}

TEST_P(RecordProcessTest, SelfTimeLeavesOutRecordsProcessedInTurn) {
  FakeIoc ioc;
  const auto slot = watch(ioc);
  ioc.ask({"set 0 link 1", "set 1 link 2"});
  EXPECT_EQ(ioc.ask("call 0 17"), 51u);
  const auto first = stats(slot, ioc.record(0)), second = stats(slot, ioc.record(1)),
             third = stats(slot, ioc.record(2));
  EXPECT_EQ(timed(first), 17u);
  EXPECT_EQ(timed(second), 17u);
  EXPECT_EQ(timed(third), 17u);
  EXPECT_EQ(third.self_ns, third.sum_ns);
  EXPECT_EQ(first.self_ns, first.sum_ns - second.sum_ns);
  EXPECT_EQ(second.self_ns, second.sum_ns - third.sum_ns);
}

TEST_P(RecordProcessTest, ACallThatFindsTheRecordActiveIsNoProcessing) {
  FakeIoc ioc;
  const auto slot = watch(ioc);
  ioc.ask("set 3 async 1");
  EXPECT_EQ(ioc.ask("call 3 1"), 1u);
  EXPECT_EQ(ioc.ask("call 3 13"), 1u);
  const auto seen = stats(slot, ioc.record(3));
  EXPECT_EQ(timed(seen), 1u);
  EXPECT_EQ(seen.skipped_active, 13u);
  EXPECT_EQ(seen.skipped_disabled, 0u);
}

TEST_P(RecordProcessTest, ACallThatFindsTheRecordDisabledIsNoProcessing) {
  FakeIoc ioc;
  const auto slot = watch(ioc);
  ioc.ask("set 3 disa 1");
  EXPECT_EQ(ioc.ask("call 3 29"), 0u);
  ioc.ask("set 3 disa 0");
  EXPECT_EQ(ioc.ask("call 3 7"), 7u);
  const auto seen = stats(slot, ioc.record(3));
  EXPECT_EQ(timed(seen), 7u);
  EXPECT_EQ(seen.skipped_disabled, 29u);
}

TEST_P(RecordProcessTest, ARecordThatDisablesItselfWasProcessedOnce) {
  FakeIoc ioc;
  const auto slot = watch(ioc);
  ioc.ask("set 3 self_disable 1");
  EXPECT_EQ(ioc.ask("call 3 5"), 1u);
  const auto seen = stats(slot, ioc.record(3));
  EXPECT_EQ(timed(seen), 1u);
  EXPECT_EQ(seen.skipped_disabled, 4u);
}

// dbProcess reads DISA through SDIS after it was entered.
TEST_P(RecordProcessTest, ARecordThatALinkDisablesIsJudgedWhenTheCallReturns) {
  FakeIoc ioc;
  const auto slot = watch(ioc);
  ioc.ask({"set 3 sdis_type 10", "set 3 sdis_value 1"});
  EXPECT_EQ(ioc.ask("call 3 31"), 0u);
  ioc.ask("set 3 sdis_value 0");
  EXPECT_EQ(ioc.ask("call 3 17"), 17u);
  const auto seen = stats(slot, ioc.record(3));
  EXPECT_EQ(timed(seen), 17u);
  EXPECT_EQ(seen.skipped_disabled, 31u);
}

TEST_P(RecordProcessTest, AnAsynchronousRecordThatWasDisabledBeforeIsProcessed) {
  FakeIoc ioc;
  const auto slot = watch(ioc);
  ioc.ask({"set 3 async 1", "set 3 self_disable 1", "set 3 stat 18"});
  EXPECT_EQ(ioc.ask("call 3 1"), 1u);
  const auto seen = stats(slot, ioc.record(3));
  EXPECT_EQ(timed(seen), 1u);
  EXPECT_EQ(seen.skipped_disabled, 0u);
}

// The kernel refuses return probes that nest deeper than 64: those calls are counted without a
// duration.
TEST_P(RecordProcessTest, ChainsDeeperThanTheKernelTimesAreCountedExactly) {
  FakeIoc ioc;
  const auto slot = watch(ioc);
  ioc.chain(99);
  EXPECT_EQ(ioc.ask("call 0 11"), 1100u);
  for (int i = 0; i < 100; ++i) {
    const auto seen = stats(slot, ioc.record(i));
    EXPECT_EQ(timed(seen), i < IOCX_MAX_DEPTH ? 11u : 0u) << i;
    EXPECT_EQ(seen.untimed, i < IOCX_MAX_DEPTH ? 0u : 11u) << i;
  }
  EXPECT_EQ(ioc.ask("call 0 1"), 1200u);
  EXPECT_EQ(all_processed(slot), 1200u);
  // Of a deeper one it is known that a record makes it.
  EXPECT_EQ(counts(slot).causes.at("link"), 99u * 12);
}

TEST_P(RecordProcessTest, ThreadsDoNotDisturbEachOther) {
  FakeIoc ioc;
  const auto slot = watch(ioc);
  for (int i = 0; i < 31; ++i)
    ioc.ask("set " + std::to_string(i) + " link " + std::to_string(i + 64));
  EXPECT_EQ(ioc.ask("threads 31 997"), 2u * 31 * 997);
  for (int i = 0; i < 31; ++i) {
    EXPECT_EQ(timed(stats(slot, ioc.record(i))), 997u);
    EXPECT_EQ(timed(stats(slot, ioc.record(i + 64))), 997u);
  }
}

TEST_P(RecordProcessTest, AMapThatHasGrownKeepsItsCounts) {
  FakeIoc ioc;
  const auto slot = watch(ioc, 1);
  ioc.ask("call 1 5");
  ASSERT_TRUE(probe_->update(slot, ioc.target(128, !GetParam().one_read)));
  ioc.ask({"call 1 6", "call 2 7"});
  EXPECT_EQ(timed(stats(slot, ioc.record(1))), 11u);
  EXPECT_EQ(timed(stats(slot, ioc.record(2))), 7u);
}

TEST_P(RecordProcessTest, AFullMapIsCounted) {
  expect_drops_ = true;
  FakeIoc ioc;
  const auto slot = watch(ioc, 1);  // room for 64
  for (int i = 0; i < 70; ++i) ioc.ask("call " + std::to_string(i) + " 2");
  EXPECT_EQ(all_processed(slot), 128u);
  EXPECT_EQ(drops(IOCX_RECORD_DROP_RECORDS_FULL), 12u);
}

TEST_P(RecordProcessTest, StacksOfEndedThreadsAreFreed) {
  FakeIoc ioc;
  watch(ioc);
  ioc.ask("threads 31 1");
  EXPECT_EQ(probe_->use()->threads, 31u);
  ioc.ask("call 1 1");
  const auto is_alive = [](std::int32_t pid, std::int32_t tid) {
    return ::access(("/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid)).c_str(),
                    F_OK) == 0;
  };
  for (int i = 0; i < 6000 && probe_->use()->threads > 1; ++i) {
    ASSERT_TRUE(probe_->free_ended_threads(is_alive));
    std::this_thread::sleep_for(
        std::chrono::milliseconds(10));  // who is joined ends a little later
  }
  EXPECT_EQ(probe_->use()->threads, 1u);
}

TEST_P(RecordProcessTest, ThreadsThatFindTheirPlaceTakenAreCountedToo) {
  start({.max_threads = 64});  // and as many that find their place taken
  FakeIoc iocs[3];
  std::uint64_t all = 0;
  for (FakeIoc& ioc : iocs) {
    const auto slot = watch(ioc);
    ioc.ask("threads 30 53");
    all += all_processed(slot);
  }
  EXPECT_EQ(all, 90u * 53);
  EXPECT_EQ(probe_->use()->threads, 90u);
  EXPECT_GE(probe_->object().maps().caps.held(IOCX_HELD_OVERFLOW_THREADS), 26u);
}

TEST_P(RecordProcessTest, ThreadsWithoutAStackAreCountedWithoutADuration) {
  expect_drops_ = true;
  start({.max_threads = 64});  // and 64 more
  FakeIoc first, second;
  const auto slot = watch(first), other = watch(second);
  first.ask("threads 100 3");
  second.ask("threads 100 3");
  EXPECT_EQ(all_processed(slot) + all_processed(other), 200u * 3);
  const std::uint64_t threads = probe_->use()->threads;
  EXPECT_GE(threads, 96u) << "the first has half of both, the second at least of the second";
  EXPECT_LE(threads, 128u);
  EXPECT_EQ(drops(IOCX_RECORD_DROP_THREADS_FULL), (200 - threads) * 3);
  EXPECT_EQ(probe_->hits()->at(slot).entries + counts(other).hits.entries, 200u * 3);
}

TEST_P(RecordProcessTest, AnAsynchronousRecordIsNoticed) {
  FakeIoc ioc;
  const auto slot = watch(ioc);
  ioc.ask("call 1 100");
  EXPECT_FALSE(probe_->saw_asynchronous(slot));
  ioc.ask({"set 3 async 1", "call 3 1"});
  EXPECT_TRUE(probe_->saw_asynchronous(slot));
  const auto seen = stats(slot, ioc.record(3));
  EXPECT_EQ(seen.asynchronous, 1u);
  EXPECT_GT(seen.async_start_ns, 0u);
}

// How probes are attached is nothing to these: to end perf events takes the kernel a second a test.
INSTANTIATE_TEST_SUITE_P(ByEnds, RecordProcessTest, ::testing::Values(Mode{true, true, true}));
INSTANTIATE_TEST_SUITE_P(GuardedTwoReads, RecordProcessTest,
                         ::testing::Values(Mode{false, true, true, true}));

}  // namespace
}  // namespace ioc_exporter::records

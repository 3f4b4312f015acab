// Exact counts of the record probes, on processes whose every call of dbProcess is known.
#include "probes/record_process.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <numeric>

#include "bpf/uprobe_session.h"
#include "fake_ioc.h"

namespace ioc_exporter::probes {
namespace {

using test::FakeIoc;

// What a test's counts must not depend on.
struct Mode {
  bool one_read;             // one read of the record a call, or two
  bool session;              // session probes, or an entry and a return probe
  std::uint32_t timed_rate;  // session probes time all calls, or not
};

class RecordProcessTest : public ::testing::TestWithParam<Mode> {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to load BPF programs";
    if (GetParam().session && !bpf::uprobe_session_type())
      GTEST_SKIP() << "the kernel has no uprobe sessions (Linux 6.13)";
    start({});
  }
  void start(bpf::RecordProcessOptions options) {
    probe_.reset();
    options.session = GetParam().session;
    options.timed_rate = GetParam().timed_rate;
    auto started = RecordProcess::start(options);
    ASSERT_TRUE(started) << started.error().message();
    probe_ = std::make_unique<RecordProcess>(std::move(*started));
    EXPECT_EQ(probe_->times_some_calls_only(), options.session && options.timed_rate > 0);
  }
  void TearDown() override {
    if (!probe_ || expect_drops_) return;
    const auto drops = probe_->drops();
    ASSERT_TRUE(drops);
    for (std::uint32_t i = 0; i < drops->size(); ++i)
      EXPECT_EQ((*drops)[i], 0u) << record_drop_reason(i);
  }
  std::uint32_t watch(const FakeIoc& ioc, std::uint32_t records = 128) {
    auto slot = probe_->watch(ioc.target(records, GetParam().one_read));
    EXPECT_TRUE(slot) << slot.error().message();
    return slot ? *slot : 0;
  }
  iocx_record_stats stats(std::uint32_t slot, std::uint64_t address) {
    const auto records = probe_->collect(slot);
    EXPECT_TRUE(records);
    for (const RawRecord& record : *records)
      if (record.address == address) return record.stats;
    return {};
  }
  std::uint64_t all_processed(std::uint32_t slot) {
    const auto records = probe_->collect(slot);
    EXPECT_TRUE(records);
    std::uint64_t sum = 0;
    for (const RawRecord& record : *records) {
      sum += record.stats.processed;
      EXPECT_EQ(record.stats.processed, timed(record.stats) + record.stats.untimed);
    }
    return sum;
  }
  // Those in the histogram, and those that the next timed call will stand for.
  static std::uint64_t timed(const iocx_record_stats& stats) {
    return std::accumulate(std::begin(stats.buckets), std::end(stats.buckets),
                           std::uint64_t{stats.owed});
  }
  IocCounts counts(std::uint32_t slot) {
    auto all = probe_->counts();
    EXPECT_TRUE(all);
    return all->at(slot);
  }
  // A call that only its return decides, as with two reads, is timed.
  bool times_all() const {
    return !GetParam().session || GetParam().timed_rate == 0 || !GetParam().one_read;
  }

  std::unique_ptr<RecordProcess> probe_;
  bool expect_drops_ = false;
};

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

TEST_P(RecordProcessTest, SelfTimeLeavesOutWhatWasProcessedInTurn) {
  FakeIoc ioc;
  const auto slot = watch(ioc);
  ioc.ask("set 0 link 1");
  ioc.ask("set 1 link 2");
  EXPECT_EQ(ioc.ask("call 0 17"), 51u);
  const auto first = stats(slot, ioc.record(0)), second = stats(slot, ioc.record(1)),
             third = stats(slot, ioc.record(2));
  EXPECT_EQ(timed(first), 17u);
  EXPECT_EQ(timed(second), 17u);
  EXPECT_EQ(timed(third), 17u);
  EXPECT_EQ(third.self_ns, third.sum_ns);
  if (!times_all()) return;  // each has weights of its own
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
  ioc.ask("set 3 sdis_type 10");
  ioc.ask("set 3 sdis_value 1");
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
  ioc.ask("set 3 async 1");
  ioc.ask("set 3 self_disable 1");
  ioc.ask("set 3 stat 18");
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
  for (int i = 0; i < 99; ++i)
    ioc.ask("set " + std::to_string(i) + " link " + std::to_string(i + 1));
  EXPECT_EQ(ioc.ask("call 0 11"), 1100u);
  for (int i = 0; i < 100; ++i) {
    const auto seen = stats(slot, ioc.record(i));
    EXPECT_EQ(timed(seen), i < IOCX_MAX_DEPTH ? 11u : 0u) << i;
    EXPECT_EQ(seen.untimed, i < IOCX_MAX_DEPTH ? 0u : 11u) << i;
  }
  EXPECT_EQ(ioc.ask("call 0 1"), 1200u);
  EXPECT_EQ(all_processed(slot), 1200u);
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

TEST_P(RecordProcessTest, ProcessesThatAreNotWatchedAreNotCounted) {
  FakeIoc watched, other;
  const auto slot = watch(watched);
  other.ask("call 1 41");
  watched.ask("call 2 19");
  EXPECT_EQ(all_processed(slot), 19u);
}

TEST_P(RecordProcessTest, ASlotThatIsUsedAgainStartsAtZero) {
  std::uint32_t slot = 0;
  for (const int calls : {3, 5, 7}) {
    FakeIoc ioc;
    slot = watch(ioc);
    EXPECT_EQ(slot, 0u);
    ioc.ask("call 1 " + std::to_string(calls));
    EXPECT_EQ(all_processed(slot), static_cast<std::uint64_t>(calls));
    probe_->unwatch(slot);
  }
  EXPECT_FALSE(probe_->collect(slot));
}

TEST_P(RecordProcessTest, SwitchingTheAttachmentLosesNoCountAndCountsNothingTwice) {
  FakeIoc busy;
  const auto slot = watch(busy);
  for (int i = 0; i < 9; ++i)
    busy.ask("set " + std::to_string(i) + " link " + std::to_string(i + 1));
  busy.send("spin 0");
  for (int round = 0; round < 5; ++round) {
    std::vector<std::unique_ptr<FakeIoc>> others;
    std::vector<std::uint32_t> slots;
    for (std::size_t i = 0; i < kMostPerProcess + 2; ++i) {
      others.push_back(std::make_unique<FakeIoc>());
      slots.push_back(watch(*others.back()));
    }
    EXPECT_EQ(probe_->use()->attachments, 1u);
    others.back()->ask("call 1 3");
    EXPECT_EQ(all_processed(slots.back()), 3u);
    for (const auto other : slots) probe_->unwatch(other);
    EXPECT_EQ(probe_->use()->attachments, 1u);
  }
  const auto processed = busy.ask("call 0 1");
  EXPECT_EQ(all_processed(slot), processed);
}

TEST_P(RecordProcessTest, AMapThatHasGrownKeepsItsCounts) {
  FakeIoc ioc;
  const auto slot = watch(ioc, 1);
  ioc.ask("call 1 5");
  ASSERT_TRUE(probe_->update(slot, ioc.target(128, !GetParam().one_read)));
  ioc.ask("call 1 6");
  ioc.ask("call 2 7");
  EXPECT_EQ(timed(stats(slot, ioc.record(1))), 11u);
  EXPECT_EQ(timed(stats(slot, ioc.record(2))), 7u);
}

TEST_P(RecordProcessTest, AFullMapIsCounted) {
  expect_drops_ = true;
  FakeIoc ioc;
  const auto slot = watch(ioc, 1);  // room for 64
  for (int i = 0; i < 70; ++i) ioc.ask("call " + std::to_string(i) + " 2");
  EXPECT_EQ(all_processed(slot), 128u);
  const auto drops = probe_->drops();
  ASSERT_TRUE(drops);
  EXPECT_EQ((*drops)[IOCX_RECORD_DROP_RECORDS_FULL], 12u);
}

TEST_P(RecordProcessTest, StacksOfEndedThreadsAreFreed) {
  FakeIoc ioc;
  watch(ioc);
  ioc.ask("threads 31 1");
  EXPECT_EQ(probe_->use()->threads, 31u);
  ioc.ask("call 1 1");
  ASSERT_TRUE(probe_->free_ended_threads([](std::int32_t pid, std::int32_t tid) {
    return ::access(("/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid)).c_str(),
                    F_OK) == 0;
  }));
  EXPECT_EQ(probe_->use()->threads, 1u);
}

TEST_P(RecordProcessTest, AnIocThatHasEndedIsAClearError) {
  probes::RecordTarget target;
  {
    FakeIoc ioc;
    target = ioc.target(128, GetParam().one_read);
  }
  const auto slot = probe_->watch(target);
  ASSERT_FALSE(slot);
  EXPECT_NE(
      slot.error().message().find("dbProcess in /proc/" + std::to_string(target.pid) + "/exe"),
      std::string::npos)
      << slot.error().message();
  EXPECT_EQ(probe_->use()->attachments, 0u);
}

TEST_P(RecordProcessTest, ThreadsThatFindTheirPlaceTakenAreCountedToo) {
  bpf::RecordProcessOptions options;
  options.max_threads = 64;  // and as many that find their place taken
  start(options);
  FakeIoc first, second;
  const auto slot = watch(first), other = watch(second);
  // Thread ids follow each other: of these 68, some have the same low six bits.
  first.ask("threads 34 53");
  second.ask("threads 34 53");
  EXPECT_EQ(all_processed(slot) + all_processed(other), 68u * 53);
  EXPECT_EQ(probe_->use()->threads, 68u);
}

TEST_P(RecordProcessTest, ThreadsWithoutAStackAreCountedWithoutADuration) {
  expect_drops_ = true;
  bpf::RecordProcessOptions options;
  options.max_threads = 64;  // and 64 more
  start(options);
  FakeIoc first, second;
  const auto slot = watch(first), other = watch(second);
  first.ask("threads 100 3");
  second.ask("threads 100 3");
  EXPECT_EQ(all_processed(slot) + all_processed(other), 200u * 3);
  EXPECT_EQ(probe_->use()->threads, 128u);
  EXPECT_EQ((*probe_->drops())[IOCX_RECORD_DROP_THREADS_FULL], 72u * 3);
}

// 31 roots, each with one nested record, in 31 threads; then the main thread.
TEST_P(RecordProcessTest, CausesAddUpToTheProcessings) {
  FakeIoc ioc;
  const auto slot = watch(ioc);
  for (int i = 0; i < 31; ++i)
    ioc.ask("set " + std::to_string(i) + " link " + std::to_string(i + 64));
  ioc.ask("name scan-0.1");
  ioc.ask("threads 31 97");
  ioc.ask("name cbHigh-2");
  ioc.ask("threads 2 13");
  ioc.ask("name scanOnce");
  ioc.ask("threads 1 11");
  ioc.ask("name CAS-client");
  ioc.ask("threads 1 7");
  ioc.ask("name TCP-rx 127.0.0.1");
  ioc.ask("threads 1 5");
  ioc.ask("name PVXTCP");
  ioc.ask("threads 1 3");
  ioc.ask("name save_restore");
  ioc.ask("threads 1 2");
  ioc.ask("call 0 17");
  const std::uint64_t roots = 31 * 97 + 2 * 13 + 11 + 7 + 5 + 3 + 2 + 17;
  const std::map<std::string, std::uint64_t> expected = {
      {"scan_0.1", 31 * 97}, {"callback", 26}, {"once", 11},   {"ca", 7}, {"pva", 8},
      {"other", 2},          {"main", 17},     {"link", roots}};
  EXPECT_EQ(counts(slot).causes, expected);
  EXPECT_EQ(all_processed(slot), 2 * roots);
  // Threads that are gone leave their counts.
  ASSERT_TRUE(
      probe_->free_ended_threads([&](std::int32_t, std::int32_t tid) { return tid == ioc.pid(); }));
  EXPECT_EQ(probe_->use()->threads, 1u);
  EXPECT_EQ(counts(slot).causes, expected);
  EXPECT_EQ(counts(slot).hits.entries, 2 * roots);
}

TEST_P(RecordProcessTest, LinksAndCausesOfRecordsAreCountedWhenAskedFor) {
  bpf::RecordProcessOptions options;
  options.causes = 64;
  options.links = 64;
  start(options);
  FakeIoc ioc;
  const auto slot = watch(ioc);
  ioc.ask("set 0 link 1");
  ioc.ask("set 1 link 2");
  ioc.ask("set 5 link 2");
  ioc.ask("set 6 link 7");
  ioc.ask("set 7 pact 1");  // is called, and does not process
  ioc.ask("call 0 2003");
  ioc.ask("call 5 401");
  ioc.ask("call 1 19");
  ioc.ask("call 6 3");
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> links;
  const auto all_links = probe_->links();
  ASSERT_TRUE(all_links);
  for (const RawLink& link : all_links->at(slot)) links[{link.source, link.address}] += link.count;
  const std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> expected = {
      {{ioc.record(0), ioc.record(1)}, 2003},
      {{ioc.record(1), ioc.record(2)}, 2022},
      {{ioc.record(5), ioc.record(2)}, 401}};
  EXPECT_EQ(links, expected);
  std::map<std::pair<std::uint64_t, std::string>, std::uint64_t> causes;
  const auto all_causes = probe_->causes();
  ASSERT_TRUE(all_causes);
  for (const RawCause& cause : all_causes->at(slot))
    causes[{cause.address, cause.cause}] += cause.count;
  EXPECT_EQ((causes[{ioc.record(1), "link"}]), 2003u);
  EXPECT_EQ((causes[{ioc.record(1), "main"}]), 19u);
  EXPECT_EQ((causes[{ioc.record(2), "link"}]), 2423u);
  EXPECT_EQ((causes[{ioc.record(0), "main"}]), 2003u);
  EXPECT_EQ(causes.size(), 6u);
  probe_->unwatch(slot);
  EXPECT_TRUE(probe_->links()->empty());
}

TEST_P(RecordProcessTest, ALinkWithoutRoomIsADrop) {
  expect_drops_ = true;
  bpf::RecordProcessOptions options;
  options.links = 1;
  start(options);
  FakeIoc ioc;
  const auto slot = watch(ioc);
  ioc.ask("set 0 link 1");
  ioc.ask("set 2 link 3");
  ioc.ask("call 0 5");
  ioc.ask("call 2 7");
  EXPECT_EQ(probe_->links()->at(slot).size(), 1u);
  EXPECT_EQ((*probe_->drops())[IOCX_RECORD_DROP_LINKS_FULL], 7u);
  EXPECT_EQ(all_processed(slot), 24u);
}

TEST_P(RecordProcessTest, AChangeOfSeverityIsSeenAtTheNextProcessing) {
  FakeIoc ioc;
  const auto slot = watch(ioc);
  ioc.ask("set 3 sevr 3");  // INVALID, as before the first processing
  for (const char* severity : {"0", "2", "2", "1", "0", "2"}) {
    ioc.ask("call 3 3");
    ioc.ask(std::string("set 3 sevr ") + severity);
  }
  const std::array<std::uint64_t, IOCX_SEVERITIES> before = {2, 1, 1, 0};
  EXPECT_EQ(counts(slot).transitions, before);
  ioc.ask("call 3 1");
  const std::array<std::uint64_t, IOCX_SEVERITIES> after = {2, 1, 2, 0};
  EXPECT_EQ(counts(slot).transitions, after);
}

TEST_P(RecordProcessTest, AnIocThatIsPausedIsLeftAloneAndKeepsItsCounts) {
  FakeIoc ioc, other;
  const auto slot = watch(ioc), beside = watch(other);
  ioc.ask("call 1 11");
  auto off = probe_->pause(slot);
  ASSERT_TRUE(off) << off.error().message();
  EXPECT_TRUE(*off);
  EXPECT_TRUE(probe_->paused(slot));
  EXPECT_EQ(probe_->use()->attachments, 1u);
  ioc.ask("call 1 29");
  other.ask("call 1 3");
  EXPECT_EQ(all_processed(slot), 11u);
  ASSERT_TRUE(probe_->resume(slot));
  ioc.ask("call 1 5");
  EXPECT_EQ(all_processed(slot), 16u);
  EXPECT_EQ(all_processed(beside), 3u);
  EXPECT_EQ(counts(slot).causes.at("main"), 16u);
  EXPECT_EQ(probe_->hits()->at(slot).entries, 16u);
}

TEST_P(RecordProcessTest, OneOfManyIsPausedAlone) {
  std::vector<std::unique_ptr<FakeIoc>> iocs;
  std::vector<std::uint32_t> slots;
  for (std::size_t i = 0; i < kMostPerProcess + 2; ++i) {
    iocs.push_back(std::make_unique<FakeIoc>());
    slots.push_back(watch(*iocs.back()));
  }
  EXPECT_EQ(probe_->use()->attachments, 1u);
  ASSERT_TRUE(probe_->pause(slots[2]));
  EXPECT_EQ(probe_->use()->attachments, kMostPerProcess + 1);
  for (auto& ioc : iocs) ioc->ask("call 1 7");
  ASSERT_TRUE(probe_->resume(slots[2]));
  EXPECT_EQ(probe_->use()->attachments, 1u);
  for (auto& ioc : iocs) ioc->ask("call 1 4");
  for (std::size_t i = 0; i < slots.size(); ++i)
    EXPECT_EQ(all_processed(slots[i]), i == 2 ? 4u : 11u);
}

TEST_P(RecordProcessTest, AnAsynchronousRecordIsNoticed) {
  FakeIoc ioc;
  const auto slot = watch(ioc);
  ioc.ask("call 1 100");
  EXPECT_FALSE(*probe_->saw_asynchronous(slot));
  ioc.ask("set 3 async 1");
  ioc.ask("call 3 1");
  EXPECT_TRUE(*probe_->saw_asynchronous(slot));
  const auto seen = stats(slot, ioc.record(3));
  EXPECT_EQ(seen.asynchronous, 1u);
  EXPECT_EQ(seen.async_start_ns, seen.timed_ns);
  EXPECT_GT(seen.async_start_ns, 0u);
}

// A busy record is timed now and then, and what is timed stands for the rest.
TEST_P(RecordProcessTest, ABusyRecordIsTimedInSomeCallsOrInAll) {
  FakeIoc ioc;
  const auto slot = watch(ioc);
  ioc.ask("call 5 20011");
  const auto seen = stats(slot, ioc.record(5));
  EXPECT_EQ(seen.processed, 20011u);
  EXPECT_EQ(timed(seen), 20011u);
  EXPECT_EQ(counts(slot).hits.returns, counts(slot).timed);
  if (times_all()) {
    EXPECT_EQ(counts(slot).timed, 20011u);
  } else {
    EXPECT_GT(counts(slot).timed, 3u);
    EXPECT_LT(counts(slot).timed, 2000u);
  }
}

TEST_P(RecordProcessTest, AQuietRecordIsTimedInEveryCall) {
  FakeIoc ioc;
  const auto slot = watch(ioc);
  for (int i = 0; i < 7; ++i) {
    ioc.ask("call 5 1");
    ::usleep(400'000);  // more than three times the interval of the rate
  }
  EXPECT_EQ(counts(slot).timed, 7u);
  EXPECT_EQ(stats(slot, ioc.record(5)).owed, 0u);
}

INSTANTIATE_TEST_SUITE_P(OneRead, RecordProcessTest, ::testing::Values(Mode{true, false, 0}));
INSTANTIATE_TEST_SUITE_P(TwoReads, RecordProcessTest, ::testing::Values(Mode{false, false, 0}));
INSTANTIATE_TEST_SUITE_P(SessionOneRead, RecordProcessTest,
                         ::testing::Values(Mode{true, true, 10}));
INSTANTIATE_TEST_SUITE_P(SessionTwoReadsAllTimed, RecordProcessTest,
                         ::testing::Values(Mode{false, true, 0}));

}  // namespace
}  // namespace ioc_exporter::probes

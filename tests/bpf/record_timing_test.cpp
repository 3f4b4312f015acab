// Windows of time in which calls are timed, on processes whose every call is known.
#include <random>
#include <set>
#include <thread>

#include "record_process_fixture.h"
#include "records/probe/probe_control.h"
#include "support/value_of.h"

namespace ioc_exporter::records {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

class RecordTimingTest : public RecordProcessTest {
 protected:
  static bool done(const Result<bool>& result) { return result && *result; }
  std::uint64_t returns(std::uint32_t slot) { return counts(slot).hits.returns; }
};

TEST_P(RecordTimingTest, OutsideOfAWindowACallHitsOneProbe) {
  FakeIoc ioc;
  const auto slot = watch(ioc);
  ioc.ask("call 5 23");
  ASSERT_TRUE(end_window(slot, false));
  const auto returned = returns(slot);
  ioc.ask("call 5 31");
  EXPECT_EQ(returns(slot), returned);
  EXPECT_EQ(stats(slot, ioc.record(5)).processed, 54u);
  EXPECT_EQ(timed(stats(slot, ioc.record(5))), 23u);

  ASSERT_TRUE(done(probe_->time_window(slot, 10, hours(1))));
  ioc.ask("call 5 7");
  const auto seen = stats(slot, ioc.record(5));
  EXPECT_EQ(seen.processed, 61u);
  EXPECT_EQ(timed(seen), 23u + 70u);
  EXPECT_EQ(counts(slot).timed, 30u);

  ASSERT_TRUE(done(probe_->time_all(slot)));
  ioc.ask("call 5 11");
  EXPECT_EQ(timed(stats(slot, ioc.record(5))), 23u + 70u + 11u);
  EXPECT_EQ(stats(slot, ioc.record(5)).processed, 72u);
}

// A window that is over in the kernel before anybody has taken the probes off.
TEST_P(RecordTimingTest, AWindowEndsByTheClock) {
  FakeIoc ioc;
  const auto slot = watch(ioc);
  ASSERT_TRUE(done(probe_->time_window(slot, 5, nanoseconds(1))));
  ioc.ask("call 5 23");
  EXPECT_EQ(stats(slot, ioc.record(5)).processed, 23u);
  EXPECT_EQ(timed(stats(slot, ioc.record(5))), 0u);
  EXPECT_EQ(counts(slot).timed, 0u);
}

// Seconds of which each has other calls, and one in 16 by lot is timed: what is timed stands for
// all.
TEST_P(RecordTimingTest, TimedCallsOfAThousandRecordsStandForAll) {
  constexpr int kRecords = 1000, kCycles = 3;
  FakeIoc ioc;
  const auto slot = watch(ioc, kRecords);
  std::mt19937 random(23);
  TimingCycle cycle(16, [&random] { return std::uniform_real_distribution<>(0, 1)(random); });
  int windows = 0;
  for (int second = 0; second < kCycles * 16; ++second) {
    const TimingCycle::Clock::time_point now{std::chrono::seconds(1'000 + second)};
    ASSERT_TRUE(end_window(slot, false));
    for (auto what = cycle.next(now); what != TimingCycle::Do::nothing; what = cycle.next(now))
      if (what == TimingCycle::Do::begin_window) {
        ++windows;
        ASSERT_TRUE(done(probe_->time_window(slot, 16, hours(1))));
      }
    for (int record = 0; record < kRecords; ++record)
      ioc.send("call " + std::to_string(record) + " " + std::to_string(random() % 4));
    for (int record = 0; record < kRecords; ++record) ioc.answer();
  }
  EXPECT_EQ(windows, kCycles);
  double processed = 0, shown = 0;
  for (const RawRecord& record : value_of(probe_->collect(slot))) {
    processed += static_cast<double>(record.stats.processed);
    shown += static_cast<double>(timed(record.stats));
    EXPECT_EQ(timed(record.stats) % 16, 0u);
  }
  EXPECT_NEAR(shown / processed, 1, 0.03);
}

// Calls within a timed call have its weight, and their time is not the outer one's own.
TEST_P(RecordTimingTest, ATimedCallTakesThoseWithinItAlong) {
  FakeIoc ioc;
  const auto slot = watch(ioc);
  ioc.ask("set 0 link 1");
  ASSERT_TRUE(done(probe_->time_window(slot, 10, hours(1))));
  ioc.ask("call 0 17");
  const auto outer = stats(slot, ioc.record(0)), inner = stats(slot, ioc.record(1));
  EXPECT_EQ(timed(outer), 170u);
  EXPECT_EQ(timed(inner), 170u);
  EXPECT_EQ(outer.self_ns, outer.sum_ns - inner.sum_ns);
}

// A call that is not timed is over when its caller goes on, be the next call deeper on the stack or
// not; while it is under way, it is what sets off the calls within it.
TEST_P(RecordTimingTest, CallsThatAreNotTimedAreParentsWhileTheyAreUnderWay) {
  start({.causes = 64});
  FakeIoc ioc;
  const auto slot = watch(ioc);
  ASSERT_TRUE(end_window(slot, false));
  ioc.ask({"set 0 link 1", "set 1 link 2"});
  for (int i = 0; i < 3; ++i) {
    ioc.ask({"call 0 17", "leave 5 7", "call 6 11", "leave 1 5"});
  }
  std::map<std::uint64_t, std::uint64_t> by_link;
  const auto all_causes = value_of(probe_->causes());
  for (const RawCause& cause : all_causes.at(slot))
    if (cause.cause == "link") by_link[cause.address] += cause.count;
  EXPECT_EQ(by_link,
            (std::map<std::uint64_t, std::uint64_t>{{ioc.record(1), 51}, {ioc.record(2), 66}}));
  EXPECT_EQ(timed(stats(slot, ioc.record(2))), 0u);
}

// Only calls that have begun keep the probes.
TEST_P(RecordTimingTest, ACallThatIsUnderWayIsWaitedFor) {
  FakeIoc ioc;
  const auto slot = watch(ioc);
  ioc.ask("set 3 wait_us 3000000");
  ASSERT_TRUE(done(probe_->time_window(slot, 10, hours(1))));
  ioc.send("call 3 1");
  while (counts(slot).hits.entries == 0) std::this_thread::sleep_for(milliseconds(1));
  bool waited = false;
  for (int i = 0; i < 10'000 && !end_window(slot, false); ++i) {
    waited = true;
    std::this_thread::sleep_for(milliseconds(1));
  }
  ioc.answer();
  EXPECT_TRUE(waited);
  EXPECT_EQ(timed(stats(slot, ioc.record(3))), 10u);
  EXPECT_GE(stats(slot, ioc.record(3)).sum_ns, 10 * 3'000'000'000ull);
}

TEST_P(RecordTimingTest, ACallThatIsGivenUpCountsOnce) {
  FakeIoc ioc;
  const auto slot = watch(ioc);
  ioc.ask("set 3 wait_us 300000");
  ioc.send("call 3 1");
  while (counts(slot).hits.entries == 0) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_TRUE(end_window(slot, true));
  ioc.answer();
  ioc.ask("call 4 3");
  EXPECT_EQ(stats(slot, ioc.record(3)).processed, 1u);
  EXPECT_EQ(stats(slot, ioc.record(4)).processed, 3u);
}

// By perf events this takes ten seconds.
class RecordTimingLinksTest : public RecordTimingTest {};

TEST_P(RecordTimingLinksTest, SwitchingAttachmentsLosesNoCallOutsideOfAWindow) {
  std::vector<std::unique_ptr<FakeIoc>> iocs;
  std::vector<std::uint32_t> slots;
  for (std::size_t i = 0; i < kIocs; ++i) {
    iocs.push_back(std::make_unique<FakeIoc>());
    slots.push_back(watch(*iocs.back()));
    ASSERT_TRUE(end_window(slots.back(), false));
    for (std::size_t j = 0; j <= i; ++j) iocs[j]->ask("call 2 13");
  }
  for (std::size_t i = 0; i < kIocs; ++i) {
    EXPECT_EQ(stats(slots[i], iocs[i]->record(2)).processed, (kIocs - i) * 13) << i;
    EXPECT_EQ(returns(slots[i]), 0u);
  }
  // Of one of them: the others have the probe too, but are not timed.
  ASSERT_TRUE(done(probe_->time_window(slots[1], 4, hours(1))));
  for (auto& ioc : iocs) ioc->ask("call 7 5");
  for (std::size_t i = 0; i < kIocs; ++i) {
    EXPECT_EQ(stats(slots[i], iocs[i]->record(7)).processed, 5u);
    EXPECT_EQ(timed(stats(slots[i], iocs[i]->record(7))), i == 1 ? 20u : 0u);
    EXPECT_EQ(returns(slots[i]), 5u) << "all of them pay";
  }
  probe_->unwatch({slots[0]});
  for (std::size_t i = 1; i < kIocs; ++i) iocs[i]->ask("call 7 5");
  EXPECT_EQ(timed(stats(slots[1], iocs[1]->record(7))), 40u);
  EXPECT_EQ(stats(slots[2], iocs[2]->record(7)).processed, 10u);
}

// Of the one that can bear least.
TEST_P(RecordTimingLinksTest, IocsWithOneAttachmentHaveOneLevel) {
  Many many = watch_many();
  probes::Budget budget(0);
  ProbeControl control(*probe_, budget, 0.01, HitCost{.emulated = 1e-3, .stepped = 1e-3},
                       [] { return 0.99; });  // the last second of each cycle is timed
  for (const auto slot : many.slots) control.watch(slot, std::to_string(slot));
  auto now = ProbeControl::Clock::now();
  const auto ratios = [&] {
    std::set<double> all;
    for (const auto slot : many.slots) all.insert(control.sample(slot)->timed_share);
    return all;
  };
  control.tick(now);
  EXPECT_EQ(ratios(), std::set{1.0});
  many.iocs[2]->ask("call 5 100");  // 10 % of a core
  control.tick(now += std::chrono::seconds(1));
  EXPECT_EQ(ratios(), std::set{1.0 / 16});
  many.ask("call 5 23");
  for (std::size_t i = 0; i < kIocs; ++i) {
    EXPECT_EQ(returns(many.slots[i]), i == 2 ? 100u : 0u);
    EXPECT_EQ(stats(many.slots[i], many.iocs[i]->record(5)).processed, i == 2 ? 123u : 23u);
  }
}

INSTANTIATE_TEST_SUITE_P(ByEnds, RecordTimingTest,
                         ::testing::Values(Mode{true, true, true}, Mode{true, false, true, true}));
INSTANTIATE_TEST_SUITE_P(ByEnds, RecordTimingLinksTest, ::testing::Values(Mode{true, true, true}));

}  // namespace
}  // namespace ioc_exporter::records

// Processings that do not come through dbProcess: recGblFwdLink() without a call that it ends.
#include <thread>

#include "record_process_fixture.h"
#include "support/value_of.h"

namespace ioc_exporter::records {
namespace {

using std::chrono::steady_clock;
using Causes = std::map<std::string, std::uint64_t>;

class RecordDirectTest : public RecordProcessTest {
 protected:
  // A look that begins, or ends, now.
  void look() {
    now_ += std::chrono::minutes(2);
    probe_->sample_direct(now_);
  }
  std::uint64_t attachments() { return value_of(probe_->use()).attachments; }
  std::uint64_t processed(std::uint32_t slot, std::uint64_t address) {
    return stats(slot, address).processed;
  }

  // Record 4 is known to be asynchronous from then on, and no timed call of it is under way.
  void complete_a_timed_call(FakeIoc& ioc, std::uint32_t slot) {
    ioc.ask({"set 4 async 1", "call 4 1"});
    EXPECT_EQ(value_of(probe_->end_timing(slot, true)), RecordProcess::UnderWay::nothing);
    look();
    ioc.ask("complete 4 1");
    look();
  }

  steady_clock::time_point now_ = steady_clock::now();
};

TEST_P(RecordDirectTest, EndsWithoutACallAreProcessingsOfTheirOwn) {
  FakeIoc ioc;
  const auto slot = watch(ioc);
  ioc.ask({"set 0 forwards 1", "set 0 link 1", "set 2 link 3", "call 0 11"});
  look();
  ioc.ask({"call 0 13", "name poller", "complete 0 17", "complete 2 19"});
  // The first end of record 2 may have been that of a call before the look.
  EXPECT_EQ(processed(slot, ioc.record(0)), 11u + 13 + 17);
  EXPECT_EQ(processed(slot, ioc.record(1)), 11u + 13 + 17);
  EXPECT_EQ(processed(slot, ioc.record(2)), 18u);
  EXPECT_EQ(processed(slot, ioc.record(3)), 19u);
  EXPECT_FALSE(probe_->direct_since(slot));
  look();
  EXPECT_TRUE(probe_->direct_since(slot));
  ioc.ask({"complete 0 23", "call 0 29", "complete 2 31", "complete 0 37"});
  EXPECT_EQ(processed(slot, ioc.record(0)), 11u + 13 + 17 + 23 + 29 + 37);
  EXPECT_EQ(processed(slot, ioc.record(2)), 18u + 31);
  EXPECT_EQ(counts(slot).causes,
            (Causes{{"main", 11 + 13 + 29},
                    {"direct", 17 + 18 + 23 + 31 + 37},
                    // The link of the end that was not certain is the thread's own.
                    {"other", 1},
                    {"link", 11 + 13 + 17 + 18 + 23 + 29 + 31 + 37}}));
  EXPECT_EQ(all_processed(slot), 2 * (11u + 13 + 29) + 2 * (17 + 18 + 23 + 31 + 37) + 1);
  const auto stays = attachments();
  look();
  look();
  EXPECT_EQ(attachments(), stays);
}

TEST_P(RecordDirectTest, TheEndThatACallIsOwedIsNone) {
  FakeIoc ioc;
  const auto slot = watch(ioc);
  ioc.ask({"set 5 forwards 1", "set 4 async 1"});
  look();
  ioc.ask({"call 5 1", "complete 5 2"});
  look();
  ASSERT_TRUE(probe_->direct_since(slot));
  for (int i = 0; i < 7; ++i) ioc.ask({"call 4 3", "complete 4 1"});  // twice it is active
  for (int i = 0; i < 5; ++i) ioc.ask({"call 6 3", "complete 6 1"});  // without an end of its own
  ioc.ask({"call 6 1", "complete 6 3"});
  EXPECT_EQ(processed(slot, ioc.record(4)), 7u);
  EXPECT_EQ(stats(slot, ioc.record(4)).skipped_active, 14u);
  EXPECT_EQ(processed(slot, ioc.record(5)), 3u);
  EXPECT_EQ(processed(slot, ioc.record(6)), 5u * 3 + 1 + 2);
  EXPECT_EQ(counts(slot).causes, (Causes{{"main", 7 + 1 + 16}, {"direct", 2 + 2}}));
}

// The budget may take the timing off at any moment.
TEST_P(RecordDirectTest, TheEndOfACallWhoseTimingWasGivenUpIsItsOwn) {
  if (!GetParam().timed) GTEST_SKIP() << "no call is timed";
  FakeIoc ioc;
  const auto slot = watch(ioc);
  ioc.ask({"set 4 forwards 1", "call 4 1"});
  look();
  ioc.ask({"complete 5 3", "call 4 1", "set 4 wait_us 400000"});  // the first is not certain
  look();
  ASSERT_TRUE(probe_->direct_since(slot));
  const auto before = probe_->hits()->at(slot).entries;
  std::thread caller([&ioc] { ioc.ask("call 4 1"); });
  while (probe_->hits()->at(slot).entries == before) std::this_thread::yield();
  EXPECT_TRUE(probe_->end_timing(slot, true));
  caller.join();
  EXPECT_EQ(processed(slot, ioc.record(4)), 3u);
  EXPECT_EQ(counts(slot).causes, (Causes{{"main", 3}, {"direct", 2}}));
}

TEST_P(RecordDirectTest, EndsOfCallsThatHaveNoRoomForAFrameAreTheirOwn) {
  constexpr int kDeep = IOCX_MAX_DEPTH + 7;
  FakeIoc ioc;
  const auto slot = watch(ioc);
  for (int i = 0; i < kDeep; ++i) {
    const std::string record = "set " + std::to_string(i);
    ioc.ask({record + " forwards 1", record + " link " + std::to_string(i + 1)});
  }
  look();
  ioc.ask("complete " + std::to_string(kDeep + 9) + " 2");
  look();
  ASSERT_TRUE(probe_->direct_since(slot));
  ioc.ask("call 0 5");
  for (int i = 0; i <= kDeep; ++i) EXPECT_EQ(processed(slot, ioc.record(i)), 5u) << i;
  EXPECT_EQ(counts(slot).causes["direct"], 1u);
}

TEST_P(RecordDirectTest, ALookThatFindsNothingLeavesNothing) {
  FakeIoc ioc;
  const auto slot = watch(ioc);
  ioc.ask({"set 0 forwards 1", "set 0 link 1", "call 0 40"});
  const auto before = attachments();
  look();
  EXPECT_EQ(attachments(), before + 1);
  EXPECT_EQ(ioc.ask("call 0 41"), 162u);
  look();
  EXPECT_EQ(attachments(), before);
  EXPECT_FALSE(probe_->direct_since(slot));
  ioc.ask({"name poller", "complete 0 3"});  // between two looks nothing sees them, but their links
  EXPECT_EQ(counts(slot).causes, (Causes{{"main", 81}, {"link", 81}, {"other", 3}}));
}

// It was asked to process before the look, and completes during it.
TEST_P(RecordDirectTest, AnAsynchronousRecordIsNoReasonToStay) {
  if (!GetParam().timed) GTEST_SKIP() << "only timed calls show that a record is asynchronous";
  FakeIoc ioc;
  const auto slot = watch(ioc);
  complete_a_timed_call(ioc, slot);
  const auto before = attachments();
  ioc.ask("call 4 1");
  look();
  ioc.ask("complete 4 1");
  look();  // this one goes on for longer, once in an hour
  look();
  EXPECT_EQ(attachments(), before);
  EXPECT_EQ(counts(slot).causes, (Causes{{"main", 2}}));
}

// Its first end in a look may be that of its own dbProcess.
TEST_P(RecordDirectTest, ALongerLookFindsADriverThatSeldomProcessesAnAsynchronousRecord) {
  if (!GetParam().timed) GTEST_SKIP() << "only timed calls show that a record is asynchronous";
  FakeIoc ioc;
  const auto slot = watch(ioc);
  complete_a_timed_call(ioc, slot);
  look();
  ioc.ask("complete 4 1");
  look();
  EXPECT_FALSE(probe_->direct_since(slot));
  ioc.ask("complete 4 1");
  look();
  EXPECT_TRUE(probe_->direct_since(slot));
  ioc.ask("complete 4 5");
  EXPECT_EQ(processed(slot, ioc.record(4)), 1u + 1 + 5);
}

TEST_P(RecordDirectTest, AfterAPauseARecordsFirstEndIsNotCertain) {
  FakeIoc ioc;
  const auto slot = watch(ioc);
  look();
  ioc.ask("complete 0 3");
  look();
  EXPECT_TRUE(pause(slot));
  EXPECT_FALSE(probe_->direct_since(slot));
  ioc.ask("complete 0 5");
  resume(slot);
  EXPECT_TRUE(probe_->direct_since(slot));
  ioc.ask("complete 0 7");
  EXPECT_EQ(counts(slot).causes, (Causes{{"direct", 2 + 6}}));
}

// One attachment looks at all IOCs of a library.
TEST_P(RecordDirectTest, IocsOfALibraryAreLookedAtTogether) {
  Many many = watch_many();
  auto& [iocs, slots] = many;
  const auto before = attachments();
  look();
  EXPECT_EQ(attachments(), before + 1);
  iocs[1]->ask("complete 0 5");
  look();
  EXPECT_EQ(attachments(), before + 1);
  iocs[0]->ask("complete 0 7");
  iocs[1]->ask("complete 0 11");
  EXPECT_EQ(counts(slots[1]).causes, (Causes{{"direct", 4 + 11}}));
  EXPECT_TRUE(counts(slots[0]).causes.empty());
  EXPECT_FALSE(probe_->direct_since(slots[0]));
  probe_->unwatch({slots[1]});
  look();  // of those that are left
  look();
  EXPECT_EQ(attachments(), before);
}

// Its return address may stay on the stack: code that is not optimized leaves much of it unwritten.
TEST_P(RecordDirectTest, AnEndThatIsOverMakesNothingAfterIt) {
  FakeIoc ioc;
  const auto slot = watch(ioc);
  look();
  ioc.ask({"name poller", "complete 0 2"});  // the first is not certain
  ioc.ask("after 0 7");
  EXPECT_EQ(processed(slot, ioc.record(0)), 1u + 7);
  EXPECT_EQ(processed(slot, ioc.record(1)), 7u);
  EXPECT_EQ(counts(slot).causes, (Causes{{"direct", 8}, {"other", 7}}));
}

// X calls a driver, which ends A, which ends B, whose link is C: of X's time that of C is not its
// own.
TEST_P(RecordDirectTest, EndsWithinEndsTakeNoTimeFromTheCallAroundThem) {
  if (!GetParam().timed) GTEST_SKIP() << "nothing is timed";
  FakeIoc ioc;
  const auto slot = watch(ioc);
  look();
  ioc.ask({"set 0 ends 1", "set 1 ends 2", "set 2 link 3", "call 0 1"});
  const auto before = stats(slot, ioc.record(0)), child_before = stats(slot, ioc.record(3));
  ioc.ask({"set 3 wait_us 2000", "call 0 3"});
  const auto outer = stats(slot, ioc.record(0)), child = stats(slot, ioc.record(3));
  EXPECT_EQ(counts(slot).causes, (Causes{{"main", 4}, {"link", 6 + 4}}));
  EXPECT_EQ(outer.sum_ns - before.sum_ns - (outer.self_ns - before.self_ns),
            child.sum_ns - child_before.sum_ns);
}

// A record that has a line of its own, and is processed by a thread without a stack.
TEST_P(RecordDirectTest, TheEndThatACallWithoutAStackIsOwedIsNone) {
  expect_drops_ = true;
  start({.max_threads = 64});
  FakeIoc ioc;
  const auto slot = watch(ioc);
  look();
  ioc.ask({"set 0 forwards 1", "set 127 ends 0", "call 0 41", "threads 100 1"});
  const auto full = drops(IOCX_RECORD_DROP_THREADS_FULL);
  ASSERT_GT(full, 0u);
  ioc.ask({"set 0 forwards 0", "threads 1 1", "call 127 1"});
  EXPECT_EQ(drops(IOCX_RECORD_DROP_THREADS_FULL), full + 1);
  EXPECT_EQ(processed(slot, ioc.record(0)), 41u + 1 + 1);
  EXPECT_EQ(counts(slot).causes.count("direct"), 0u);
}

INSTANTIATE_TEST_SUITE_P(Modes, RecordDirectTest,
                         ::testing::Values(Mode{true, true, true}, Mode{true, true, false},
                                           Mode{false, true, true, true}));

}  // namespace
}  // namespace ioc_exporter::records

// Calls that never return, as by an exception: their frames stay behind, and no count suffers.
#include "record_process_fixture.h"

namespace ioc_exporter::records {
namespace {

// A return probe would end the process.
using RecordLeavingTest = RecordProcessTest;

TEST_P(RecordLeavingTest, ThousandsThatLeaveOneCallEachAreCountedOnce) {
  expect_drops_ = true;
  FakeIoc ioc;
  const auto slot = watch(ioc);
  ioc.ask("set 3 leaves 1");
  EXPECT_EQ(ioc.ask("leave 3 5003"), 5003u);
  EXPECT_EQ(ioc.ask("call 4 7"), 5010u);
  const auto left = stats(slot, ioc.record(3)), whole = stats(slot, ioc.record(4));
  EXPECT_EQ(left.processed, 5003u);
  EXPECT_EQ(left.untimed, 5003u);
  EXPECT_EQ(timed(left), 0u);
  EXPECT_EQ(whole.processed, 7u);
  EXPECT_EQ(timed(whole), GetParam().timed ? 7u : 0u);
  EXPECT_EQ(counts(slot).causes.at("main"), 5010u) << "no call is taken for one within another";
  EXPECT_EQ(drops(IOCX_RECORD_DROP_UNWOUND), GetParam().timed ? 5003u : 0u);
}

// More at once than are discarded at once.
TEST_P(RecordLeavingTest, ThousandsThatLeaveManyCallsAreCountedOnce) {
  expect_drops_ = true;
  FakeIoc ioc;
  const auto slot = watch(ioc);
  ioc.chain(19);
  ioc.ask("set 19 leaves 1");
  for (int round = 0; round < 3; ++round) {
    ioc.ask({"leave 0 1009", "call 40 11"});
  }
  ioc.ask("set 19 leaves 0");
  ioc.ask("call 40 5");  // until nothing is left of what was before
  const std::uint64_t before = timed(stats(slot, ioc.record(19)));
  EXPECT_EQ(ioc.ask("call 0 13"), 20u * (3 * 1009 + 13) + 38);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(stats(slot, ioc.record(i)).processed, 3u * 1009 + 13) << i;
  EXPECT_EQ(stats(slot, ioc.record(40)).processed, 38u);
  // The innermost has thrown; an untimed call shows no end anyway.
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(stats(slot, ioc.record(i)).unwound, GetParam().timed && i == 19 ? 3u * 1009 : 0u)
        << i;
  EXPECT_EQ(timed(stats(slot, ioc.record(19))) - before, GetParam().timed ? 13u : 0u);
}

TEST_P(RecordLeavingTest, OneProcessThatLeavesDoesNotDisturbAnother) {
  expect_drops_ = true;
  FakeIoc ioc, other;
  const auto slot = watch(ioc), beside = watch(other);
  ioc.ask("set 3 leaves 1");
  other.send("spin 5");
  ioc.ask("leave 3 2003");
  const auto processed = other.ask("call 5 1");
  ioc.ask("call 4 1");  // which shows that the last one is over
  EXPECT_EQ(all_processed(slot), 2004u);
  EXPECT_EQ(all_processed(beside), processed);
}

// The remains of a call are not taken for the next one at the same place, which both
// attachments see; but for one, when the other attachment takes over.
TEST_P(RecordLeavingTest, CallsThatLeaveWhileTheAttachmentSwitchesAreCounted) {
  expect_drops_ = true;
  constexpr std::uint64_t kSwitches = 2;
  FakeIoc ioc;
  const auto slot = watch(ioc);
  ioc.ask("set 3 leaves 1");
  ioc.send("spin 3");
  const Many others = watch_many();
  probe_->unwatch(others.slots);
  const auto left = ioc.ask("call 4 1") - 1;
  const auto seen = stats(slot, ioc.record(3));
  EXPECT_LE(seen.processed, left);
  EXPECT_GE(seen.processed + kSwitches, left);
  EXPECT_EQ(seen.untimed, seen.processed);
  EXPECT_EQ(counts(slot).causes.at("main"), seen.processed + 1);
}

// Another tool's return probe replaces return addresses, too; not those of calls that nest deeper
// than 64.
TEST_P(RecordLeavingTest, ReturnProbesOfOthersDoNotMakeCallsLookLeft) {
  FakeIoc ioc;
  const auto slot = watch(ioc);
  const RecordTarget target = ioc.target(128, true);
  const auto other =
      kernel::attach_empty_uprobe({target.path, target.offset, target.ioc.pid, true});
  ASSERT_TRUE(other) << other.error().message();
  ioc.chain(99);
  EXPECT_EQ(ioc.ask("call 0 11"), 1100u);
  for (int i = 0; i < 100; ++i) {
    const auto seen = stats(slot, ioc.record(i));
    EXPECT_EQ(seen.processed, 11u) << i;
    EXPECT_EQ(timed(seen), GetParam().timed && i < IOCX_MAX_DEPTH ? 11u : 0u) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(ByEnds, RecordLeavingTest, ::testing::Values(Mode{true, true, true}));
INSTANTIATE_TEST_SUITE_P(Off, RecordLeavingTest, ::testing::Values(Mode{false, false, false}));

}  // namespace
}  // namespace ioc_exporter::records

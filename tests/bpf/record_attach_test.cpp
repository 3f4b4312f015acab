// Which processes the record probes are attached to, and what changes of that do to the counts.
#include <gmock/gmock.h>

#include <random>
#include <thread>

#include "record_process_fixture.h"
#include "records/probe/probe_control.h"
#include "records/probe/threads.h"
#include "support/value_of.h"

namespace ioc_exporter::records {
namespace {

class RecordAttachTest : public RecordProcessTest {
 protected:
  // As the host's scan sees it.
  void end_of_main_thread(const FakeIoc& ioc) {
    probe_->engine().follow({{iocs::IocId{ioc.pid(), 0}, {.main_thread_ended = true}}});
    probe_->apply();
  }
};

TEST_P(RecordAttachTest, ProcessesThatAreNotWatchedAreNotCounted) {
  FakeIoc watched, other;
  const auto slot = watch(watched);
  other.ask("call 1 41");
  watched.ask("call 2 19");
  EXPECT_EQ(all_processed(slot), 19u);
}

TEST_P(RecordAttachTest, ASlotThatIsUsedAgainStartsAtZero) {
  std::uint32_t slot = 0;
  for (const int calls : {3, 5, 7}) {
    FakeIoc ioc;
    slot = watch(ioc);
    EXPECT_EQ(slot, 0u);
    ioc.ask("call 1 " + std::to_string(calls));
    EXPECT_EQ(all_processed(slot), static_cast<std::uint64_t>(calls));
    probe_->unwatch({slot});
  }
  EXPECT_EQ(probe_->generation(slot), 0u);
}

// With the ends of calls seen and without, and for the probes that keep no frame of a call.
TEST_P(RecordAttachTest, EachHitCountsOnceAtEverySwitch) {
  FakeIoc busy;
  RecordTarget target = target_of(busy);
  target.extras.push_back({RecordProgram::put, FakeIoc::offset_of("dbPut")});
  const auto slot = value_of(probe_->watch(target));
  busy.chain(6);
  busy.ask({"set 1 puts 7", "set 1 link -1", "set 0 also 2", "call 0 1009"});
  for (const bool timed : {true, false}) {
    if (!timed) {
      EXPECT_TRUE(end_window(slot, true));
    }
    busy.send("spin 0");
    for (int round = 2; round > 0; --round) {
      auto [others, slots] = watch_many();
      EXPECT_EQ(probe_->use()->attachments, 2u) << "dbProcess and dbPut";
      probe_->unwatch(slots);
      EXPECT_EQ(probe_->use()->attachments, 2u);
    }
    busy.ask("call 5 13");
  }
  const auto processed = busy.ask("call 5 1");
  EXPECT_EQ(all_processed(slot), processed);
  const iocx_record_stats written = stats(slot, busy.record(7));
  EXPECT_EQ(std::accumulate(std::begin(written.puts), std::end(written.puts), std::uint64_t{0}),
            stats(slot, busy.record(1)).processed);
}

// Some of these writes fall between the two programs of a hit.
TEST_P(RecordAttachTest, AHitCountsOnceWhereverTheWriteFalls) {
  FakeIoc ioc;
  const RecordTarget target = target_of(ioc);
  const auto slot = watch(ioc);
  const elf::FunctionProbe newer = value_of(probe_->attacher().attach(
      static_cast<std::uint32_t>(RecordProgram::process),
      {target.code, target.path, target.offset, kernel::kAllProcesses, target.ending}));
  const auto& configs = probe_->object().maps().ioc_config;
  std::minstd_rand random(23);
  for (const bool timed : {true, false}) {
    if (!timed) {
      EXPECT_TRUE(end_window(slot, true));
    }
    iocx_ioc_config config = value_of(value_of(configs.lookup(slot)));
    const auto let_count = [&](std::uint8_t attach) {
      config.attach = attach;
      must_succeed(configs.update(slot, config));
    };
    std::uint64_t processed = 0;
    for (int trial = 0; trial < 503; ++trial) {
      ioc.send("call 1 2003");
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 8000));
      let_count(IOCX_ATTACH_ALL);
      processed = ioc.answer();
      let_count(IOCX_ATTACH_PROCESS);
      // The engine never goes back to an attachment that is still there: the thread begins anew.
      must_succeed(probe_->free_ended_threads([](std::int32_t, std::int32_t) { return false; }));
    }
    EXPECT_EQ(all_processed(slot), processed);
  }
}

TEST_P(RecordAttachTest, AnIocThatHasEndedIsAClearError) {
  records::RecordTarget target;
  {
    FakeIoc ioc;
    target = target_of(ioc);
  }
  const auto slot = probe_->watch(target);
  ASSERT_FALSE(slot);
  EXPECT_THAT(slot.error().message(),
              testing::HasSubstr("dbProcess in /proc/" + std::to_string(target.ioc.pid) + "/exe"));
  EXPECT_EQ(probe_->use()->attachments, 0u);
}

TEST_P(RecordAttachTest, AnIocThatIsPausedIsLeftAloneAndKeepsItsCounts) {
  FakeIoc ioc, other;
  const auto slot = watch(ioc), beside = watch(other);
  ioc.ask("call 1 11");
  EXPECT_TRUE(pause(slot));
  EXPECT_EQ(probe_->use()->attachments, 1u);
  ioc.ask("call 1 29");
  other.ask("call 1 3");
  EXPECT_EQ(all_processed(slot), 11u);
  resume(slot);
  ioc.ask("call 1 5");
  EXPECT_EQ(all_processed(slot), 16u);
  EXPECT_EQ(all_processed(beside), 3u);
  EXPECT_EQ(counts(slot).causes.at("main"), 16u);
  EXPECT_EQ(probe_->hits()->at(slot).entries, 16u);
}

// Which pass is under way when the probes are attached again, nobody knows.
TEST_P(RecordAttachTest, APassOfAScanDuringWhichAnIocIsPausedIsNotTimed) {
  FakeIoc ioc;
  records::RecordTarget target = target_of(ioc);
  target.extras.push_back(
      {RecordProgram::scan_list, FakeIoc::offset_of("scanList"), FakeIoc::ending("scanList")});
  const auto slot = value_of(probe_->watch(target));
  ioc.ask({"set 0 wait_us 100000", "name scan-0.1"});
  const auto now = [] { return std::chrono::steady_clock::now(); };
  iocx_scan_list list{};
  const auto read_list = [&] {
    EXPECT_TRUE(probe_->object().maps().scan_lists.for_each(
        [&](std::uint64_t, const iocx_scan_list& one) { list = one; }));
  };
  ioc.send("scan 1 8");
  const auto deadline = now() + std::chrono::seconds(60);
  while (list.start_ns == 0 && now() < deadline) read_list();
  EXPECT_TRUE(pause(slot));
  read_list();
  const std::uint64_t before = list.sum_ns;
  const auto again = now();
  resume(slot);
  ioc.answer();
  read_list();
  EXPECT_LE(list.sum_ns - before,
            static_cast<std::uint64_t>((now() - again) / std::chrono::nanoseconds(1)));
  EXPECT_TRUE(forget_scan_lists(probe_->object().maps(), slot));
}

// pthread_exit() in main. To the kernel, the process is then nobody that could be attached to
// alone.
TEST_P(RecordAttachTest, AnIocWhoseMainThreadEndsIsCountedOn) {
  FakeIoc ioc, other;
  const auto slot = watch(ioc);
  const auto beside = value_of(probe_->watch(target_of(other)));
  ioc.ask({"call 1 11", "end_main"});
  // Links ask for the process, not for its memory: they lose nothing until somebody has noticed.
  if (links()) ioc.ask("call 1 5");
  end_of_main_thread(ioc);
  ioc.ask(links() ? "call 1 2" : "call 1 7");
  EXPECT_EQ(all_processed(slot), 18u);
  EXPECT_TRUE(pause(slot));
  ioc.ask("call 1 29");
  other.ask("call 1 3");
  resume(slot);
  ioc.ask("call 1 5");
  other.ask("call 1 4");
  EXPECT_EQ(all_processed(slot), 23u);
  EXPECT_EQ(all_processed(beside), 7u);
  // That another one leaves takes breakpoints away where the kernel thinks that nobody wants them.
  probe_->unwatch({beside});
  ioc.ask("call 1 13");
  EXPECT_EQ(all_processed(slot), 36u);
  EXPECT_EQ(probe_->use()->attachments, 1u);
}

TEST_P(RecordAttachTest, AnIocWhoseMainThreadHasEndedBefore) {
  FakeIoc ioc, other;
  const auto target = target_of(ioc);
  ioc.ask("end_main");
  end_of_main_thread(ioc);
  const auto slot = value_of(probe_->watch(target));
  ioc.ask("call 1 11");
  EXPECT_EQ(all_processed(slot), 11u);
  const auto beside = watch(other);
  other.ask("call 1 3");
  EXPECT_EQ(all_processed(beside), 3u);
  probe_->unwatch({slot});
  other.ask("call 1 4");
  EXPECT_EQ(all_processed(beside), 7u);
}

TEST_P(RecordAttachTest, OneIocOfManyIsPausedAlone) {
  Many many = watch_many();
  EXPECT_EQ(probe_->use()->attachments, 1u);
  EXPECT_TRUE(pause(many.slots[2]));
  EXPECT_EQ(probe_->use()->attachments, kIocs - 1);
  many.ask("call 1 7");
  resume(many.slots[2]);
  EXPECT_EQ(probe_->use()->attachments, 1u);
  many.ask("call 1 4");
  for (std::size_t i = 0; i < kIocs; ++i)
    EXPECT_EQ(all_processed(many.slots[i]), i == 2 ? 4u : 11u);
}

// More than can be attached alone. The others pay nothing for it: nothing is attached anew.
TEST_P(RecordAttachTest, OneIocOfVeryManyIsPausedAndItsProbesStay) {
  constexpr std::size_t kMany = kRecordPolicy.most_beside_off + 2;
  std::vector<std::unique_ptr<FakeIoc>> iocs;
  std::vector<RecordTarget> targets;
  for (std::size_t i = 0; i < kMany; ++i) {
    iocs.push_back(std::make_unique<FakeIoc>());
    targets.push_back(target_of(*iocs.back()));
  }
  std::vector<std::uint32_t> slots;
  for (const auto& slot : probe_->watch(targets)) slots.push_back(value_of(slot));
  const std::uint64_t attachments = probe_->use()->attachments;
  for (auto& ioc : iocs) ioc->ask("call 1 3");
  EXPECT_FALSE(pause(slots[2]));
  EXPECT_EQ(probe_->use()->attachments, attachments);
  for (auto& ioc : iocs) ioc->ask("call 1 7");
  EXPECT_EQ(probe_->hits()->at(slots[2]).entries, 3u + 7);
  resume(slots[2]);
  EXPECT_EQ(probe_->use()->attachments, attachments);
  for (auto& ioc : iocs) ioc->ask("call 1 4");
  for (std::size_t i = 0; i < slots.size(); ++i)
    EXPECT_EQ(all_processed(slots[i]), i == 2 ? 7u : 14u);
}

// Each hit is taken to cost a hundredth of a second: by far too much.
TEST_P(RecordAttachTest, AnIocOverItsBudgetIsNotCountedUntilItsLoadHasFallen) {
  FakeIoc busy, other;
  probes::Budget budget(0.5);
  ProbeControl control(*probe_, budget, 0, {0.01, 0.01});
  const auto slot = watch(busy), beside = watch(other);
  control.watch(slot, "busy");
  control.watch(beside, "other");
  auto now = ProbeControl::Clock::now();
  const auto look = [&] {
    control.tick(now);
    budget.decide(now);
  };
  // And the rooms follow.
  const auto pass = [&](std::chrono::seconds time) {
    now += time;
    look();
    while (budget.is_due(now)) look();
  };
  constexpr auto kLook = probes::Budget::kInterval;
  pass(kLook);
  std::uint64_t asked = 0;
  bool timing_went = false;
  for (; asked < 30 && probe_->is_counted(slot); ++asked) {
    EXPECT_FALSE(control.sample(slot)->over_budget);
    timing_went |= control.sample(slot)->timed_share == 0;
    busy.ask("call 1 101");
    pass(kLook);
  }
  EXPECT_FALSE(probe_->is_counted(slot));
  EXPECT_TRUE(timing_went);
  EXPECT_NEAR(control.sample(slot)->over_budget.value_or(0), 1.01, 0.01)
      << "and what the programs took";
  busy.ask("call 1 1000");  // is not counted
  probe_->engine().follow({{iocs::IocId{busy.pid(), 0}, {.left_alone = "off: it is stopped"}}});
  pass(probes::Budget::kFirstPause);
  pass(kLook);
  EXPECT_TRUE(control.sample(slot)->over_budget) << "a trial without its probes says nothing";
  probe_->engine().follow({});
  pass(2 * probes::Budget::kFirstPause);
  EXPECT_TRUE(probe_->is_counted(slot));
  EXPECT_TRUE(control.sample(slot)->over_budget) << "it is on trial";
  busy.ask("call 1 401");
  pass(kLook);
  EXPECT_FALSE(probe_->is_counted(slot));
  pass(2 * probes::Budget::kFirstPause);
  EXPECT_FALSE(probe_->is_counted(slot)) << "the next rest is longer";
  pass(2 * probes::Budget::kFirstPause);
  EXPECT_TRUE(probe_->is_counted(slot));
  pass(kLook);
  EXPECT_FALSE(control.sample(slot)->over_budget);
  pass(kLook);  // the trial of timing begins
  busy.ask("call 1 31");
  pass(kLook);
  EXPECT_EQ(control.sample(slot)->timed_share, 0) << "to time all takes 31 % more";
  EXPECT_EQ(all_processed(slot), asked * 101 + 401 + 31);
  ProbeControl prices(*probe_, budget, 0, {0, 0, 0, 1});
  prices.watch(slot, "busy");
  EXPECT_EQ(prices.seconds(slot, {.entries = 23, .returns = 7}), 30) << "of the other's attachment";
  EXPECT_TRUE(probe_->is_counted(beside));
}

// Another tool, or another exporter, that wants to see every call return leaves the kernel's
// trampoline where the return address of an untimed call stood.
TEST_P(RecordAttachTest, NestedCallsAreToldApartBesideAReturnProbeOfSomebodyElse) {
  FakeIoc ioc;
  const auto slot = watch(ioc);
  const RecordTarget target = target_of(ioc);
  const auto other =
      kernel::attach_empty_uprobe({target.path, target.offset, target.ioc.pid, true});
  ASSERT_TRUE(other) << other.error().message();
  ioc.chain(4);
  ioc.ask("call 0 1009");
  EXPECT_EQ(all_processed(slot), 5u * 1009);
  EXPECT_EQ(counts(slot).causes.at("main"), 1009u);
  EXPECT_EQ(counts(slot).causes.at("link"), 4u * 1009);
}

INSTANTIATE_TEST_SUITE_P(Links, RecordAttachTest, ::testing::Values(Mode{true, true, true}));
INSTANTIATE_TEST_SUITE_P(PerfEvents, RecordAttachTest, ::testing::Values(Mode{true, false, true}));

}  // namespace
}  // namespace ioc_exporter::records

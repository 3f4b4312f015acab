// Causes of processing, as the record probes see them.
#include "record_process_fixture.h"
#include "records/probe/threads.h"
#include "support/value_of.h"

namespace ioc_exporter::records {
namespace {

// 31 roots, each with one nested record, in 31 threads; then the main thread.
TEST_P(RecordProcessTest, CausesAddUpToTheProcessings) {
  FakeIoc ioc;
  const auto slot = watch(ioc);
  for (int i = 0; i < 31; ++i)
    ioc.ask("set " + std::to_string(i) + " link " + std::to_string(i + 64));
  ioc.ask({"name scan-0.1", "threads 31 97", "name cbHigh-2", "threads 2 13", "name scanOnce",
           "threads 1 11", "name CAS-client", "threads 1 7", "name TCP-rx 127.0.0.1", "threads 1 5",
           "name PVXTCP", "threads 1 3", "name save_restore", "threads 1 2", "call 0 17"});
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

// scanList() goes through periodic lists, and those of events and of I/O interrupts.
TEST_P(RecordProcessTest, EventsAndInterruptsAreCausesOfTheirOwn) {
  start({.causes = 64});
  FakeIoc ioc;
  const auto slot = watch(ioc);
  ioc.ask({"set 0 scan 2", "set 1 scan 1", "set 0 link 3", "name cbLow-1", "scan 3 5"});
  ioc.ask({"threads 2 3", "name poller", "scan 1 7", "threads 1 11"});
  ioc.ask({"name scan-0.1", "scan 2 13", "name CAS-client", "threads 1 17"});
  const std::uint64_t of_first = 5 + 3 + 7 + 11 + 13 + 17;
  EXPECT_EQ(counts(slot).causes, (std::map<std::string, std::uint64_t>{{"io_intr", 5 + 7},
                                                                       {"event", 5},
                                                                       {"callback", 5 + 2 * 3},
                                                                       {"other", 11},
                                                                       {"scan_0.1", 2 * 13},
                                                                       {"ca", 17},
                                                                       {"link", of_first}}));
  std::map<std::string, std::uint64_t> causes;
  const auto all_causes = value_of(probe_->causes());
  for (const RawCause& cause : all_causes.at(slot))
    if (cause.address == ioc.record(0)) causes[cause.cause] += cause.count;
  EXPECT_EQ(causes,
            (std::map<std::string, std::uint64_t>{
                {"io_intr", 5 + 7}, {"callback", 3}, {"other", 11}, {"scan_0.1", 13}, {"ca", 17}}));
  // A stripped library does not say where scanList() is.
  FakeIoc stripped;
  RecordTarget target = target_of(stripped);
  target.scan_list = {};
  const auto second = value_of(probe_->watch(target));
  stripped.ask({"set 0 scan 2", "name cbLow", "scan 2 5"});
  EXPECT_EQ(counts(second).causes, (std::map<std::string, std::uint64_t>{{"callback", 10}}));
}

TEST_P(RecordProcessTest, ThreadsAreCountedByTheirKind) {
  FakeIoc ioc;
  const auto slot = watch(ioc);
  ioc.ask(
      {"set 0 link 1", "name motorPoller 3", "threads 1 7", "name motorPoller-12", "threads 2 5"});
  ioc.ask({"name scan-0.1", "scan 1 11", "name cbLow-2", "threads 1 13", "call 0 17"});
  const std::map<std::string, std::uint64_t> expected = {
      {"motorPoller", 7 + 2 * 5}, {"scan-0.1", 11}, {"cbLow", 13}, {"fake_ioc", 17}};
  EXPECT_EQ(counts(slot).threads, expected);
  ASSERT_TRUE(
      probe_->free_ended_threads([&](std::int32_t, std::int32_t tid) { return tid == ioc.pid(); }));
  EXPECT_EQ(counts(slot).threads, expected);
  // One that renames its threads gets no more series for it.
  for (int i = 0; i < 100; ++i)
    ioc.ask({"name " + std::string(1, static_cast<char>('A' + i % 26)) +
                 static_cast<char>('a' + i / 26),
             "threads 1 3"});
  const auto many = counts(slot).threads;
  EXPECT_EQ(many.size(), ThreadNames::kMost + 1);
  EXPECT_EQ(many.at("(other)"), (100 - (ThreadNames::kMost - 4)) * 3);
  std::uint64_t all = 0;
  for (const auto& [thread, count] : many) all += count;
  const auto causes = counts(slot).causes;
  EXPECT_EQ(all + causes.at("link"), all_processed(slot));
}

// A user's process may call its threads what it likes.
TEST_P(RecordProcessTest, OnlyPeriodicScansOfTheIocAreCausesOfTheirOwn) {
  start({.causes = 64});
  FakeIoc ioc, other;
  records::RecordTarget target = target_of(ioc);
  target.scan_periods = {"0.1", "0.05", "1.23457e-05"};
  const auto slot = value_of(probe_->watch(target));
  const auto second = watch(other);
  for (FakeIoc* one : {&ioc, &other})
    for (const char* period : {"0.1", "0.05", "1.23457e-05", "60"}) {
      one->ask("name scan-" + std::string(period).substr(0, 10));
      one->ask("threads 1 3");
    }
  for (int i = 0; i < 200; ++i) {
    ioc.ask("name scan-" + std::to_string(i + 1000));
    ioc.ask("threads 1 1");
  }
  EXPECT_EQ(counts(slot).causes,
            (std::map<std::string, std::uint64_t>{
                {"scan_0.1", 3}, {"scan_0.05", 3}, {"scan_1.23457e-0", 3}, {"other", 203}}));
  EXPECT_EQ(counts(second).causes,
            (std::map<std::string, std::uint64_t>{{"scan_0.1", 3}, {"other", 9}}));
  EXPECT_EQ(probe_->causes()->at(slot).size(), 4u);
}

TEST_P(RecordProcessTest, CausesOfRecordsAreCountedWhenAskedFor) {
  start({.causes = 64});
  FakeIoc ioc;
  const auto slot = watch(ioc);
  ioc.ask({"set 0 link 1", "set 1 link 2", "set 5 link 2", "set 6 link 7"});
  ioc.ask("set 7 pact 1");  // is called, and does not process
  ioc.ask({"call 0 2003", "call 5 401", "call 1 19", "call 6 3"});
  std::map<std::pair<std::uint64_t, std::string>, std::uint64_t> causes;
  const auto all_causes = value_of(probe_->causes());
  for (const RawCause& cause : all_causes.at(slot))
    causes[{cause.address, cause.cause}] += cause.count;
  EXPECT_EQ((causes[{ioc.record(1), "link"}]), 2003u);
  EXPECT_EQ((causes[{ioc.record(1), "main"}]), 19u);
  EXPECT_EQ((causes[{ioc.record(2), "link"}]), 2423u);
  EXPECT_EQ((causes[{ioc.record(0), "main"}]), 2003u);
  EXPECT_EQ(causes.size(), 6u);
  probe_->unwatch({slot});
  EXPECT_TRUE(probe_->causes()->empty());
}

TEST_P(RecordProcessTest, ACauseWithoutRoomIsADrop) {
  expect_drops_ = true;
  start({.causes = 1});
  FakeIoc ioc;
  const auto slot = watch(ioc);
  ioc.ask({"call 0 5", "call 2 7"});
  EXPECT_EQ(probe_->causes()->at(slot).size(), 1u);
  EXPECT_EQ(drops(IOCX_RECORD_DROP_CAUSES_FULL), 7u);
  EXPECT_EQ(all_processed(slot), 12u);
}

// More threads than the array has places for: each scan list is known by its own thread.
TEST_P(RecordProcessTest, ScanListsOfThreadsThatFindTheirPlaceTakenAreTimed) {
  start({.max_threads = 256});  // and 64 more
  FakeIoc ioc;
  records::RecordTarget target = target_of(ioc);
  target.extras.push_back(
      {RecordProgram::scan_list, FakeIoc::offset_of("scanList"), FakeIoc::ending("scanList")});
  const auto slot = value_of(probe_->watch(target));
  ioc.ask(
      "threads 128 1");  // have the IOC's half of the places, until it is seen that they are gone
  ioc.ask({"name scan-0.1", "scan 29 3"});
  EXPECT_EQ(probe_->use()->threads, 128u + 29);
  std::map<std::uint32_t, std::uint64_t> passes;  // by process
  std::uint64_t lists = 0;
  EXPECT_TRUE(probe_->object().maps().scan_lists.for_each(
      [&](std::uint64_t id, const iocx_scan_list& list) {
        ++lists;
        EXPECT_GT(list.end_ns, 0u);
        for (const std::uint64_t count : list.buckets)
          passes[static_cast<std::uint32_t>(id >> 32)] += count;
      }));
  EXPECT_EQ(lists, 29u);
  EXPECT_EQ(
      passes,
      (std::map<std::uint32_t, std::uint64_t>{{static_cast<std::uint32_t>(ioc.pid()), 29 * 3}}));
  EXPECT_TRUE(forget_scan_lists(probe_->object().maps(), slot));
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

}  // namespace
}  // namespace ioc_exporter::records

// The record probes on processes whose every call of dbProcess is known: what all their tests
// share.
#pragma once

#include <gtest/gtest.h>

#include <numeric>

#include "fake_ioc.h"
#include "kernel/uprobe.h"
#include "records/probe/process.h"
#include "support/value_of.h"

namespace ioc_exporter::records {
using test::FakeIoc;

// More than are attached one by one, in every mode.
inline constexpr std::size_t kIocs = kRecordPolicy.most_apart + 2;

// A test's counts must not depend on these.
struct Mode {
  bool one_read;         // one read of the record a call, or two
  bool links;            // probes are links (kernel/uprobe.h), or perf events
  bool timed;            // the ends of calls are seen, or not
  bool guarded = false;  // functions begin with endbr64
};

class RecordProcessTest : public ::testing::TestWithParam<Mode> {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to load BPF programs";
    FakeIoc::usual = GetParam().guarded ? FAKE_IOC_GUARDED : FAKE_IOC;
    auto& shared = shared_probe();
    if (!shared) shared = started({});
    ASSERT_TRUE(shared);
    probe_ = shared;
    drops_before_ = *probe_->drops();
  }
  // Another one, of this test alone.
  void start(const RecordProcessOptions& options) {
    probe_ = started(options);
    ASSERT_TRUE(probe_);
    drops_before_.assign(drops_before_.size(), 0);
  }
  void TearDown() override {
    FakeIoc::usual = FAKE_IOC;
    if (!probe_) return;
    if (!expect_drops_) {
      for (std::uint32_t i = 0; i < drops_before_.size(); ++i) {
        EXPECT_EQ(drops(i), 0u) << "cause " << i;
      }
    }
    leave_nothing_behind();
    if (HasFailure()) shared_probe().reset();  // its content is unknown
  }
  // A kernel before Linux 6.13 has no links of uprobes that count all threads.
  static bool links() { return GetParam().links && kernel::uprobe_link_type(); }
  // The next test finds the probe as if it were new.
  void leave_nothing_behind() {
    for (std::uint32_t slot = 0; slot < IOCX_MAX_IOCS; ++slot) probe_->unwatch({slot});
    EXPECT_TRUE(probe_->free_ended_threads([](std::int32_t, std::int32_t) { return false; }));
    const auto use = value_of(probe_->use());
    EXPECT_EQ(use.attachments, 0u);
    EXPECT_EQ(use.threads, 0u);
    EXPECT_TRUE(probe_->counts()->empty());
    for (const auto table : {IOCX_HELD_THREADS, IOCX_HELD_OVERFLOW_THREADS, IOCX_HELD_CAUSES,
                             IOCX_HELD_SCAN_LISTS, IOCX_HELD_LINES})
      EXPECT_EQ(probe_->object().maps().caps.held(table), 0u) << table;
  }
  // In this test.
  std::uint64_t drops(std::uint32_t reason) const {
    const auto drops = probe_->drops();
    EXPECT_TRUE(drops);
    return drops ? (*drops)[reason] - drops_before_[reason] : 0;
  }
  std::uint32_t watch(const FakeIoc& ioc, std::uint32_t records = 128) {
    return value_of(probe_->watch(target_of(ioc, records)));
  }
  static RecordTarget target_of(const FakeIoc& ioc, std::uint32_t records = 128) {
    RecordTarget target = ioc.target(records, GetParam().one_read);
    if (!GetParam().timed) target.ending = nullptr;
    return target;
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
      EXPECT_EQ(timed(record.stats), record.stats.processed - record.stats.untimed);
    }
    return sum;
  }
  // Those in the histogram.
  static std::uint64_t timed(const iocx_record_stats& stats) {
    return std::accumulate(std::begin(stats.buckets), std::end(stats.buckets), std::uint64_t{0});
  }
  IocCounts counts(std::uint32_t slot) {
    auto all = probe_->counts();
    EXPECT_TRUE(all);
    return all->at(slot);
  }
  // Whether the probes for durations are off.
  bool end_window(std::uint32_t slot, bool anyhow) {
    const auto still = probe_->end_timing(slot, anyhow);
    probe_->apply();
    return still && *still != RecordProcess::UnderWay::calls;
  }
  // Takes its probes off. False: they stay, since others need them.
  bool pause(std::uint32_t slot) {
    probe_->set_off(slot, "the test wants it");
    probe_->apply();
    EXPECT_FALSE(probe_->is_counted(slot));
    return !probe_->is_hit_while_off(slot);
  }
  void resume(std::uint32_t slot) {
    probe_->set_off(slot, "");
    probe_->apply();
    EXPECT_TRUE(probe_->is_counted(slot));
  }
  // Several IOCs that are watched.
  struct Many {
    std::vector<std::unique_ptr<FakeIoc>> iocs;
    std::vector<std::uint32_t> slots;
    void ask(const std::string& line) {
      for (auto& ioc : iocs) ioc->ask(line);
    }
  };
  Many watch_many() {
    Many many;
    for (std::size_t i = 0; i < kIocs; ++i) {
      many.iocs.push_back(std::make_unique<FakeIoc>());
      many.slots.push_back(watch(*many.iocs.back()));
    }
    return many;
  }
  std::shared_ptr<RecordProcess> probe_;
  bool expect_drops_ = false;

 private:
  // To load the programs takes longer than most tests: those that are alike share it.
  static std::shared_ptr<RecordProcess>& shared_probe() {
    static std::map<bool, std::shared_ptr<RecordProcess>> probes;
    return probes[links()];
  }
  static std::shared_ptr<RecordProcess> started(RecordProcessOptions options) {
    options.probe_links = links();
    auto started = RecordProcess::start(options);
    EXPECT_TRUE(started) << started.error().message();
    return started ? std::make_shared<RecordProcess>(std::move(*started)) : nullptr;
  }

  std::vector<std::uint64_t> drops_before_;
};

}  // namespace ioc_exporter::records

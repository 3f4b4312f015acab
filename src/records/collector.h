// RecordsCollector: what each record of the IOCs does, by probes on dbProcess and its neighbours,
// and what the IOCs' own memory says of records and scans. Owns all of that, its families, its
// table on the page, and the decision when the probes are attached (probe_control.h).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/rates.h"
#include "base/retry.h"
#include "exposition/collector.h"
#include "exposition/limits.h"
#include "exposition/self_samples.h"
#include "iocs/host.h"
#include "records/busy_records.h"
#include "records/families/bounds.h"
#include "records/families/families.h"
#include "records/memory/memory_watch.h"
#include "records/nothing_counted.h"
#include "records/options.h"
#include "records/probe/counts.h"
#include "records/probe/extra_probes.h"
#include "records/probe/probe_control.h"
#include "records/probe/probe_points.h"
#include "records/probe/process.h"

namespace ioc_exporter::records {

class RecordsCollector final : public Collector {
 public:
  // Loads the probes; what fails shows in probes(). `host` and `budget` must outlive it.
  RecordsCollector(iocs::Host& host, const Options& options, probes::Budget& budget,
                   const kernel::TraceUse& traces = {});

  std::string_view name() const override { return "records"; }
  bool is_enabled() const override { return options_.enabled; }
  std::vector<ProbeState> probes() const override;
  void follow(TimePoint now) override;
  void tick(TimePoint now) override;
  std::optional<TimePoint> next_due() override;
  void act_on_due(TimePoint now) override;
  void collect(exposition::Page& page) override;
  void status(exposition::StatusPage& page) override;
  void detach() override;
  void attach() override;

  // From the next scrape on. In any thread.
  void set_bounds(const exposition::BoundsOptions& bounds);

  // The probes, for the helper that attaches them; null: there are none.
  RecordProcess* process() { return process_ ? &*process_ : nullptr; }
  // Why the probes were loaded without what traces need; "" = they were not, or with it.
  const std::string& trace_problem() const { return trace_problem_; }

  // For traces, in any thread. The IOCs whose records are counted now.
  struct Counted {
    std::string name;
    std::int32_t pid = 0;
    std::shared_ptr<const Database> database;
    std::uint32_t slot = 0, generation = 0;  // of RecordProcess
  };
  std::vector<Counted> counted() const;
  // All processings of that IOC are to be timed, as far as the budget goes, or no more than usual.
  void time_all(std::uint32_t slot, bool all);

  // The IOCs with all their records, without bounds. In any thread.
  std::vector<IocSample> read();

 private:
  // An IOC whose records are counted, or are to be.
  struct Watched {
    std::uint64_t serial = 0;                  // iocs::LiveIoc::serial
    std::optional<std::uint32_t> slot;         // of the probes
    std::shared_ptr<const Database> database;  // that the probes know of
    std::vector<std::string> notes;            // missing counts, and why
    bool has_write_points = false;
    // All writes are counted, CLOCK_MONOTONIC; nothing: they are not.
    std::optional<std::uint64_t> writes_since_ns;
    Retry attaching;
    std::string problem;  // why it is not counted, or not as it should
    NothingCounted nothing_counted;
    bool refused_reported = false;  // for want of kernel memory
  };
  struct Coming {
    const iocs::LiveIoc& live;
    Watched& watched;
    RecordPoints points;
  };
  struct Reading {
    std::vector<IocSample> iocs;
    SelfSamples self;
    bool complete = true;
  };

  Result<void> load();
  bool is_due(const iocs::LiveIoc& live, TimePoint now) const;
  void watch_due(TimePoint now);
  RecordPoints points_of(const iocs::LiveIoc& live) const;
  RecordTarget target_of(const iocs::LiveIoc& live, const RecordPoints& points) const;
  Result<void> begin_counting(Coming& coming, const Result<std::uint32_t>& slot);
  void note(Coming& coming, const Result<void>& done, TimePoint now);
  void follow_writes(Watched& watched);
  void free_ended_threads(TimePoint now);
  Reading read_all();
  std::vector<PendingRecords> begin(Reading& reading);
  std::optional<PendingRecords> describe(const iocs::LiveIoc& live, const RecordCauses* causes,
                                         std::size_t index, Reading& reading);
  void describe_self(std::uint64_t records, Reading& reading);

  iocs::Host& host_;
  probes::Budget& budget_;
  Options options_;
  kernel::TraceUse traces_;
  std::string trace_problem_;
  std::string why_not_;       // the probes could not be loaded; "" = they were, or are turned off
  mutable std::mutex mutex_;  // of the members below, unless noted otherwise
  std::shared_ptr<const iocs::HostView> view_;
  std::optional<RecordProcess> process_;
  std::optional<ProbeControl> control_;  // there when process_ is
  std::optional<HitCost> measured_cost_;
  std::optional<ExtraProbes> extras_;  // the same
  std::map<iocs::IocId, Watched> watched_;
  TroubleLog trouble_;
  TimePoint next_thread_check_{};
  std::uint64_t threads_checked_at_ = 0;  // Host::task_changes()
  MemoryWatch memory_;                    // in any thread
  Rates rates_;                           // in any thread
  BusyRecords busy_;                      // in any thread
  LabelCache labels_;                     // in any thread
  ShownEdges edges_;
  std::mutex bounds_mutex_;
  RecordBounds bounds_;
  std::optional<RecordBounds> types_;  // with --series=site
};

}  // namespace ioc_exporter::records

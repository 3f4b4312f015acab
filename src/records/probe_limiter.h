// ProbeLimiter: decides, for each IOC whose records are counted, when its probes are attached. They
// are detached while the operator wants it, while the IOC is stopped or under a debugger, and for a
// part of the time when they would cost it more than the budget (records/overhead_governor.h). Only
// the last hides calls that would have been counted; estimates make up for these. Where other IOCs
// need the attachment, the programs return at once instead, which spares what is not the trap.
// Before that, and above the target, fewer calls are timed (records/timing_governor.h).
//
// Not thread-safe: under the same mutex as the RecordProcess that it pauses.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "records/cost_calibration.h"
#include "records/hit_cost.h"
#include "records/ioc_estimates.h"
#include "records/overhead_governor.h"
#include "records/overhead_samples.h"
#include "records/process.h"
#include "records/timing_governor.h"

namespace ioc_exporter::records {

class ProbeLimiter {
 public:
  using Clock = std::chrono::steady_clock;
  // How long an IOC is left as it is whose probes cannot be taken off.
  static constexpr std::chrono::seconds kRetry{60};

  // Fractions of one core for each IOC, 0 for none.
  struct Limits {
    double target = 0;
    double budget = 0;
  };
  // Times as dear as measured at start: what hits are taken for when it is chosen how many calls
  // are timed, until windows have shown it. Real IOCs took two to three times as much.
  static constexpr double kDearAtFirst = 2;
  // How long an IOC's completions of timed calls are waited for.
  static constexpr std::chrono::seconds kCompletions{60};
  static constexpr std::chrono::milliseconds kCompletionsLook{50}, kShortly{500};
  // Of the budget, what counting passes and puts may cost in pauses: these come as often as they
  // come. First the puts are given up, then the passes.
  static constexpr double kMostForPasses = 0.25;
  static constexpr unsigned kDearPauses = 3;  // in a row: one may have other hits in it

  // `records` must outlive it.
  ProbeLimiter(RecordProcess& records, Limits limits, HitCost cost);

  // An IOC that RecordProcess watches from now on; `name` is for the log.
  void watch(std::uint32_t slot, std::string name);
  // Before RecordProcess::unwatch().
  void forget(std::uint32_t slot);

  void set_traced_or_stopped(std::uint32_t slot, bool is);
  void set_detached(bool detached);
  // All its calls are wanted to be timed: then the target does not hold, but the budget does.
  void set_wanted(std::uint32_t slot, bool wanted);
  bool detached() const { return detached_; }

  // Looks at the IOCs that are due.
  void look(Clock::time_point now = Clock::now());
  // When a slice or a pause ends; nothing while there are none. IOCs that are attached all the time
  // are to be looked at about once a second.
  std::optional<Clock::time_point> next_end() const;

  // What pauses have hidden, to be added to what RecordProcess counted.
  HiddenCounts hidden(std::uint32_t slot, Clock::time_point now = Clock::now());
  // Nothing when the slot is not watched.
  std::optional<OverheadSample> sample(std::uint32_t slot) const;

 private:
  struct Watched {
    std::string name;
    OverheadGovernor governor;
    TimingGovernor timing;
    ProbeHits seen = {};       // at the last look
    ProbeHits accounted = {};  // what the budget is asked for: windows, spread over their cycle
    Clock::time_point seen_at = {};
    std::optional<Clock::time_point> window_ended = {};  // completions are waited for since
    CostCalibration calibration = {};
    bool calibrates_slices = false;  // else windows
    IocEstimates estimates = {};
    unsigned dear_pauses = 0;
    // In the pauses, while it is looked at in slices.
    RecordProcess::Keeps keeps = RecordProcess::Keeps::passes_and_puts;
    bool untimed = false;  // the same
    bool traced_or_stopped = false;
    bool fresh = true;  // the governor has not seen a hit since the probes were attached
    Clock::time_point cycle_began = {};
    std::optional<Clock::time_point> slice_began = {};
    Clock::time_point unbound_until = {};  // its probes could not be taken off
    std::string reported = {};
  };

  bool is_away(const Watched& watched) const { return detached_ || watched.traced_or_stopped; }
  void away_or_back(std::uint32_t slot, Watched& watched, bool was_away);
  void follow(std::uint32_t slot, Watched& watched, const OverheadGovernor::Step& step);
  // Passes through its scan lists around something that is done in between.
  struct Around {
    PassModel::Lists before, after;
  };
  PassModel::Lists passes(std::uint32_t slot, Watched& watched);
  void end_slice(std::uint32_t slot, Watched& watched, Clock::time_point stopped, Around& passes);
  void begin_slice(std::uint32_t slot, Watched& watched, Clock::time_point now, Around passes);
  void end_estimates(std::uint32_t slot, Watched& watched);
  void forget_triggers(std::uint32_t slot, Watched& watched, std::uint64_t kind);
  void leave_unbound(std::uint32_t slot, Watched& watched);
  bool pause(std::uint32_t slot, Watched& watched,
             RecordProcess::Keeps keeps = RecordProcess::Keeps::nothing);
  void resume(std::uint32_t slot, Watched& watched,
              RecordProcess::Keeps counts = RecordProcess::Keeps::nothing);
  void count_triggers(std::uint32_t slot, Watched& watched, RecordProcess::Keeps counts);
  bool give_up_what_is_dear(std::uint32_t slot, Watched& watched);
  std::optional<std::vector<RawRecord>> collect(std::uint32_t slot, Watched& watched);
  void report(Watched& watched, const std::string& action, const Error& error);
  OverheadGovernor make_governor(double budget);
  TimingGovernor make_timing();
  TimingChoice timing_choice() const;
  void follow_timing(std::uint32_t slot, Watched& watched, Clock::time_point now, ProbeHits seen);
  void begin_window(std::uint32_t slot, Watched& watched);
  void end_window(std::uint32_t slot, Watched& watched, Clock::time_point now, bool anyhow);
  void time_all(std::uint32_t slot, Watched& watched);
  void time_none(std::uint32_t slot, Watched& watched);
  // Moments of the calibration, with the hits as of now.
  void calibrate(std::uint32_t slot, Watched& watched, bool slices, std::optional<bool> begins);
  void account(Watched& watched, Clock::time_point now, ProbeHits seen) const;

  RecordProcess& records_;
  Limits limits_;
  HitCost cost_;
  std::mt19937_64 random_{std::random_device{}()};
  std::map<std::uint32_t, Watched> watched_;
  bool detached_ = false;
};

}  // namespace ioc_exporter::records

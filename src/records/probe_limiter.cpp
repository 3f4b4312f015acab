#include "records/probe_limiter.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "records/scan_passes.h"

namespace ioc_exporter::records {
namespace {

using Step = OverheadGovernor::Step;

double seconds_between(ProbeLimiter::Clock::time_point from, ProbeLimiter::Clock::time_point to) {
  return std::max(0.0, std::chrono::duration<double>(to - from).count());
}

double percent(double share) {
  return share * 100;
}

}  // namespace

ProbeLimiter::ProbeLimiter(RecordProcess& records, Limits limits, HitCost cost)
    : records_(records), limits_(limits), cost_(cost) {}

OverheadGovernor ProbeLimiter::make_governor(double budget) {
  const double least_timed =
      timing_choice() == TimingChoice::by_windows ? 1.0 / TimingGovernor::kMostForBudget : 1;
  return {budget, cost_, [this] { return std::uniform_real_distribution<>(0, 1)(random_); },
          least_timed};
}

TimingChoice ProbeLimiter::timing_choice() const {
  if (records_.durations() == Durations::by_ends) return TimingChoice::by_windows;
  return records_.times_some_calls_only() ? TimingChoice::by_rate : TimingChoice::all;
}

TimingGovernor ProbeLimiter::make_timing() {
  return {{.target = limits_.target,
           .budget = limits_.budget,
           .choice = timing_choice(),
           .most_rate = records_.timed_rate(),
           .cycle =
               records_.object().has_links() ? TimingGovernor::kCycle : TimingGovernor::kLongCycle},
          cost_ * kDearAtFirst,
          [this] { return std::uniform_real_distribution<>(0, 1)(random_); }};
}

void ProbeLimiter::watch(std::uint32_t slot, std::string name) {
  Watched& watched =
      watched_
          .insert_or_assign(slot,
                            Watched{std::move(name), make_governor(limits_.budget), make_timing()})
          .first->second;
  if (is_away(watched)) pause(slot, watched);
}

void ProbeLimiter::forget(std::uint32_t slot) {
  watched_.erase(slot);
}

void ProbeLimiter::set_traced_or_stopped(std::uint32_t slot, bool is) {
  const auto found = watched_.find(slot);
  if (found == watched_.end() || found->second.traced_or_stopped == is) return;
  Watched& watched = found->second;
  const bool was_away = is_away(watched);
  watched.traced_or_stopped = is;
  away_or_back(slot, watched, was_away);
}

void ProbeLimiter::set_wanted(std::uint32_t slot, bool wanted) {
  if (const auto found = watched_.find(slot); found != watched_.end())
    found->second.timing.set_wanted(wanted, Clock::now());
}

void ProbeLimiter::set_detached(bool detached) {
  const bool before = std::exchange(detached_, detached);
  if (detached && !before)
    if (auto done = records_.pause_all(); !done)
      log::warn("take off the record probes: {}", done.error().message());
  for (auto& [slot, watched] : watched_)
    away_or_back(slot, watched, before || watched.traced_or_stopped);
}

void ProbeLimiter::away_or_back(std::uint32_t slot, Watched& watched, bool was_away) {
  if (is_away(watched) == was_away) return;
  if (was_away) {
    resume(slot, watched);
    watched.fresh = true;
    return;
  }
  pause(slot, watched);
  watched.calibration.cancel();
  // What happens from now on is not to be estimated.
  end_estimates(slot, watched);
}

// The estimates so far stay.
void ProbeLimiter::end_estimates(std::uint32_t slot, Watched& watched) {
  watched.slice_began.reset();
  watched.estimates.end();
  forget_triggers(slot, watched, 0);
}

void ProbeLimiter::forget_triggers(std::uint32_t slot, Watched& watched, std::uint64_t kind) {
  if (auto ok = records::forget_triggers(records_.object().maps(), slot, kind); !ok)
    report(watched, "forget what has set records off", ok.error());
}

void ProbeLimiter::look(Clock::time_point now) {
  const auto is_due = [&](const Watched& watched) {
    return !is_away(watched) && (watched.fresh || watched.governor.due() <= now ||
                                 (!watched.governor.in_slices() && watched.timing.due() <= now));
  };
  if (std::ranges::none_of(watched_, [&](const auto& entry) { return is_due(entry.second); }))
    return;
  const auto hits = records_.hits();
  if (!hits) {
    log::warn("{}", hits.error().message());
    return;
  }
  for (auto& [slot, watched] : watched_) {
    if (!is_due(watched)) continue;
    const auto found = hits->find(slot);
    const ProbeHits seen = found == hits->end() ? ProbeHits{} : found->second;
    const bool unbound = watched.unbound_until != Clock::time_point{};
    if (unbound && now >= watched.unbound_until) {
      watched.governor = make_governor(limits_.budget);
      watched.unbound_until = {};
      watched.fresh = true;
    }
    if (watched.governor.wants_probes() && records_.paused(slot)) resume(slot, watched);
    if (std::exchange(watched.fresh, false)) {
      watched.seen = seen;
      watched.seen_at = now;
      watched.governor.restart(now, watched.accounted);
      watched.timing.restart(now, seen);
    }
    const bool sliced = watched.governor.in_slices();
    if (!sliced) follow_timing(slot, watched, now, seen);
    account(watched, now, seen);
    follow(slot, watched, watched.governor.look(now, watched.accounted));
    if (sliced && !watched.governor.in_slices()) watched.timing.restart(now, seen);
  }
}

// For the budget a window costs what it costs on average over its cycle.
void ProbeLimiter::account(Watched& watched, Clock::time_point now, ProbeHits seen) const {
  const auto grown = [](std::uint64_t at, std::uint64_t before) {
    return at > before ? at - before : 0;
  };
  const bool spread = !watched.governor.in_slices() && watched.timing.in_windows();
  watched.accounted.entries += grown(seen.entries, watched.seen.entries);
  if (!spread || watched.timing.resting())  // completions that are waited for
    watched.accounted.returns += grown(seen.returns, watched.seen.returns);
  if (spread && cost_.return_seconds > 0)
    watched.accounted.returns += static_cast<std::uint64_t>(
        watched.timing.timing_load() / watched.timing.one_in() *
        seconds_between(watched.seen_at, now) /
        (cost_.return_seconds * watched.calibration.factor(kDearAtFirst)));
  watched.seen = seen;
  watched.seen_at = now;
}

// `begins`: with the probes, or without them; nothing: what has begun is over.
void ProbeLimiter::calibrate(std::uint32_t slot, Watched& watched, bool slices,
                             std::optional<bool> begins) {
  CostCalibration& calibration = watched.calibration;
  if (std::exchange(watched.calibrates_slices, slices) != slices) calibration.forget_times();
  const auto cpu = records_.cpu_seconds(slot);
  const auto hits = records_.hits(slot);
  if (!cpu || !hits) return calibration.cancel();
  const double now = std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
  // A window has no other entries than the time around it.
  const double assumed = (slices ? static_cast<double>(hits->entries) * cost_.entry_seconds : 0) +
                         static_cast<double>(hits->returns) * cost_.return_seconds;
  const CostCalibration::Moment moment{now, *cpu, assumed};
  calibration.end(moment);
  // A pause with the traps of others' probes shows nothing.
  if (begins && (*begins || !records_.shares_probes(slot))) calibration.begin(*begins, moment);
  watched.governor.set_cost(cost_ * calibration.factor());
  watched.timing.set_cost(cost_ * calibration.factor(kDearAtFirst));
}

void ProbeLimiter::follow_timing(std::uint32_t slot, Watched& watched, Clock::time_point now,
                                 ProbeHits seen) {
  using Do = TimingGovernor::Do;
  const bool before = watched.timing.in_windows();
  const Do what = watched.timing.look(now, seen);
  if (!before && watched.timing.in_windows())
    log::info(
        "ioc {}: to time all calls would cost {:.1f} % of a core: one in {} is timed, all are "
        "counted",
        watched.name, percent(watched.timing.entry_load() + watched.timing.timing_load()),
        watched.timing.one_in());
  switch (what) {
    case Do::nothing:
      break;
    case Do::time_all:
      time_all(slot, watched);
      break;
    case Do::begin_window:
      begin_window(slot, watched);
      break;
    case Do::end_window:
    case Do::end_window_anyhow:
      end_window(slot, watched, now, what == Do::end_window_anyhow);
      break;
    case Do::set_rate:
      if (auto ok = records_.set_timed_rate(slot, watched.timing.rate()); !ok)
        report(watched, "time fewer calls", ok.error());
      break;
  }
  if (!watched.window_ended) return;
  auto ended = records_.end_completions(slot, now - *watched.window_ended > kCompletions);
  if (!ended) report(watched, "take off the probe for completions", ended.error());
  if (!ended || *ended) watched.window_ended.reset();
  // Most take some milliseconds.
  if (watched.window_ended && watched.timing.resting())
    watched.timing.look_at(
        now + (now - *watched.window_ended < kShortly ? kCompletionsLook : TimingGovernor::kLook));
}

void ProbeLimiter::time_all(std::uint32_t slot, Watched& watched) {
  watched.window_ended.reset();
  if (auto ok = records_.time_all(slot); !ok) report(watched, "time all calls", ok.error());
}

// In slices. The breakpoints where calls end would be hit by all IOCs on the library.
void ProbeLimiter::time_none(std::uint32_t slot, Watched& watched) {
  if (records_.durations() != Durations::by_ends) return;
  watched.untimed = true;
  if (auto ended = records_.end_window(slot, true); !ended)
    report(watched, "take off the probes for durations", ended.error());
}

void ProbeLimiter::begin_window(std::uint32_t slot, Watched& watched) {
  calibrate(slot, watched, false, std::nullopt);
  auto began = records_.time_window(slot, watched.timing.one_in(), watched.timing.window());
  if (!began) report(watched, "attach the probes for durations", began.error());
  watched.timing.window_began(Clock::now());
  calibrate(slot, watched, false, true);
}

void ProbeLimiter::end_window(std::uint32_t slot, Watched& watched, Clock::time_point now,
                              bool anyhow) {
  calibrate(slot, watched, false, std::nullopt);
  auto ended = records_.end_window(slot, anyhow);
  if (!ended) report(watched, "take off the probes for durations", ended.error());
  if (ended && !*ended) return;
  watched.timing.window_ended();
  calibrate(slot, watched, false, false);
  if (!watched.window_ended) watched.window_ended = now;
}

void ProbeLimiter::follow(std::uint32_t slot, Watched& watched, const Step& step) {
  const OverheadGovernor& governor = watched.governor;
  if (step.cycle_begins && !step.cycle_ends) time_all(slot, watched);
  if (step.cycle_begins && !step.cycle_ends)
    log::warn(
        "ioc {}: the record probes would cost more than --overhead.budget, {:g} % of a core: it is "
        "looked at for {:.1f} % of the time, and its counts become estimates",
        watched.name, percent(limits_.budget), percent(governor.attached_share()));
  if (step.slice_ends || step.cycle_begins) calibrate(slot, watched, true, std::nullopt);
  if (step.slice_begins && !records_.shares_probes(slot))
    watched.dear_pauses =
        governor.pause_load() > limits_.budget * kMostForPasses ? watched.dear_pauses + 1 : 0;
  const bool gives_up = give_up_what_is_dear(slot, watched);
  const bool any =
      gives_up || step.slice_ends || step.cycle_ends || step.cycle_begins || step.slice_begins;
  Around around{any ? passes(slot, watched) : PassModel::Lists(), {}};
  if (gives_up) watched.estimates.learn_anew(around.before, records_.counts_passes(slot));
  const auto stopped = Clock::now();
  // Counting stops at once; that the probes are off takes the kernel some tenths of a second more.
  if (!governor.wants_probes() && !records_.paused(slot)) {
    if (!pause(slot, watched, watched.keeps)) return leave_unbound(slot, watched);
    if (records_.shares_probes(slot)) time_none(slot, watched);
  }
  if (governor.in_slices() && !governor.wants_probes() && (step.slice_ends || step.cycle_begins))
    calibrate(slot, watched, true, false);
  if (step.slice_ends) end_slice(slot, watched, stopped, around);
  if (step.cycle_ends)
    watched.estimates.cycle_ended(seconds_between(watched.cycle_began, stopped), around.before);
  if (step.cycle_begins && !step.cycle_ends)
    watched.estimates.learn_anew(around.before, records_.counts_passes(slot));
  if (step.cycle_begins) watched.cycle_began = stopped;
  if (step.slice_begins) begin_slice(slot, watched, stopped, std::move(around));
  if (!step.cycle_ends || step.cycle_begins) return;
  count_triggers(slot, watched, RecordProcess::Keeps::nothing);
  if (records_.paused(slot)) resume(slot, watched);
  if (std::exchange(watched.untimed, false)) time_all(slot, watched);
  end_estimates(slot, watched);
  watched.keeps = RecordProcess::Keeps::passes_and_puts;
  watched.dear_pauses = 0;
  log::info("ioc {}: the record probes cost {:.1f} % of a core and are attached all the time again",
            watched.name, percent(governor.overhead()));
}

// Whether something is given up now: then nothing holds that was learned from it.
bool ProbeLimiter::give_up_what_is_dear(std::uint32_t slot, Watched& watched) {
  using Keeps = RecordProcess::Keeps;
  if (watched.dear_pauses < kDearPauses || watched.keeps == Keeps::nothing) return false;
  const bool puts = watched.keeps == Keeps::passes_and_puts;
  watched.keeps = puts ? Keeps::passes : Keeps::nothing;
  watched.dear_pauses = 0;
  if (puts) forget_triggers(slot, watched, IOCX_TRIGGER_PUT);
  log::info(
      "ioc {}: to count what sets its records off would cost {:.1f} % of a core: {} estimated by "
      "time",
      watched.name, percent(watched.governor.pause_load()),
      puts ? "what puts process is" : "the pauses are");
  return true;
}

// None where some have gone by uncounted: then nothing holds that was learned from them.
PassModel::Lists ProbeLimiter::passes(std::uint32_t slot, Watched& watched) {
  using Keeps = RecordProcess::Keeps;
  if (watched.keeps == Keeps::nothing || !records_.counts_passes(slot)) return {};
  const bool puts = watched.keeps == Keeps::passes_and_puts && records_.counts_puts(slot);
  const auto now = Clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
  auto lists = read_passes(records_.object().maps(), slot, records_.generation(slot), puts,
                           static_cast<std::uint64_t>(now));
  if (lists) return std::move(*lists);
  report(watched, "read the passes of scans", lists.error());
  return {};
}

void ProbeLimiter::end_slice(std::uint32_t slot, Watched& watched, Clock::time_point stopped,
                             Around& around) {
  if (!watched.slice_began) return;
  const auto records = collect(slot, watched);
  around.after = passes(slot, watched);
  if (records)
    watched.estimates.slice_ended(*records, seconds_between(*watched.slice_began, stopped),
                                  around.before, around.after);
  else
    watched.estimates.slice_lost(around.after);
  watched.slice_began.reset();
}

// Where the slice before has ended just now, its last counters are the first of this one.
void ProbeLimiter::begin_slice(std::uint32_t slot, Watched& watched, Clock::time_point now,
                               Around around) {
  const bool was_paused = records_.paused(slot);
  const bool goes_on = !was_paused && watched.estimates.has_base();
  count_triggers(slot, watched, watched.keeps);
  if (!goes_on) {
    const auto records = collect(slot, watched);
    if (!records) return;  // nothing is known of this cycle
    watched.estimates.set_base(*records);
  }
  if (was_paused) {
    calibrate(slot, watched, true, std::nullopt);
    resume(slot, watched, watched.keeps);
  }
  if (!goes_on) around.after = passes(slot, watched);
  if (records_.paused(slot)) return;
  watched.estimates.slice_began(around.before, around.after);
  calibrate(slot, watched, true, true);
  watched.slice_began = was_paused ? records_.counting_since(slot) : now;
  watched.governor.attached(*watched.slice_began);
}

// To count nothing and cost the same would be the worst of both.
void ProbeLimiter::leave_unbound(std::uint32_t slot, Watched& watched) {
  count_triggers(slot, watched, RecordProcess::Keeps::nothing);
  if (records_.paused(slot)) resume(slot, watched);
  end_estimates(slot, watched);
  watched.governor = make_governor(0);
  watched.fresh = true;
  watched.unbound_until = Clock::now() + kRetry;
}

// Whether nothing is counted from now on, as the probes are off or their programs return at once.
bool ProbeLimiter::pause(std::uint32_t slot, Watched& watched, RecordProcess::Keeps keeps) {
  auto done = records_.pause(slot, keeps);
  if (!done) {
    report(watched, "take off the record probes", done.error());
    return false;
  }
  if (!*done)
    report(
        watched, "take off the record probes",
        error_in_words("other IOCs on the same library need them: each hit still costs the trap"));
  return true;
}

void ProbeLimiter::resume(std::uint32_t slot, Watched& watched, RecordProcess::Keeps counts) {
  if (auto done = records_.resume(slot, counts); !done)
    report(watched, "attach the record probes again", done.error());
}

// While it is paused, it stays as it is: the pause has said what is counted.
void ProbeLimiter::count_triggers(std::uint32_t slot, Watched& watched,
                                  RecordProcess::Keeps counts) {
  if (auto ok = records_.count_triggers(slot, counts); !ok)
    report(watched, "count what sets records off", ok.error());
}

std::optional<std::vector<RawRecord>> ProbeLimiter::collect(std::uint32_t slot, Watched& watched) {
  auto records = records_.collect(slot);
  if (records) return std::move(*records);
  report(watched, "read the record counts", records.error());
  return std::nullopt;
}

// An IOC that ends between two looks is no trouble; of other trouble, each kind once in a row.
void ProbeLimiter::report(Watched& watched, const std::string& action, const Error& error) {
  if (error.code == std::errc::no_such_process) return;
  std::string text = action + ": " + error.message();
  if (text != watched.reported) log::warn("ioc {}: {}", watched.name, text);
  watched.reported = std::move(text);
}

std::optional<ProbeLimiter::Clock::time_point> ProbeLimiter::next_end() const {
  std::optional<Clock::time_point> next;
  for (const auto& [slot, watched] : watched_) {
    if (is_away(watched)) continue;
    const bool sliced = watched.governor.in_slices();
    if (!sliced && !watched.timing.in_windows()) continue;
    const auto due = sliced ? watched.governor.due() : watched.timing.due();
    if (!next || due < *next) next = due;
  }
  return next;
}

HiddenCounts ProbeLimiter::hidden(std::uint32_t slot, Clock::time_point now) {
  const auto found = watched_.find(slot);
  if (found == watched_.end()) return {};
  Watched& watched = found->second;
  if (!watched.governor.in_slices()) return watched.estimates.hidden();
  const double planned = watched.governor.cycle_seconds();
  const double over = seconds_between(watched.cycle_began, now);
  const double progress = planned > over ? over / planned : 1;
  const auto in_slice = watched.slice_began ? collect(slot, watched) : std::nullopt;
  return watched.estimates.hidden(progress, passes(slot, watched), in_slice ? &*in_slice : nullptr);
}

std::optional<OverheadSample> ProbeLimiter::sample(std::uint32_t slot) const {
  const auto found = watched_.find(slot);
  if (found == watched_.end()) return std::nullopt;
  const Watched& watched = found->second;
  if (is_away(watched)) return OverheadSample{.attached_share = 0, .timed_share = 0};
  const double in_slice = watched.untimed ? 0 : 1;
  const double timed = watched.governor.in_slices() ? in_slice : watched.timing.timed_share();
  return OverheadSample{.core_share = watched.governor.overhead(),
                        .attached_share = watched.governor.attached_share(),
                        .timed_share = records_.is_timed(slot) ? timed : 0,
                        .by_passes = watched.estimates.known()};
}

}  // namespace ioc_exporter::records

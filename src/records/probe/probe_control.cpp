#include "records/probe/probe_control.h"

#include "base/log.h"

namespace ioc_exporter::records {
namespace {

using std::chrono::milliseconds;

// Most completions take some milliseconds: between looks whether there are more to come.
constexpr milliseconds kCompletionsLook{50}, kShortly{500};

double percent(double share) {
  return share * 100;
}

}  // namespace

ProbeControl::ProbeControl(RecordProcess& records, Limits limits, HitCost cost)
    : records_(records), limits_(limits), cost_(cost) {}

void ProbeControl::watch(std::uint32_t slot, std::string name) {
  // Without links it takes the kernel a second to take probes off.
  const milliseconds cycle(records_.object().attacher().has_links() ? 5'000 : 60'000);
  TimingTarget timing({limits_.target, limits_.budget, cycle},
                      {2 * cost_.emulated, cost_.emulated},
                      [this] { return std::uniform_real_distribution<>(0, 1)(random_); });
  RecordBudget budget(limits_.budget, 2 * cost_.emulated);
  Watched& watched =
      watched_
          .insert_or_assign(
              slot, Watched{.name = std::move(name), .budget = budget, .timing = std::move(timing)})
          .first->second;
  if (is_away(watched)) pause(slot, watched);
}

void ProbeControl::forget(std::uint32_t slot) {
  watched_.erase(slot);
}

void ProbeControl::set_traced_or_stopped(std::uint32_t slot, bool is) {
  const auto found = watched_.find(slot);
  if (found == watched_.end() || found->second.traced_or_stopped == is) return;
  Watched& watched = found->second;
  const bool was_away = is_away(watched);
  watched.traced_or_stopped = is;
  away_or_back(slot, watched, was_away);
}

void ProbeControl::set_wanted(std::uint32_t slot, bool wanted) {
  if (const auto found = watched_.find(slot); found != watched_.end())
    found->second.timing.set_wanted(wanted, Clock::now());
}

void ProbeControl::set_detached(bool detached) {
  const bool before = std::exchange(detached_, detached);
  if (detached && !before)
    if (auto done = records_.pause_all(); !done)
      log::warn("take off the record probes: {}", done.error().message());
  for (auto& [slot, watched] : watched_)
    away_or_back(slot, watched, before || watched.traced_or_stopped);
}

// An IOC that is over its budget stays without probes: the next look decides.
void ProbeControl::away_or_back(std::uint32_t slot, Watched& watched, bool was_away) {
  if (is_away(watched) == was_away) return;
  if (!was_away)
    pause(slot, watched);
  else if (!watched.budget.rests())
    resume(slot, watched);
  watched.fresh = true;
}

bool ProbeControl::is_due(const Watched& watched, Clock::time_point now) const {
  if (is_away(watched)) return false;
  return watched.fresh || watched.budget.due() <= now ||
         (watched.budget.counts() && watched.timing.due() <= now);
}

void ProbeControl::look(Clock::time_point now) {
  if (std::ranges::none_of(watched_, [&](const auto& one) { return is_due(one.second, now); }))
    return;
  const auto hits = records_.hits();
  if (!hits) {
    log::warn("{}", hits.error().message());
    return;
  }
  for (auto& [slot, watched] : watched_) {
    if (!is_due(watched, now)) continue;
    const auto found = hits->find(slot);
    const ProbeHits seen = found == hits->end() ? ProbeHits{} : found->second;
    if (std::exchange(watched.fresh, false) && !watched.budget.rests()) {
      watched.budget.attached(now, seen.entries);
      watched.timing.restart(now, seen, true);
    }
    if (now >= watched.left_until) follow_budget(slot, watched, now, seen);
    if (watched.budget.counts() && records_.is_timed(slot)) follow_timing(slot, watched, now, seen);
  }
}

void ProbeControl::follow_budget(std::uint32_t slot, Watched& watched, Clock::time_point now,
                                 ProbeHits seen) {
  const bool in_trial = watched.budget.in_trial();
  switch (watched.budget.look(now, seen.entries)) {
    case RecordBudget::Do::nothing:
      break;
    case RecordBudget::Do::take_off:
      take_off(slot, watched, now, in_trial);
      break;
    case RecordBudget::Do::attach: {
      const auto began = Clock::now();
      resume(slot, watched);
      watched.budget.attached(now + (Clock::now() - began), seen.entries);
      break;
    }
    case RecordBudget::Do::keep:
      log::info("ioc {}: its records are counted again, for {:.1f} % of a core", watched.name,
                percent(watched.budget.load()));
      watched.timing.restart(now, seen, false);
      break;
  }
}

void ProbeControl::take_off(std::uint32_t slot, Watched& watched, Clock::time_point now,
                            bool in_trial) {
  if (!in_trial)
    log::warn(
        "ioc {}: counting its records would cost {:.1f} % of a core, more than --overhead.budget: "
        "they are not counted, and have no series, until the load has fallen",
        watched.name, percent(watched.budget.load()));
  // Without the probes at the ends: a trial times nothing.
  if (auto done = records_.end_window(slot, true); !done)
    report(watched, "take off the probes for durations", done.error());
  if (auto done = records_.end_completions(slot, true); !done)
    report(watched, "take off the probe for completions", done.error());
  watched.window_ended.reset();
  if (pause(slot, watched)) return;
  // To count nothing and cost the same would be the worst of both.
  resume(slot, watched);
  watched.budget = RecordBudget(limits_.budget, 2 * cost_.emulated);
  watched.fresh = true;
  watched.left_until = now + kRetry;
}

void ProbeControl::follow_timing(std::uint32_t slot, Watched& watched, Clock::time_point now,
                                 ProbeHits seen) {
  using Do = TimingTarget::Do;
  const bool before = watched.timing.in_windows();
  const Do what = watched.timing.look(now, seen);
  if (!before && watched.timing.in_windows())
    log::info("ioc {}: timing all calls would cost {:.1f} % of a core: {} timed, all are counted",
              watched.name, percent(watched.timing.entry_load() + watched.timing.timing_load()),
              watched.timing.one_in() == 0
                  ? "none is"
                  : "one in " + std::to_string(watched.timing.one_in()) + " is");
  if (what == Do::time_all) {
    watched.window_ended.reset();
    if (auto ok = records_.time_all(slot); !ok) report(watched, "time all calls", ok.error());
  } else if (what == Do::begin_window) {
    begin_window(slot, watched);
  } else if (what != Do::nothing) {
    end_window(slot, watched, now, what == Do::end_window_anyhow);
  }
  if (watched.window_ended) end_completions(slot, watched, now);
}

void ProbeControl::begin_window(std::uint32_t slot, Watched& watched) {
  auto began = records_.time_window(slot, watched.timing.one_in(), watched.timing.window());
  if (!began) report(watched, "attach the probes for durations", began.error());
  watched.timing.window_began(Clock::now());
}

void ProbeControl::end_window(std::uint32_t slot, Watched& watched, Clock::time_point now,
                              bool anyhow) {
  auto ended = records_.end_window(slot, anyhow);
  if (!ended) report(watched, "take off the probes for durations", ended.error());
  if (ended && !*ended) return;
  watched.timing.window_ended();
  if (!watched.window_ended) watched.window_ended = now;
}

void ProbeControl::end_completions(std::uint32_t slot, Watched& watched, Clock::time_point now) {
  const auto waited = now - *watched.window_ended;
  auto ended = records_.end_completions(slot, waited > kCompletions);
  if (!ended) report(watched, "take off the probe for completions", ended.error());
  if (!ended || *ended)
    watched.window_ended.reset();
  else if (watched.timing.resting())
    watched.timing.look_at(now + (waited < kShortly ? kCompletionsLook : TimingTarget::kLook));
}

// Whether nothing is counted from now on, as the probes are off or their programs return at once.
bool ProbeControl::pause(std::uint32_t slot, Watched& watched) {
  auto done = records_.pause(slot);
  if (done && !*done)
    report(
        watched, "take off the record probes",
        error_in_words("other IOCs on the same library need them: each hit still costs the trap"));
  if (!done) report(watched, "take off the record probes", done.error());
  return done.ok();
}

void ProbeControl::resume(std::uint32_t slot, Watched& watched) {
  if (auto done = records_.resume(slot); !done)
    report(watched, "attach the record probes again", done.error());
}

// An IOC that ends between two looks is no trouble; of other trouble, each kind once in a row.
void ProbeControl::report(Watched& watched, const std::string& action, const Error& error) {
  if (error.code == std::errc::no_such_process) return;
  std::string text = action + ": " + error.message();
  if (text != watched.reported) log::warn("ioc {}: {}", watched.name, text);
  watched.reported = std::move(text);
}

std::optional<ProbeControl::Clock::time_point> ProbeControl::next_due() const {
  std::optional<Clock::time_point> next;
  for (const auto& [slot, watched] : watched_) {
    if (is_away(watched)) continue;
    const bool in_windows = watched.budget.counts() && watched.timing.in_windows();
    if (!watched.budget.in_trial() && !in_windows) continue;
    const auto due = in_windows ? watched.timing.due() : watched.budget.due();
    if (!next || due < *next) next = due;
  }
  return next;
}

std::optional<OverheadSample> ProbeControl::sample(std::uint32_t slot) const {
  const auto found = watched_.find(slot);
  if (found == watched_.end()) return std::nullopt;
  const Watched& watched = found->second;
  if (!watched.budget.counts())
    return OverheadSample{.over_budget = watched.budget.load(), .attached = false};
  if (is_away(watched)) return OverheadSample{.timed_share = 0, .attached = false};
  return OverheadSample{.core_share = watched.timing.load(),
                        .timed_share = records_.is_timed(slot) ? watched.timing.timed_share() : 0};
}

void RecordBudget::attached(Clock::time_point now, std::uint64_t entries) {
  marked_ = now;
  entries_ = entries;
  over_ = 0;
  due_ = now + (in_trial() ? kTrial : kLook);
}

RecordBudget::Do RecordBudget::look(Clock::time_point now, std::uint64_t entries) {
  if (now < due_) return Do::nothing;
  if (budget_ <= 0) {
    due_ = now + kLook;
    return Do::nothing;
  }
  if (rests()) {
    state_ = State::trial;
    attached(now, entries);
    return Do::attach;
  }
  const double seconds = std::chrono::duration<double>(now - marked_).count();
  const std::uint64_t more = entries > entries_ ? entries - entries_ : 0;
  const unsigned over = over_;
  attached(now, entries);
  if (seconds <= 0) return Do::nothing;
  load_ = static_cast<double>(more) * hit_seconds_ / seconds;
  if (in_trial() && load_ < budget_ * kCalm) {
    state_ = State::counts;
    kept_since_ = now;
    return Do::keep;
  }
  over_ = load_ > budget_ ? over + 1 : 0;
  if (counts() && now - kept_since_ >= kMostRest) rest_ = kFirstRest;
  if (counts() && over_ < kLooksOver) return Do::nothing;
  state_ = State::rests;
  due_ = now + rest_;
  rest_ = std::min(2 * rest_, kMostRest);
  return Do::take_off;
}

}  // namespace ioc_exporter::records

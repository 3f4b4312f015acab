#include "records/probe/probe_control.h"

#include <random>

#include "base/log.h"

namespace ioc_exporter::records {
namespace {

using std::chrono::milliseconds;

// Between looks whether timed calls, or completions, are still to come: most take milliseconds.
constexpr milliseconds kWindowLook{500}, kFirstWindowLooks{50}, kShortly{500};

double percent(double share) {
  return share * 100;
}

ProbeCost price(const ProbeHits& hits, const HitCost& cost) {
  return {counting_seconds(hits, cost), timing_seconds(hits, cost)};
}

double seconds_of(const ProbeCost& cost) {
  return cost.counting + cost.timing;
}

}  // namespace

ProbeControl::ProbeControl(RecordProcess& records, const TimingLevel::Limits& limits, HitCost cost,
                           std::function<double()> random)
    : records_(records),
      limits_(limits),
      cost_(cost),
      cycles_{TimingCycle(TimingLevel::kLevels[1], random),
              TimingCycle(TimingLevel::kLevels[2], random)} {}

std::function<double()> ProbeControl::uniform_random() {
  return [engine = std::mt19937_64(std::random_device()())]() mutable {
    return std::uniform_real_distribution<>(0, 1)(engine);
  };
}

void ProbeControl::watch(std::uint32_t slot, std::string name) {
  watched_.insert_or_assign(slot, Watched{.name = std::move(name),
                                          .budget = RecordBudget(limits_.budget),
                                          .timing = TimingLevel(limits_)});
}

void ProbeControl::forget(std::uint32_t slot) {
  watched_.erase(slot);
}

void ProbeControl::set_wanted(std::uint32_t slot, bool wanted) {
  if (const auto found = watched_.find(slot); found != watched_.end())
    found->second.choose = std::exchange(found->second.wanted, wanted) != wanted;
}

void ProbeControl::look(Clock::time_point now) {
  if (watched_.empty()) return;
  const auto hits = records_.hits();
  if (!hits) {
    log::warn("{}", hits.error().message());
    return;
  }
  for (auto& [slot, watched] : watched_) {
    if (const auto found = hits->find(slot); found != hits->end())
      watched.cost = price(found->second, cost_);
    if (is_away(slot, watched)) {
      watched.fresh = true;
      continue;
    }
    if (std::exchange(watched.fresh, false) && !watched.budget.rests()) {
      watched.budget.attached(now, seconds_of(watched.cost));
      watched.timing.restart(now, watched.cost);
    }
    follow_budget(slot, watched, now);
  }
  follow_timing(now);
}

void ProbeControl::follow_budget(std::uint32_t slot, Watched& watched, Clock::time_point now) {
  const bool in_trial = watched.budget.in_trial();
  switch (watched.budget.look(now, seconds_of(watched.cost))) {
    case RecordBudget::Do::nothing:
      break;
    case RecordBudget::Do::take_off:
      take_off(slot, watched, now, in_trial);
      break;
    case RecordBudget::Do::attach: {
      const auto began = Clock::now();
      records_.set_off(slot, "");
      records_.apply();
      watched.budget.attached(now + (Clock::now() - began), seconds_of(watched.cost));
      break;
    }
    case RecordBudget::Do::keep:
      log::info("ioc {}: its records are counted again, for {:.1f} % of a core", watched.name,
                percent(watched.budget.load()));
      watched.timing.restart(now, watched.cost);
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
  watched.window_end.reset();
  watched.timing.set(TimingLevel::kLevels.back(), now, watched.cost);
  records_.set_off(slot, "to count would cost more than --overhead.budget");
  records_.apply();
  if (records_.is_hit_while_off(slot))
    report(
        watched, "take off the record probes",
        error_in_words("other IOCs on the same library need them: each hit still costs the trap"));
}

void ProbeControl::follow_timing(Clock::time_point now) {
  std::map<std::size_t, Group> groups;
  for (auto& one : watched_) {
    Watched& watched = one.second;
    if (!records_.is_counted(one.first) || !watched.budget.counts() ||
        !records_.is_timed(one.first))
      continue;
    watched.timing.measure(now, watched.cost);
    const std::size_t unit = records_.unit_of(one.first);
    groups[unit != 0 ? unit : IOCX_MAX_IOCS + 1 + one.first].push_back(&one);
  }
  for (auto& [unit, group] : groups)
    if (std::ranges::any_of(group, [&group = group](const auto* one) {
          const unsigned level = one->second.timing.level();
          return level == 1 || level != group[0]->second.timing.level() || one->second.choose;
        }))
      choose_level(group, now);
  for (std::size_t i = 0; i < cycles_.size(); ++i)
    for (auto what = cycles_[i].look(now); what != TimingCycle::Do::nothing;
         what = cycles_[i].look(now))
      follow_cycle(groups, TimingLevel::kLevels[i + 1], what, now);
  for (auto& [slot, watched] : watched_)
    if (!is_away(slot, watched)) end_window(slot, watched, now);
  records_.apply();
}

void ProbeControl::follow_cycle(const std::map<std::size_t, Group>& groups, unsigned level,
                                TimingCycle::Do what, Clock::time_point now) {
  std::vector<const Group*> all;
  for (const auto& [unit, group] : groups)
    if (group[0]->second.timing.level() == level) all.push_back(&group);
  if (what == TimingCycle::Do::begin_window) {
    for (const Group* const group : all)
      for (auto* const one : *group) records_.want_ends(one->first);
    records_.apply();
  }
  for (const Group* const group : all) {
    for (auto* const one : *group)
      if (what == TimingCycle::Do::begin_window)
        begin_window(one->first, one->second);
      else
        one->second.timing.end_cycle(now, one->second.cost);
    if (what == TimingCycle::Do::begin_cycle) choose_level(*group, now);
  }
}

void ProbeControl::choose_level(const Group& group, Clock::time_point now) {
  const bool wanted =
      std::ranges::any_of(group, [](const auto* one) { return one->second.wanted; });
  unsigned level = 1;
  for (const auto* one : group) level = std::max(level, one->second.timing.choose(wanted));
  const Watched& dearest = (*std::ranges::max_element(group, {}, [](const auto* one) {
                             return one->second.timing.timing(1);
                           }))->second;
  for (auto* const one : group) set_level(one->first, one->second, level, dearest, now);
}

void ProbeControl::set_level(std::uint32_t slot, Watched& watched, unsigned level,
                             const Watched& dearest, Clock::time_point now) {
  watched.choose = false;
  const unsigned before = watched.timing.level();
  if (level == before) return;
  watched.timing.set(level, now, watched.cost);
  if (level > 1) {
    log::info(
        "ioc {}: 1 second in {} is timed, all calls are counted: to time all calls of {} would "
        "cost {:.1f} % of a core",
        watched.name, level, dearest.name, percent(dearest.timing.timing(1)));
    if (before == 1) watched.window_end = watched.window_due = now;
    return;
  }
  watched.window_end.reset();
  const auto timed = records_.time_all(slot);
  if (timed && *timed) {
    log::info("ioc {}: all calls are timed again", watched.name);
    return;
  }
  if (!timed) report(watched, "time all calls", timed.error());
  watched.timing.set(TimingLevel::kLevels.back(), now, watched.cost);
}

void ProbeControl::begin_window(std::uint32_t slot, Watched& watched) {
  auto began = records_.time_window(slot, watched.timing.level(), TimingCycle::kWindow);
  if (!began) report(watched, "attach the probes for durations", began.error());
  // From now on, however long it took to attach them.
  watched.window_end = watched.window_due = Clock::now() + TimingCycle::kWindow;
}

void ProbeControl::end_window(std::uint32_t slot, Watched& watched, Clock::time_point now) {
  if (!watched.window_end || now < watched.window_due) return;
  const auto waited = now - *watched.window_end;
  const bool anyhow = waited > kPatience;
  auto done = records_.end_window(slot, anyhow);
  if (!done) report(watched, "take off the probes for durations", done.error());
  if (!done || *done) done = records_.end_completions(slot, anyhow);
  if (!done) report(watched, "take off the probe for completions", done.error());
  if (!done || *done)
    watched.window_end.reset();
  else
    watched.window_due = now + (waited < kShortly ? kFirstWindowLooks : kWindowLook);
}

// An IOC that ends between two looks is no trouble; of other trouble, each kind once in a row.
void ProbeControl::report(Watched& watched, const std::string& action, const Error& error) {
  if (error.code == std::errc::no_such_process) return;
  std::string text = action + ": " + error.message();
  if (text != watched.reported) log::warn("ioc {}: {}", watched.name, text);
  watched.reported = std::move(text);
}

std::optional<ProbeControl::Clock::time_point> ProbeControl::next_due() const {
  auto next = Clock::time_point::max();
  for (const auto& [slot, watched] : watched_) {
    if (is_away(slot, watched)) continue;
    if (watched.budget.in_trial()) next = std::min(next, watched.budget.due());
    if (watched.window_end) next = std::min(next, watched.window_due);
    if (!watched.budget.counts()) continue;
    for (std::size_t i = 0; i < cycles_.size(); ++i)
      if (watched.timing.level() == TimingLevel::kLevels[i + 1])
        next = std::min(next, cycles_[i].due());
  }
  return next == Clock::time_point::max() ? std::nullopt : std::optional(next);
}

std::optional<OverheadSample> ProbeControl::sample(std::uint32_t slot) const {
  const auto found = watched_.find(slot);
  if (found == watched_.end()) return std::nullopt;
  const Watched& watched = found->second;
  if (!watched.budget.counts())
    return OverheadSample{.over_budget = watched.budget.load(), .attached = false};
  if (is_away(slot, watched)) return OverheadSample{.timed_share = 0, .attached = false};
  const unsigned level = watched.timing.level();
  return OverheadSample{.core_share = watched.timing.counting() + watched.timing.timing(level),
                        .timed_share = records_.is_timed(slot) ? 1.0 / level : 0};
}

void RecordBudget::attached(Clock::time_point now, double spent) {
  marked_ = now;
  spent_ = spent;
  over_ = 0;
  due_ = now + (in_trial() ? kTrial : kLook);
}

RecordBudget::Do RecordBudget::look(Clock::time_point now, double spent) {
  if (now < due_) return Do::nothing;
  if (budget_ <= 0) {
    due_ = now + kLook;
    return Do::nothing;
  }
  if (rests()) {
    state_ = State::trial;
    attached(now, spent);
    return Do::attach;
  }
  const double seconds = std::chrono::duration<double>(now - marked_).count();
  const double more = spent - spent_;
  const unsigned over = over_;
  attached(now, spent);
  if (seconds <= 0) return Do::nothing;
  load_ = more / seconds;
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

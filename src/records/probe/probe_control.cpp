#include "records/probe/probe_control.h"

#include <random>

#include "base/log.h"

namespace ioc_exporter::records {
namespace {

using probes::Owner;
using std::chrono::milliseconds;
using State = probes::Budget::State;

// Between checks for timed calls, or completions, under way: most take milliseconds.
constexpr milliseconds kWindowCheck{500}, kFirstWindowChecks{50}, kShortly{500};

double percent(double share) {
  return share * 100;
}

}  // namespace

ProbeControl::ProbeControl(RecordProcess& records, probes::Budget& budget, double target,
                           HitCost cost, std::function<double()> random)
    : records_(records),
      budget_(budget),
      target_(target),
      cost_(cost),
      cycles_{TimingCycle(TimingLevel::kLevels[1], random),
              TimingCycle(TimingLevel::kLevels[2], random)} {}

std::function<double()> ProbeControl::uniform_random() {
  return [engine = std::mt19937_64(std::random_device()())]() mutable {
    return std::uniform_real_distribution<>(0, 1)(engine);
  };
}

// The IOC may have been watched before, in another slot.
void ProbeControl::watch(std::uint32_t slot, std::string name) {
  Watched& watched = watched_
                         .insert_or_assign(slot, Watched{.name = std::move(name),
                                                         .id = records_.ioc_of(slot),
                                                         .timing = TimingLevel(target_)})
                         .first->second;
  for (const Owner owner : {Owner::timing, Owner::extras, Owner::counting})
    if (const auto decision = budget_.decision(watched.id, {owner}))
      follow(slot, watched, *decision, Clock::now());
}

void ProbeControl::forget(std::uint32_t slot) {
  watched_.erase(slot);
}

void ProbeControl::set_wanted(std::uint32_t slot, bool wanted) {
  if (const auto found = watched_.find(slot); found != watched_.end())
    found->second.choose |= std::exchange(found->second.wanted, wanted) != wanted;
}

void ProbeControl::tick(Clock::time_point now) {
  follow_budget(now);
  if (watched_.empty()) return;
  const auto hits = records_.hits();
  if (!trouble_.report("read what records cost", hits ? Result<void>() : hits.error())) return;
  for (auto& [slot, watched] : watched_) {
    const auto found = hits->find(slot);
    if (found != hits->end()) pay(watched, found->second);
    if (is_away(slot, watched)) {
      watched.fresh = true;
      continue;
    }
    if (std::exchange(watched.fresh, false)) watched.timing.restart(now, watched.cost);
    report_costs(watched);
  }
  follow_timing(now);
}

void ProbeControl::pay(Watched& watched, const ProbeHits& hits) const {
  const double each = cost_.beside * static_cast<double>(records_.engine().beside({watched.id}));
  const auto more = [](std::uint64_t now, std::uint64_t before) {
    return now > before ? static_cast<double>(now - before) : 0;
  };
  watched.beside.counting += each * more(hits.entries, watched.hits.entries);
  watched.beside.timing += each * more(hits.returns, watched.hits.returns);
  watched.hits = hits;
  watched.cost = {counting_seconds(hits, cost_) + watched.beside.counting,
                  timing_seconds(hits, cost_) + watched.beside.timing};
}

void ProbeControl::report_costs(const Watched& watched) {
  const double extras = extras_seconds(watched.hits, cost_);
  budget_.report(watched.id, Owner::timing, watched.cost.timing);
  budget_.report(watched.id, Owner::extras, extras);
  budget_.report(watched.id, Owner::counting, watched.cost.counting - extras);
}

void ProbeControl::follow_budget(Clock::time_point now) {
  const auto decisions = budget_.take_decisions({Owner::timing, Owner::extras, Owner::counting});
  for (const probes::Budget::Decision& decision : decisions)
    for (auto& [slot, watched] : watched_)
      if (watched.id == decision.ioc) follow(slot, watched, decision, now);
  if (decisions.empty()) return;
  records_.apply();
  for (auto& [slot, watched] : watched_)
    if (is_off(watched) && records_.is_hit_while_off(slot))
      report(watched, "take off the record probes",
             error_in_words(
                 "other IOCs on the same library need them: each hit still costs the trap"));
}

void ProbeControl::follow(std::uint32_t slot, Watched& watched, const Decision& decision,
                          Clock::time_point now) {
  const bool goes = decision.state == State::off;
  const char* what = "counted";
  switch (decision.part.owner) {
    case Owner::timing:
      what = "timed";
      watched.may_be_timed = !goes;
      // On trial it costs what it will: else next to nothing is timed, whatever all would cost.
      watched.choose |= decision.state == State::on_trial;
      break;
    case Owner::extras:
      what = "counted with writes and scan lists";
      watched.has_extras = decision.state == State::on;
      records_.set_extras(slot, !goes);
      break;
    default:
      count(slot, watched, decision, now);
  }
  if (decision.state == State::on)
    log::info("ioc {}: its records are {} again: probes cost {:.1f} % of a core", watched.name,
              what, percent(decision.load));
  else if (goes && !decision.was_tried)
    log::warn(
        "ioc {}: its records are not {} until the load has fallen: probes cost {:.1f} % of a core, "
        "more than --overhead.budget, and these {:.1f} %",
        watched.name, what, percent(decision.load), percent(decision.own));
}

// A trial times nothing.
void ProbeControl::count(std::uint32_t slot, Watched& watched, const Decision& decision,
                         Clock::time_point now) {
  watched.counting = decision;
  if (decision.state == State::on) watched.timing.restart(now, watched.cost);
  if (decision.state == State::off) stop_timing(slot, watched, now);
  records_.set_off(slot, decision.state == State::off ? "off: above --overhead.budget" : "");
}

void ProbeControl::stop_timing(std::uint32_t slot, Watched& watched, Clock::time_point now) {
  if (auto done = records_.end_timing(slot, true); !done)
    report(watched, "take off the probes for durations", done.error());
  watched.window_end.reset();
  watched.timing.set(TimingLevel::kLevels.back(), now, watched.cost);
}

void ProbeControl::follow_timing(Clock::time_point now) {
  std::map<std::size_t, Unit> units;
  for (auto& one : watched_) {
    Watched& watched = one.second;
    if (!records_.is_counted(one.first) || is_off(watched) || !records_.is_timed(one.first))
      continue;
    watched.timing.measure(now, watched.cost);
    const std::size_t number = records_.unit_of(one.first);
    units[number != 0 ? number : IOCX_MAX_IOCS + 1 + one.first].push_back(&one);
  }
  std::erase_if(units, [&](const auto& one) { return !may_be_timed(one.second, now); });
  for (auto& [number, unit] : units)
    if (std::ranges::any_of(unit, [&unit = unit](const auto* one) {
          const unsigned level = one->second.timing.level();
          return level == 1 || level != unit[0]->second.timing.level() || one->second.choose;
        }))
      choose_level(unit, now);
  for (std::size_t i = 0; i < cycles_.size(); ++i)
    for (auto what = cycles_[i].next(now); what != TimingCycle::Do::nothing;
         what = cycles_[i].next(now))
      follow_cycle(units, TimingLevel::kLevels[i + 1], what, now);
  for (auto& [slot, watched] : watched_)
    if (!is_away(slot, watched)) end_window(slot, watched, now);
  records_.apply();
}

// What times one of them would be hit by all.
bool ProbeControl::may_be_timed(const Unit& unit, Clock::time_point now) {
  const bool may =
      std::ranges::all_of(unit, [](const auto* one) { return one->second.may_be_timed; });
  for (auto* const one : unit)
    if (one->second.is_stopped != !may) {
      one->second.is_stopped = !may;
      if (!may) stop_timing(one->first, one->second, now);
    }
  return may;
}

void ProbeControl::follow_cycle(const std::map<std::size_t, Unit>& units, unsigned level,
                                TimingCycle::Do what, Clock::time_point now) {
  std::vector<const Unit*> all;
  for (const auto& [number, unit] : units)
    if (unit[0]->second.timing.level() == level) all.push_back(&unit);
  if (what == TimingCycle::Do::begin_window) {
    for (const Unit* const unit : all)
      for (auto* const one : *unit) records_.want_ends(one->first);
    records_.apply();
  }
  for (const Unit* const unit : all) {
    for (auto* const one : *unit)
      if (what == TimingCycle::Do::begin_window)
        begin_window(one->first, one->second);
      else
        one->second.timing.end_cycle(now, one->second.cost);
    if (what == TimingCycle::Do::begin_cycle) choose_level(*unit, now);
  }
}

void ProbeControl::choose_level(const Unit& unit, Clock::time_point now) {
  const bool wanted = std::ranges::any_of(unit, [](const auto* one) { return one->second.wanted; });
  unsigned level = 1;
  for (const auto* one : unit) level = std::max(level, one->second.timing.choose(wanted));
  const Watched& dearest = (*std::ranges::max_element(unit, {}, [](const auto* one) {
                             return one->second.timing.timing(1);
                           }))->second;
  for (auto* const one : unit) set_level(one->first, one->second, level, dearest, now);
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
  const auto still = records_.end_timing(slot, waited > kPatience);
  if (!still) report(watched, "take off the probes for durations", still.error());
  if (still && *still == RecordProcess::UnderWay::nothing)
    watched.window_end.reset();
  else
    watched.window_due = now + (waited < kShortly ? kFirstWindowChecks : kWindowCheck);
}

// An IOC that ends between two ticks is no trouble; of other trouble, each kind once in a row.
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
    if (watched.window_end) next = std::min(next, watched.window_due);
    if (is_off(watched) || watched.is_stopped) continue;
    for (std::size_t i = 0; i < cycles_.size(); ++i)
      if (watched.timing.level() == TimingLevel::kLevels[i + 1])
        next = std::min(next, cycles_[i].due());
  }
  return next == Clock::time_point::max() ? std::nullopt : std::optional(next);
}

double ProbeControl::seconds(std::uint32_t slot, const ProbeHits& hits) {
  Watched& watched = watched_.at(slot);
  pay(watched, hits);
  return watched.cost.counting + watched.cost.timing;
}

std::optional<OverheadSample> ProbeControl::sample(std::uint32_t slot) const {
  const auto found = watched_.find(slot);
  if (found == watched_.end()) return std::nullopt;
  const Watched& watched = found->second;
  if (is_off(watched))
    return OverheadSample{.over_budget = watched.counting.load, .attached = false};
  if (is_away(slot, watched)) return OverheadSample{.timed_share = 0, .attached = false};
  const unsigned level = watched.timing.level();
  const bool is_timed = records_.is_timed(slot) && !watched.is_stopped;
  return OverheadSample{
      .core_share = watched.timing.counting() + (is_timed ? watched.timing.timing(level) : 0),
      .timed_share = is_timed ? 1.0 / level : 0,
      .has_extras = watched.has_extras};
}

}  // namespace ioc_exporter::records

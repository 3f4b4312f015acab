#include "probes/budget.h"

#include <algorithm>
#include <iterator>

namespace ioc_exporter::probes {
namespace {

// Decisions are not exactly a second apart.
constexpr auto kSecond = Budget::kInterval - std::chrono::milliseconds(100);

constexpr std::chrono::seconds longer(std::chrono::seconds pause) {
  return std::clamp(2 * pause, Budget::kFirstPause, Budget::kLongestPause);
}

// Then it is not there either.
constexpr bool goes_with_counting(Owner owner) {
  return owner == Owner::timing || owner == Owner::extras;
}

}  // namespace

double Budget::Meter::load() const {
  double sum = 0;
  for (const auto& [place, rate] : rates) sum += rate;
  return sum;
}

double Budget::Ioc::load(Owner first, Owner last) const {
  double sum = 0;
  for (const auto& [owner, meter] : meters)
    if (owner >= first && owner <= last) sum += meter.load();
  return sum;
}

bool Budget::Ioc::is_off(const Part& part) const {
  return std::ranges::find(off, part, &Decision::part) != off.end();
}

void Budget::report(const iocs::IocId& ioc, Owner owner, const Spent& spent) {
  const std::scoped_lock lock(mutex_);
  Ioc& of = iocs_[ioc];
  Meter& meter = of.meters[owner];
  meter.spent = spent;
  meter.is_reported = true;
  const auto is_gone = [&](const Decision& off) {
    return off.part.owner == owner && !spent.contains(off.part.function);
  };
  if (of.in_trial && is_gone(of.off.back())) of.in_trial = false;
  std::erase_if(of.off, is_gone);
}

void Budget::decide(Clock::time_point now) {
  const std::scoped_lock lock(mutex_);
  due_.reset();
  for (One& one : iocs_) follow(one, now);
  // One without reports has ended, or is to be left alone for long: it begins anew.
  std::erase_if(iocs_, [&](const One& one) {
    if (now - one.second.reported <= kLongestPause) return false;
    for (Decision decision : one.second.off) {
      decision.state = State::on;
      decision.load = 0;
      decisions_.push_back(decision);
    }
    return true;
  });
}

void Budget::follow(One& one, Clock::time_point now) {
  Ioc& ioc = one.second;
  const bool any =
      std::ranges::any_of(ioc.meters, [](const auto& meter) { return meter.second.is_reported; });
  if (ioc.reported == Clock::time_point{} || any) ioc.reported = now;
  const bool begins = !std::exchange(ioc.is_followed, true);
  if (begins || now >= ioc.due) {
    if (ioc.in_trial && !ioc.meters[ioc.off.back().part.owner].is_reported)
      end_trial(one, State::off, now);
    if (any) {
      ioc.due = now + kSecond;
      for (auto& [owner, meter] : ioc.meters) meter.measure(now, begins);
      if (budget_ > 0 && !begins) judge(one, now);
    }
  }
  if (!ioc.is_followed)
    due_ = Clock::time_point{};
  else if (ioc.in_trial)
    due_ = std::min(due_.value_or(ioc.due), ioc.due);
}

// A report is kept until it is used: rooms report about once a second, and decisions may be closer
// together. What has begun is measured from the second decision on.
void Budget::Meter::measure(Clock::time_point now, bool begins) {
  const std::chrono::duration<double> passed = now - at;
  if (!std::exchange(is_reported, false)) {
    if (passed >= kForgotten) rates.clear();
    return;
  }
  if (!begins) {
    rates.clear();
    for (const auto& [place, seconds] : spent)
      if (const auto before = marked.find(place);
          before != marked.end() && passed.count() > 0 && seconds > before->second)
        rates[place] = (seconds - before->second) / passed.count();
  }
  marked = spent;
  at = now;
}

bool Budget::is_over(double& over, double load, double seconds) const {
  const double most = budget_ * kBurst.count();
  over = std::clamp(over + (load - budget_) * seconds, 0.0, most);
  return load > budget_ && over >= most;
}

// What goes before it does not keep it off: that goes if both are too much.
bool Budget::is_calm(const Ioc& ioc, Owner owner) const {
  return ioc.load(owner) < budget_ * kCalm;
}

void Budget::judge(One& one, Clock::time_point now) {
  Ioc& ioc = one.second;
  const std::chrono::duration<double> passed = now - std::exchange(ioc.judged, now);
  judge_puts(ioc, passed.count(), now);
  const double load = ioc.load();
  if (ioc.in_trial) {
    ioc.off.back().load = load;
    const bool stays = is_calm(ioc, ioc.off.back().part.owner);
    return end_trial(one, stays ? State::on : State::off, now);
  }
  if (is_over(ioc.over, load, passed.count())) return take_off(one, now);
  if (ioc.off.empty()) {
    if (now - ioc.all_on_since >= kLongestPause) ioc.pause = {};
  } else if (now >= ioc.paused_until) {
    begin_trial(one);
  }
}

void Budget::take_off(One& one, Clock::time_point now) {
  Ioc& ioc = one.second;
  Decision most{.ioc = one.first, .part = {}, .state = State::off, .load = ioc.load()};
  for (const auto& [owner, meter] : ioc.meters) {
    if (owner > Owner::counting || meter.load() < budget_ * kWorth) continue;
    for (const auto& [place, rate] : meter.rates)
      if (rate > most.own && !ioc.is_off({owner, place}))
        most.part = {owner, place}, most.own = rate;
    if (most.own > 0) break;
  }
  if (most.own == 0) return;  // all is off: hits that are left are for other IOCs
  if (now >= ioc.paused_until) ioc.pause = longer(ioc.pause);
  ioc.paused_until = now + ioc.pause;
  ioc.off.push_back(most);
  decide(one, most);
}

void Budget::begin_trial(One& one) {
  Ioc& ioc = one.second;
  const bool counts = !ioc.is_off({Owner::counting});
  const auto last = std::find_if(ioc.off.rbegin(), ioc.off.rend(), [&](const Decision& off) {
    const Owner owner = off.part.owner;
    return (counts || !goes_with_counting(owner)) && is_calm(ioc, owner);
  });
  if (last == ioc.off.rend()) return;
  std::rotate(ioc.off.rbegin(), last, std::next(last));
  ioc.in_trial = true;
  ioc.off.back().state = State::on_trial;
  decide(one, ioc.off.back());
}

// One that cannot come back does not keep the others off: it is tried last.
void Budget::end_trial(One& one, State state, Clock::time_point now) {
  Ioc& ioc = one.second;
  Decision tried = ioc.off.back();
  tried.state = state;
  ioc.in_trial = false;
  ioc.off.pop_back();
  if (state == State::on) {
    ioc.all_on_since = now;
  } else {
    tried.was_tried = true;
    ioc.off.insert(ioc.off.begin(), tried);
    ioc.pause = longer(ioc.pause);
    ioc.paused_until = now + ioc.pause;
  }
  decide(one, tried);
}

void Budget::decide(One& one, const Decision& decision) {
  one.second.is_followed = false;
  decisions_.push_back(decision);
}

void Budget::judge_puts(Ioc& ioc, double seconds, Clock::time_point now) const {
  const double load = ioc.load(Owner::ca_puts, Owner::pva_puts);
  if (!is_over(ioc.puts_over, load, seconds) || now < ioc.next_warning) return;
  ioc.warning = load;
  ioc.next_warning = now + kBetweenWarnings;
}

std::optional<Budget::Clock::time_point> Budget::next_due() const {
  const std::scoped_lock lock(mutex_);
  return due_;
}

bool Budget::is_due(Clock::time_point now) const {
  const auto due = next_due();
  return due && *due <= now;
}

std::vector<Budget::Decision> Budget::take_decisions(std::initializer_list<Owner> owners) {
  const std::scoped_lock lock(mutex_);
  const auto is_other = [owners](const Decision& one) {
    return std::ranges::find(owners, one.part.owner) == owners.end();
  };
  const auto of = std::stable_partition(decisions_.begin(), decisions_.end(), is_other);
  std::vector<Decision> taken(of, decisions_.end());
  decisions_.erase(of, decisions_.end());
  return taken;
}

std::optional<Budget::Decision> Budget::decision(const iocs::IocId& ioc, const Part& part) const {
  const std::scoped_lock lock(mutex_);
  const auto known = iocs_.find(ioc);
  if (known == iocs_.end()) return std::nullopt;
  const auto off = std::ranges::find(known->second.off, part, &Decision::part);
  return off == known->second.off.end() ? std::nullopt : std::optional(*off);
}

Budget::State Budget::state(const iocs::IocId& ioc, const Part& part) const {
  const auto last = decision(ioc, part);
  return last ? last->state : State::on;
}

std::optional<Part> Budget::on_trial(const iocs::IocId& ioc) const {
  const std::scoped_lock lock(mutex_);
  const auto known = iocs_.find(ioc);
  if (known == iocs_.end() || !known->second.in_trial) return std::nullopt;
  return known->second.off.back().part;
}

std::optional<double> Budget::take_warning_of_puts(const iocs::IocId& ioc) {
  const std::scoped_lock lock(mutex_);
  const auto known = iocs_.find(ioc);
  return known == iocs_.end() ? std::nullopt : std::exchange(known->second.warning, std::nullopt);
}

}  // namespace ioc_exporter::probes

#include "functions/budget.h"

#include <algorithm>
#include <utility>

namespace ioc_exporter::functions {
namespace {

// The programs take as long as the trap at most, as they do in a busy IOC (bench/README.md).
double seconds_of(const InstalledPlaces::Count& count, const kernel::HitCost& cost) {
  return static_cast<double>(count.hits) * 2 * cost.emulated +
         static_cast<double>(count.stepped) * (cost.stepped - cost.emulated);
}

}  // namespace

double FunctionBudget::seconds(const std::map<Place, InstalledPlaces::Count>& hits) const {
  double sum = 0;
  for (const auto& [place, count] : hits) sum += seconds_of(count, cost_);
  return sum;
}

std::vector<FunctionBudget::SwitchedOff> FunctionBudget::look(const InstalledPlaces::Hits& hits,
                                                              const std::vector<iocs::IocId>& iocs,
                                                              Clock::time_point now) {
  std::vector<SwitchedOff> all;
  const bool is_first = last_ == Clock::time_point{};
  const double elapsed = std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  next_ = now + kLook;
  if (is_first || budget_ <= 0) return all;
  const auto before = std::exchange(over_, {});
  for (const iocs::IocId& id : iocs) {
    const auto own = hits.find(id.pid);
    if (own == hits.end()) continue;
    if (this->seconds(own->second) <= budget_ * elapsed) continue;
    const auto known = before.find(id);
    const unsigned over = known == before.end() ? 1 : known->second + 1;
    if (over < kLooksOver) {
      over_[id] = over;
      continue;
    }
    const auto most = std::ranges::max_element(
        own->second, {}, [&](const auto& one) { return seconds_of(one.second, cost_); });
    all.push_back(
        switch_off(id, most->first, static_cast<double>(most->second.hits) / elapsed, now));
  }
  return all;
}

FunctionBudget::SwitchedOff FunctionBudget::switch_off(const iocs::IocId& id, const Place& place,
                                                       double rate, Clock::time_point now) {
  Off& off = off_[id][place];
  // It was on for long: it begins anew.
  const bool is_again = off.is_back && now - off.until < off.rest;
  const auto rest = is_again ? std::min(off.rest * 2, kMostRest) : kFirstRest;
  off = {now + rest, false, rest};
  return {id, place, rate, rest};
}

bool FunctionBudget::come_back(Clock::time_point now) {
  bool any = false;
  for (auto& [id, places] : off_)
    for (auto& [place, off] : places)
      if (now >= off.until) any |= !std::exchange(off.is_back, true);
  return any;
}

bool FunctionBudget::is_off(const iocs::IocId& id, const Place& place) const {
  const auto own = off_.find(id);
  if (own == off_.end()) return false;
  const auto off = own->second.find(place);
  return off != own->second.end() && !off->second.is_back;
}

void FunctionBudget::keep(const iocs::IocId& id, const std::set<Place>& places) {
  const auto own = off_.find(id);
  if (own == off_.end()) return;
  std::erase_if(own->second, [&](const auto& one) { return !places.contains(one.first); });
  if (own->second.empty()) off_.erase(own);
}

}  // namespace ioc_exporter::functions

// FunctionBudget: which functions are off in an IOC because their calls cost it too much. Above the
// budget of an IOC, the one that is costs most is off for a while. Pure: it is told the time.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "functions/places.h"
#include "iocs/ioc_id.h"
#include "kernel/hit_cost.h"

namespace ioc_exporter::functions {

// Not thread-safe.
class FunctionBudget {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kLook{1}, kFirstRest{60}, kMostRest{3600};
  static constexpr unsigned kLooksOver = 3;

  // `budget`: fraction of a core for one IOC; 0: no bound.
  FunctionBudget(double budget, const kernel::HitCost& cost) : budget_(budget), cost_(cost) {}

  struct SwitchedOff {
    iocs::IocId id;
    Place place;
    double rate = 0;  // hits a second
    std::chrono::seconds rest{};
  };
  // Time that these hits took from the IOC's threads.
  double seconds(const std::map<Place, InstalledPlaces::Count>& hits) const;
  // By process, since the look before.
  std::vector<SwitchedOff> look(const InstalledPlaces::Hits& hits,
                                const std::vector<iocs::IocId>& iocs, Clock::time_point now);
  bool is_due(Clock::time_point now) const { return now >= next_; }
  // Whether some are to be probed again, from now on.
  bool come_back(Clock::time_point now);
  bool is_off(const iocs::IocId& id, const Place& place) const;
  // Of an IOC, only these places are remembered.
  void keep(const iocs::IocId& id, const std::set<Place>& places);

 private:
  struct Off {
    Clock::time_point until{};
    bool is_back = false;
    std::chrono::seconds rest = kFirstRest;
  };
  SwitchedOff switch_off(const iocs::IocId& id, const Place& place, double rate,
                         Clock::time_point now);

  double budget_;
  kernel::HitCost cost_;
  Clock::time_point next_{}, last_{};
  std::map<iocs::IocId, unsigned> over_;  // looks in a row above the budget
  std::map<iocs::IocId, std::map<Place, Off>> off_;
};

}  // namespace ioc_exporter::functions

// Budget: what the probes of all rooms may cost each IOC in sum, and what goes while they cost
// more: timing, then functions, the costliest first, then extras, then counting. What went is tried
// again after a pause. Puts only have a warning: a flood of them must not hide who sends it.
//
// Rooms report the seconds that an IOC's hits have taken, and follow what was decided. Pure: time
// is a parameter. In any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "iocs/ioc_id.h"
#include "probes/row.h"

namespace ioc_exporter::probes {

// What hits are for. In the order in which it goes.
enum class Owner : std::uint8_t { timing, functions, extras, counting, ca_puts, pva_puts };

// What goes as one: a function, or all of an owner.
struct Part {
  Owner owner{};
  Place function = {};
  auto operator<=>(const Part&) const = default;
};

class Budget {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kInterval{1}, kFirstPause{15}, kLongestPause{300};
  static constexpr std::chrono::hours kBetweenWarnings{1};  // of puts
  static constexpr std::chrono::duration<double> kBurst{10}, kForgotten{3};
  // Of the budget: below that things come back; what an owner costs at least that goes.
  static constexpr double kCalm = 0.8, kWorth = 0.05;

  enum class State : std::uint8_t { on, off, on_trial };
  struct Decision {
    iocs::IocId ioc;
    Part part;
    State state{};
    double load = 0;         // of the IOC when it was decided, fraction of a core
    double own = 0;          // of that
    bool was_tried = false;  // off after a trial
  };

  // Of one core, for each IOC; 0: no bound.
  explicit Budget(double budget) : budget_(budget) {}

  // Seconds so far, by part. Of a function that is not among them nothing is known any more.
  using Spent = std::map<Place, double>;
  void report(const iocs::IocId& ioc, Owner owner, const Spent& spent);
  void report(const iocs::IocId& ioc, Owner owner, double spent) {
    report(ioc, owner, {{{}, spent}});
  }
  // After all rooms have reported. The load above the budget adds up, what it leaves of the budget
  // is subtracted: the mean decides. When the sum is kBurst of the budget, one thing goes, and with
  // each further call above the budget the next one. After a pause one is tried again: it stays
  // when the load, without what goes before it, is well below the budget at the next call. Each
  // pause is twice as long as the one before, up to kLongestPause, until all was on for that long.
  void decide(Clock::time_point now);
  // When to call decide() next; rooms follow what was decided, and report, in between.
  std::optional<Clock::time_point> next_due() const;
  bool is_due(Clock::time_point now) const;

  // What was decided of these since the last call.
  std::vector<Decision> take_decisions(std::initializer_list<Owner> owners);
  // The last decision; nothing: it was always on.
  std::optional<Decision> decision(const iocs::IocId& ioc, const Part& part) const;
  State state(const iocs::IocId& ioc, const Part& part) const;
  // What is on trial. A room that cannot have it back reports nothing of its owner: the trial ends.
  std::optional<Part> on_trial(const iocs::IocId& ioc) const;
  // What puts alone cost, when a warning is due; it is given once.
  std::optional<double> take_warning_of_puts(const iocs::IocId& ioc);

 private:
  struct Meter {
    Spent spent = {}, marked = {};
    std::map<Place, double> rates = {};  // fractions of a core
    Clock::time_point at{};
    bool is_reported = false;
    void measure(Clock::time_point now, bool begins);
    double load() const;
  };
  struct Ioc {
    std::map<Owner, Meter> meters = {};
    std::vector<Decision> off = {};  // the last one is tried first
    bool in_trial = false;           // that one
    bool is_followed = true;         // by the rooms, what was decided
    double over = 0, puts_over = 0;  // seconds above the budget
    std::chrono::seconds pause{};
    Clock::time_point due{}, judged{}, paused_until{}, all_on_since{}, reported{}, next_warning{};
    std::optional<double> warning = {};
    double load(Owner first = Owner::timing, Owner last = Owner::counting) const;
    bool is_off(const Part& part) const;
  };
  using One = std::pair<const iocs::IocId, Ioc>;

  void follow(One& one, Clock::time_point now);
  bool is_over(double& over, double load, double seconds) const;
  bool is_calm(const Ioc& ioc, Owner owner) const;
  void judge(One& one, Clock::time_point now);
  void begin_trial(One& one);
  void take_off(One& one, Clock::time_point now);
  void end_trial(One& one, State state, Clock::time_point now);
  void judge_puts(Ioc& ioc, double seconds, Clock::time_point now) const;
  void decide(One& one, const Decision& decision);

  double budget_;
  mutable std::mutex mutex_;
  std::map<iocs::IocId, Ioc> iocs_;
  std::vector<Decision> decisions_;
  std::optional<Clock::time_point> due_;
};

}  // namespace ioc_exporter::probes

// FunctionWatch: where the programs of bpf/functions are attached, and what of them counts.
//
// The programs count where the map of places names the address in that process; so an IOC has a
// place while its function is attached (probes/engine.h): for all processes that map the file, or,
// where only a pointer leads to it, for each process where the pointer was seen.
//
// Not thread-safe.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/log.h"
#include "exposition/self_samples.h"
#include "functions/bounded_log.h"
#include "functions/families.h"
#include "functions/finder.h"
#include "functions/functions_object.h"
#include "functions/places.h"
#include "functions/series.h"
#include "iocs/ioc_id.h"
#include "kernel/hit_cost.h"
#include "probes/budget.h"
#include "probes/engine.h"

namespace ioc_exporter::functions {

struct WatchedIoc {
  iocs::IocId id;
  std::uint64_t serial = 0;  // of its life
  std::uint32_t number = 0;
  std::string name;
  probes::IocState state = {};
};

// A row on "/": a function of a file.
struct FunctionState {
  std::string name, file, symbol, state;
  std::size_t iocs = 0;
};

class FunctionWatch {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kSweep{10};
  static constexpr std::size_t kMostPointers = 64;  // of an IOC

  // `object` and `budget` must outlive it.
  FunctionWatch(FunctionsObject& object, std::shared_ptr<const Descriptions> descriptions,
                probes::Budget& budget);
  FunctionWatch(const FunctionWatch&) = delete;
  FunctionWatch& operator=(const FunctionWatch&) = delete;
  ~FunctionWatch();

  // IOCs that run; the others' places go.
  void follow(const std::vector<WatchedIoc>& iocs);
  void take(const iocs::IocId& id, std::uint64_t serial, FunctionsFound found);
  // Addresses of functions that stood in calls, by process.
  std::map<pid_t, std::vector<PointerSeen>> pointers();
  // Attaches and detaches what has changed, reports its costs to the budget, frees what has ended.
  void tick(Clock::time_point now);
  // Counts of other IOCs are forgotten.
  void keep(const IocNames& names) { series_.keep(names); }

  // Of IOCs that have names.
  std::vector<FunctionSample> samples(const IocNames& names) const {
    return series_.samples(names, suspended_);
  }
  std::vector<WatchedSample> watched(const IocNames& names) const;
  std::vector<FunctionState> states() const;
  void add_overhead(SelfSamples& self) const;
  std::uint64_t attachments() const { return engine_.attachments(); }
  const FunctionSeries& series() const { return series_; }
  // Functions of IOCs that there was no room for, and addresses over kMostPointers, so far.
  std::uint64_t refused() const { return refused_; }
  std::uint64_t pointers_over() const { return pointers_over_; }

 private:
  struct Life {
    WatchedIoc ioc;
    std::uint32_t epoch = 0;
    std::uint32_t holder = 0;
    std::vector<FileInIoc> files = {};
    std::vector<FileProblem> unread = {};
    std::size_t files_over = 0;
    std::set<Place> held = {};                          // counted in IOCX_FUNCTION_HELD_PROBED
    bool has_gap = false;                               // some were off in this epoch
    std::set<Place> refused = {}, refused_before = {};  // for which there is no room
    std::set<std::uint64_t> pointers = {};
    std::size_t pointers_over = 0;
    probes::Budget::Spent spent = {};  // seconds that its hits took
    double spent_before = 0;           // the same, where it has no such function any more
  };
  // A function of an IOC.
  struct Own {
    const FileInIoc* file = nullptr;
    const DescribedFunction* first = nullptr;      // for messages
    bool has_symbol = false, with_result = false;  // not only pointers lead to it
    std::shared_ptr<const elf::EndingFunction> ending = {};
    std::vector<FunctionSeries::Numbers> functions = {};
    bool has(const FunctionSeries::Numbers& numbers) const {
      return std::ranges::find(functions, numbers) != functions.end();
    }
    // Of several descriptions there one set of ends: with the result, where one of them reads it.
    void take(const std::shared_ptr<const elf::EndingFunction>& other, bool other_with_result) {
      if (!other || (ending && (with_result || !other_with_result))) return;
      ending = other;
      with_result = other_with_result;
    }
  };
  using Owns = std::map<Place, Own>;
  void begin(Life& life, const WatchedIoc& ioc);
  void give_back(const Life& life, const std::set<Place>& but = {});
  std::vector<probes::ProbeRow> plan();
  probes::ProbeRow row_of(const Life& life, const Place& place, const Own& own) const;
  Owns owns_of(Life& life);
  const Own* own(const iocs::IocId& id, const Place& place) const;
  Place place_of(const FileInIoc& file, const DescribedFunction& found) const {
    return engine_.known_place(*file.file->code, found.code.file_offset);
  }
  probes::Hooks hooks();
  Result<probes::Switched> count_by(const probes::Member& member, unsigned attach);
  Result<InstalledPlaces::Outcome> install(const Life& life, const Place& place, unsigned attach);
  void install_all(const Life& life);
  InstalledPlaces::Places places_of(const Life& life, const Place& place, const Own& own,
                                    unsigned attach) const;
  void refuse(Life& life, const Place& place);
  void note_counted();
  static void keep_spent(Life& life, const Owns& owns);
  void report(const probes::Budget::Decision& decision);
  void report_costs();
  probes::Budget::State state_in_budget(const iocs::IocId& id, const Place& place) const {
    return budget_.state(id, {probes::Owner::functions, place});
  }
  void clean_up();
  std::string state_of(const Life& life, const Place& place, bool is_stepped) const;
  std::vector<FunctionState> problems_of(const Life& life) const;

  FunctionsObject& object_;
  std::shared_ptr<const Descriptions> descriptions_;
  probes::Budget& budget_;
  kernel::HitCost cost_ = kernel::hit_cost();
  FunctionSeries series_;
  BoundedLog lines_;
  InstalledPlaces places_;
  probes::Engine engine_;
  std::map<iocs::IocId, Life> lives_;
  std::map<iocs::IocId, Owns> owns_;
  std::map<Place, Own> shared_;  // what IOCs with one function want together
  std::map<std::pair<std::uint32_t, std::uint32_t>, bool> counted_;  // by IOC and description
  FunctionSeries::Suspended suspended_;
  std::set<iocs::IocId> begun_;  // in whose processes the programs' entries are of a former life
  std::uint64_t refused_ = 0, pointers_over_ = 0;
  std::uint32_t last_epoch_ = 0;
  bool changed_ = false, has_counted_ = false;
  Clock::time_point next_sweep_{};
  TroubleLog trouble_;
};

}  // namespace ioc_exporter::functions

// FunctionWatch: where the programs of bpf/functions are attached, and what they count there.
//
// A function of a file has one attachment for all processes that map the file. The programs count
// where the map of places names the address in that process; so an IOC has places while it runs. A
// file that an IOC maps which must be left alone has no attachments meanwhile. One IOC's calls may
// cost it no more than the budget: above it, the function that is called most is switched off.
//
// Not thread-safe.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "base/retry.h"
#include "functions/families.h"
#include "functions/finder.h"
#include "functions/functions_object.h"
#include "iocs/ioc_id.h"

namespace ioc_exporter::functions {

struct WatchedIoc {
  iocs::IocId id;
  std::uint64_t serial = 0;  // of its life
  std::uint32_t number = 0;
  std::uint32_t user = 0;
  std::string name;
  bool left_alone = false;
};

// What is on "/": a function of a file.
struct FunctionState {
  std::string name, file, symbol, state;
  std::size_t iocs = 0;
};

class FunctionWatch {
 public:
  using Clock = std::chrono::steady_clock;
  // Assumed cost of a hit: that of records' probes at an entry on all machines that were tried.
  static constexpr double kHitSeconds = 2e-6;
  static constexpr std::chrono::seconds kLook{1}, kSweep{10}, kFirstRest{60}, kMostRest{3600};
  static constexpr unsigned kLooksOver = 3;
  static constexpr std::size_t kMostPointers = 64;  // of an IOC

  // `budget`: fraction of a core for one IOC; 0: no bound. `object` must outlive it.
  FunctionWatch(FunctionsObject& object, std::shared_ptr<const Descriptions> descriptions,
                double budget);
  FunctionWatch(const FunctionWatch&) = delete;
  FunctionWatch& operator=(const FunctionWatch&) = delete;
  ~FunctionWatch();

  // IOCs that run; the others' places go.
  void follow(const std::vector<WatchedIoc>& iocs);
  void take(const iocs::IocId& id, std::uint64_t serial, LookedAt found);
  // Addresses of functions that stood in calls, by process.
  std::map<pid_t, std::vector<PointerSeen>> pointers() const;
  // Attaches and detaches what has changed, looks at the cost, frees what has ended.
  void tick(Clock::time_point now);
  void set_detached(bool detached);
  // Of IOCs, by number.
  using Names = std::map<std::uint32_t, std::string>;
  // Counts of other IOCs are forgotten.
  void keep(const Names& names);

  // Of IOCs that have names.
  std::vector<FunctionSample> samples(const Names& names) const;
  std::vector<WatchedSample> watched(const Names& names) const;
  std::vector<FunctionState> states() const;
  std::uint64_t attachments() const;
  std::uint64_t series() const;
  // Calls with a label whose text does not print, which is shown empty.
  std::uint64_t unprinted() const { return unprinted_; }

 private:
  // A function of a file.
  using Place = std::pair<iocs::FileId, std::uint64_t>;
  struct Life {
    WatchedIoc ioc;
    std::uint32_t epoch = 0;
    std::vector<FileInIoc> files = {};
    std::vector<std::string> problems = {};
    unsigned over = 0;  // looks in a row above the budget
  };
  struct Wanted {
    std::shared_ptr<const DescribedFile> file;
    const DescribedFunction* first = nullptr;  // for messages
    std::shared_ptr<const iocs::EndingFunction> ending = {};
    bool with_result = false;
    std::vector<std::uint32_t> functions = {};  // indices, in the order of the programs
  };
  struct Attached {
    iocs::FunctionProbe probe;
    const iocs::EndingFunction* ending = nullptr;
  };
  struct Off {
    Clock::time_point until{};
    bool is_back = false;
    std::chrono::seconds rest = kFirstRest;
  };
  // A row of the map `functions`.
  struct Function {
    std::uint32_t description = 0;
    std::vector<std::string> texts;  // of labels that the symbol has; "" at others
    auto key() const { return std::tie(description, texts, ends); }
    bool ends = false;
    bool operator<(const Function& other) const { return key() < other.key(); }
  };
  struct Installed {
    iocx_function_place value{};
    Place place;
    std::uint64_t hits = 0;
  };
  struct KeyLess {
    bool operator()(const iocx_function_place_key& a, const iocx_function_place_key& b) const {
      return std::tie(a.tgid, a.address, a.which) < std::tie(b.tgid, b.address, b.which);
    }
  };
  using Installation = std::map<iocx_function_place_key, Installed, KeyLess>;

  std::map<Place, Wanted> wanted_places(Clock::time_point now);
  void want(std::map<Place, Wanted>& wanted, const FileInIoc& file);
  void begin_epochs(const std::map<Place, Wanted>& wanted);
  Installation installation(const std::map<Place, Wanted>& wanted);
  void add_places(Installation& all, const Life& life, const FileInIoc& file, const Place& place,
                  const Wanted& wanted);
  void install(Installation next);
  void attach(const std::map<Place, Wanted>& wanted, Clock::time_point now);
  void note_counted();
  std::optional<std::uint32_t> index_of(const DescribedFunction& found);
  iocx_function compiled(const Function& function) const;
  std::optional<std::uint32_t> rest_series(std::uint32_t number, const Life& life,
                                           std::uint32_t function);
  void free_series(std::uint32_t series);
  void look_at_cost(Clock::time_point now);
  void switch_off(const Place& place, const std::string& ioc, double rate, Clock::time_point now);
  void sweep();
  std::string name_of(const Place& place) const;
  std::vector<FunctionState> problems_of(const Life& life) const;
  bool read_labels(const iocx_function_series& series, bool is_rest, FunctionSample& sample) const;

  FunctionsObject& object_;
  std::shared_ptr<const Descriptions> descriptions_;
  double budget_;
  std::map<iocs::IocId, Life> lives_;
  std::map<Place, Wanted> wanted_;
  std::map<Place, Attached> attached_;
  std::set<Place> were_attached_;
  std::map<Place, Off> off_;
  std::map<Place, Retry> retries_;
  std::map<Place, std::string> failed_;  // why it is not attached
  Installation installed_;
  std::map<Function, std::uint32_t> indices_;
  std::vector<Function> functions_;                                        // by index
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> rest_;  // by IOC and function
  std::vector<std::uint32_t> free_own_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, bool> counted_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> suspended_;  // IOC and function
  std::set<std::string> reported_;
  std::uint32_t last_epoch_ = 0;
  bool changed_ = false, detached_ = false;
  Clock::time_point next_cost_{}, last_cost_{}, next_sweep_{};
  mutable std::uint64_t unprinted_ = 0;
  TroubleLog trouble_;
};

}  // namespace ioc_exporter::functions

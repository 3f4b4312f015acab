// SeenIocs: which IOCs have run on this host for long enough to be missed. Those that do not run
// any more are remembered, over restarts of the exporter too, until an operator has them forgotten.
//
// Who runs processes that look like IOCs, with names of his own, gets neither the list for himself
// nor a place in it for ever:
// - only an IOC that ran for Options::after is taken in;
// - there are so many places, and each user has a fair share of them (places.h);
// - an IOC of a user who does not go first is forgotten when it is gone for kTimes as long as its
//   longest run, while an exporter watched.
//
// Pure: it is told the time. Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "iocs/ioc_exit.h"
#include "iocs/places.h"

namespace ioc_exporter::iocs {

struct SeenIoc {
  std::uint32_t user = 0;
  std::uint64_t longest_run = 0;  // seconds, as an exporter saw it
  double gone = 0;                // seconds without it, while an exporter watched; 0: it runs
  std::int64_t last_seen = 0;     // seconds since 1970
  std::optional<IocExit> exit;    // how it ended, when it does not run
  // Not kept in the file.
  bool up = false;
  bool was_up = false;  // at the look before
  bool goes_first = false;
  std::string user_name;
};
using SeenByName = std::map<std::string, SeenIoc>;

class SeenIocs {
 public:
  static constexpr double kTimes = 10;

  struct Options {
    std::chrono::seconds after{600};
    std::size_t places = kMostIocs;
    std::size_t most_others = kMostIocs;  // of those whose users do not go first, in all
  };
  // One that runs.
  struct Running {
    std::string name;
    std::uint32_t user = 0;
    std::string user_name;
    bool goes_first = false;
    bool keeps_name = true;   // false: it was told apart by its pid, and never comes again so
    double seen_seconds = 0;  // so long, as an IOC, by this exporter: nobody can make that up
  };

  explicit SeenIocs(Options options) : options_(options) {}

  // From an earlier run of the exporter; what there is no place for is left out.
  void restore(SeenByName seen);
  // What runs now. `elapsed`: since the last call.
  void look(const std::vector<Running>& running, double now_seconds,
            std::chrono::duration<double> elapsed);
  void ended(const std::string& name, std::uint32_t user, const IocExit& exit);
  // False: it is not remembered, runs, or was seen after `by`, in seconds since 1970.
  bool forget(const std::string& name, double by);

  const SeenByName& all() const { return seen_; }
  // What would be missed after a restart has changed since the last call.
  bool take_changed() { return std::exchange(changed_, false); }

 private:
  // Whether it was taken in.
  bool note(const Running& running, double now_seconds);
  void share_out();

  Options options_;
  SeenByName seen_;
  bool changed_ = false;
};

}  // namespace ioc_exporter::iocs

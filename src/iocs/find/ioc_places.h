// IocPlaces: which of the IOCs that run are followed, when there are more of them than places, and
// by which names. Not thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "iocs/find/found_process.h"
#include "iocs/find/name_registry.h"
#include "iocs/samples.h"

namespace ioc_exporter::iocs {

// At most: the kernel's tables have so many slots.
inline constexpr std::size_t kMostIocs = 1024;

struct PlaceWanted {
  uid_t user = 0;
  bool has_one = false;  // already
};

// For each IOC, oldest first, whether it gets a place. Each user gets as many as he wants while
// there are enough, else a fair share. Among the IOCs of a user, those that have one keep it, then
// the oldest come.
std::vector<bool> share_places(const std::vector<PlaceWanted>& wanted, std::size_t places);

// In this order: a process that becomes another IOC by exec ends and starts under the same IocId.
struct Changes {
  std::vector<Ioc> ended;    // as they were last
  std::vector<Ioc> started;  // oldest first
  std::vector<Ioc> changed;  // the same IOC with other ports, addresses, name, problem, ...
  std::vector<Ioc> evicted;  // they run, and are not followed any more: others have their places

  bool empty() const {
    return ended.empty() && started.empty() && changed.empty() && evicted.empty();
  }
};

class IocPlaces {
 public:
  // Of each kind, so many are followed at most: see share_places().
  IocPlaces(const RootedFs& fs, std::size_t places) : fs_(fs), places_(places) {}

  // An IOC came or went: the places are shared out anew.
  void note_change() { stale_ = true; }
  // True: another one is followed, or one is not any more.
  bool share_out(FoundProcesses& processes, FinderClock::time_point now, Changes& changes);
  // NameRegistry::reserve() and release().
  void reserve_names(std::map<std::string, NameClaim> names) { names_.reserve(std::move(names)); }
  void release(const std::string& name, FinderClock::time_point now) { names_.release(name, now); }
  const LeftOut& left_out() const { return left_out_; }

 private:
  bool share_out(IocKind kind, FoundProcesses& processes, FinderClock::time_point now,
                 Changes& changes);
  void take_name(TrackedIoc& tracked, FinderClock::time_point now);

  const RootedFs& fs_;
  std::size_t places_;
  NameRegistry names_;
  LeftOut left_out_;
  bool stale_ = false;
};

}  // namespace ioc_exporter::iocs

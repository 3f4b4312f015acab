// Wishes: whose chains are wanted, as the kernel is told: for each IOC, which chains the settings
// choose, and which records somebody names, by address (bpf/shared/traces.h).
//
// Not thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "delivery/followers.h"
#include "iocs/samples.h"
#include "records/probe/process_object.h"
#include "traces/demand.h"
#include "traces/options.h"

namespace ioc_exporter::traces {

class Wishes {
 public:
  using Clock = std::chrono::steady_clock;
  // At a time, and of one holder (a user, or an address without one).
  static constexpr std::size_t kMostDemands = 16, kMostOfOne = delivery::Followers::kMostOfOne;
  static constexpr std::chrono::hours kLongest{1};

  // How long an IOC that comes is matched with all demands.
  static constexpr std::chrono::milliseconds kMatchNewFor{200};

  // The records of an IOC that a demand is for: no pattern is matched with them again while the IOC
  // has this database.
  struct Matched {
    std::shared_ptr<const Database> database;
    std::vector<std::uint64_t> addresses;
  };
  using Matches = std::map<std::uint32_t, Matched>;  // by slot
  struct Place {
    std::uint32_t slot = 0;
    std::string ioc;
    std::shared_ptr<const Database> database;
  };

  // `maps` may be empty: then nobody is told.
  Wishes(const Options& options, records::RecordTraceMaps maps)
      : options_(options), maps_(std::move(maps)) {}

  // An IOC that is counted, or whose database has changed.
  Result<void> add(std::uint32_t slot, std::uint32_t generation, const std::string& name,
                   std::shared_ptr<const Database> database, Clock::time_point now);
  Result<void> remove(std::uint32_t slot, std::uint32_t generation);
  // A demand is matched first, with no lock held: that takes a while. The error: it was not done
  // `until` then.
  std::vector<Place> places() const;
  static Result<Matches> match(const Demand& demand, const std::vector<Place>& places,
                               Clock::time_point until);
  // Whether there is a place for it, and it makes sense.
  Result<void> may_ask(const Demand& demand, Clock::time_point now);
  // For how many records.
  Result<std::size_t> ask(const Demand& demand, Matches matches, Clock::time_point now);
  Result<void> end(const std::string& holder, const std::string& ticket);
  // Demands that are over are forgotten; the kernel heeds none of them any more.
  Result<void> look(Clock::time_point now);
  // Whether all calls of the IOC are to be timed: somebody asks for its records, or a chain may be
  // chosen at its end.
  bool wants_all(std::uint32_t slot) const;

 private:
  struct Ioc {
    std::uint32_t generation = 0;
    std::string name;
    std::shared_ptr<const Database> database;
    std::vector<std::uint64_t> named;                         // by the settings
    std::unordered_map<std::uint64_t, iocx_trace_wish> told;  // by address
    bool asked = false;
  };
  struct Asked {
    Demand demand;
    Clock::time_point until;
    Matches matches;
  };

  std::unordered_map<std::uint64_t, iocx_trace_wish> wished(std::uint32_t slot, const Ioc& ioc,
                                                            bool& asked) const;
  static const Matched* match_of(const Asked& one, std::uint32_t slot, const Ioc& ioc);
  // Records that a demand has not been matched with yet.
  Result<void> match_new(Asked& one, std::uint32_t slot, const Ioc& ioc, Clock::time_point until);
  template <class Over>
  Result<void> forget(const Over& over);
  Result<void> tell(std::uint32_t slot, Ioc& ioc);
  Result<void> tell_settings(std::uint32_t slot, const Ioc& ioc) const;

  Options options_;
  records::RecordTraceMaps maps_;
  std::map<std::uint32_t, Ioc> iocs_;  // by slot
  std::vector<Asked> demands_;
  std::size_t told_ = 0;  // records, of all IOCs
};

}  // namespace ioc_exporter::traces

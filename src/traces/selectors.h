// TraceSelectors: tells the kernel which chains to trace: for each IOC, those that the settings
// choose, and those with the records of live demands, by address (bpf/shared/traces.h).
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

class TraceSelectors {
 public:
  using Clock = std::chrono::steady_clock;
  // Demands at a time, in all and of one holder (a user, or an address without one).
  static constexpr std::size_t kMostDemands = 16, kMostOfOne = delivery::Followers::kMostOfOne;
  static constexpr std::chrono::hours kLongest{1};

  // The longest time for matching a new IOC with all demands.
  static constexpr std::chrono::milliseconds kMatchNewFor{200};

  // The records of an IOC that a demand names. They are not matched again while the IOC has this
  // database.
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

  // `maps` may be empty: then the kernel is not told.
  TraceSelectors(const Options& options, records::RecordTraceMaps maps)
      : options_(options), maps_(std::move(maps)) {}

  // An IOC that is counted, or whose database has changed.
  Result<void> add(std::uint32_t slot, std::uint32_t generation, const std::string& name,
                   std::shared_ptr<const Database> database, Clock::time_point now);
  Result<void> remove(std::uint32_t slot, std::uint32_t generation);
  // A demand is first matched without a lock, since that takes a while. The error: the time was
  // over before it was done.
  std::vector<Place> places() const;
  static Result<Matches> match(const Demand& demand, const std::vector<Place>& places,
                               Clock::time_point until);
  // Whether the demand is valid and there is a place for it.
  Result<void> may_ask(const Demand& demand, Clock::time_point now);
  // Returns the number of its records.
  Result<std::size_t> ask(const Demand& demand, Matches matches, Clock::time_point now);
  Result<void> end(const std::string& holder, const std::string& ticket);
  // Forgets demands that are over, and tells the kernel.
  Result<void> look(Clock::time_point now);
  // Whether all calls of the IOC are to be timed: a demand names its records, or a chain may be
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
  // Matches a demand with an IOC that came after it.
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

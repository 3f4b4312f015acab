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

#include "iocs/database.h"
#include "records/process_object.h"
#include "traces/demand.h"
#include "traces/options.h"

namespace ioc_exporter::traces {

class Wishes {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kMostDemands = 16;
  static constexpr std::chrono::hours kLongest{1};

  // `maps` may be empty: then nobody is told.
  Wishes(const Options& options, records::RecordTraceMaps maps)
      : options_(options), maps_(std::move(maps)) {}

  // An IOC that is counted, or whose database has changed.
  Result<void> add(std::uint32_t slot, std::uint32_t generation, const std::string& name,
                   std::shared_ptr<const Database> database, Clock::time_point now);
  Result<void> remove(std::uint32_t slot, std::uint32_t generation);
  // For how many records.
  Result<std::size_t> ask(const Demand& demand, Clock::time_point now);
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
    std::unordered_map<std::uint64_t, iocx_trace_wish> told;  // by address
    bool asked = false;
  };
  struct Asked {
    Demand demand;
    Clock::time_point until;
  };

  std::unordered_map<std::uint64_t, iocx_trace_wish> wished(const Ioc& ioc, bool& asked) const;
  Result<void> tell(std::uint32_t slot, Ioc& ioc);
  Result<void> tell_settings(std::uint32_t slot, const Ioc& ioc) const;

  Options options_;
  records::RecordTraceMaps maps_;
  std::map<std::uint32_t, Ioc> iocs_;  // by slot
  std::vector<Asked> demands_;
  std::size_t told_ = 0;  // records, of all IOCs
};

}  // namespace ioc_exporter::traces

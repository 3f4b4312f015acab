// RecordProcess: counts and times the processings of the watched IOCs' records. It says which
// programs of bpf/records/process.bpf.c are to be on which functions; the engine of src/probes
// attaches them. What is counted is in its tables. Not thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "iocs/host.h"
#include "probes/engine.h"
#include "records/probe/tables.h"

namespace ioc_exporter::records {

// Few IOCs on a library have an attachment each. The gap between the two limits keeps an IOC that
// restarts from switching to and fro.
inline constexpr probes::Policy kRecordPolicy{
    .whole_iocs = true, .most_apart = 4, .fewest_together = 2};

struct RecordProcessUse {
  std::uint64_t attachments = 0;
  std::uint64_t threads = 0;
  std::uint64_t threads_capacity = 0;
  std::uint64_t records_capacity = 0;
  KernelMemoryUse memory;
};

class RecordProcess : public RecordTables {
 public:
  using Clock = std::chrono::steady_clock;
  static Result<RecordProcess> start(const RecordProcessOptions& options);

  // Starts to count; the slots name the IOCs from then on. Those that come together are attached
  // together. On an error nothing is left behind.
  std::vector<Result<std::uint32_t>> watch(const std::vector<RecordTarget>& targets);
  Result<std::uint32_t> watch(const RecordTarget& target) {
    return std::move(watch(std::vector{target}).front());
  }
  // Updates an IOC that was still loading at watch(): makes room for more records, and uses `sdis`.
  // All else of `target` must be the same.
  Result<void> update(std::uint32_t slot, const RecordTarget& target);
  // Detaches, and frees the kernel's memory for these IOCs, with one grace period for all of them.
  void unwatch(const std::vector<std::uint32_t>& slots);

  // What the host's scan knows: which main threads have ended, which IOCs are to be left alone. The
  // counts of these stay, and calls under way are counted without a duration.
  void follow(const std::map<iocs::IocId, iocs::LiveIoc>& iocs, bool hands_off);

  // What follows is done at the next apply(), for all IOCs with one wait for the kernel.

  // Probes a further function of a watched IOC. Nothing happens when its program is there.
  void add(std::uint32_t slot, const ProbePoint& point);
  // Why the IOC's probes are not to be there for now; "" = they are to be.
  void set_off(std::uint32_t slot, const std::string& why);
  // Whether those on functions that no processing is counted at are to be there.
  void set_extras(std::uint32_t slot, bool wanted);
  // Its probes for durations.
  void want_ends(std::uint32_t slot);

  // Attaches and takes off; also what could not be attached before.
  void apply();

  // Chooses the timed calls of the IOC: all (the initial state), or those that begin in a window of
  // time, which weigh `weight` each; the window begins when this returns true. False: ends of calls
  // are not seen now, or the IOC is not counted. A call after the window costs one trap.
  Result<bool> time_all(std::uint32_t slot);
  Result<bool> time_window(std::uint32_t slot, std::uint32_t weight,
                           std::chrono::nanoseconds length);
  // Ends the window, then the probes that only timed calls, and their completions, need: once none
  // is under way, or `anyhow`; those under way then count without a duration.
  enum class UnderWay { nothing, calls, completions };
  Result<UnderWay> end_timing(std::uint32_t slot, bool anyhow);

  // Processings that do not come through dbProcess, since a driver calls the record's support: the
  // probe that counts them is one more trap for each record. So it is attached for a second a
  // minute, and stays from the first one on. To be called about once a second.
  void sample_direct(Clock::time_point now);

  // Why the IOC, or the ends of its calls, cannot be counted: nothing when they are, or are not to
  // be.
  std::optional<Error> error_of(std::uint32_t slot) const;
  // It is not counted, but its probes stay, as other IOCs on the same library need them.
  bool is_hit_while_off(std::uint32_t slot) const;
  // IOCs that are attached together have one number; 0: by itself.
  std::size_t unit_of(std::uint32_t slot) const;
  probes::Engine& engine() { return *engine_; }
  const iocs::IocId& ioc_of(std::uint32_t slot) const { return watched_.at(slot).target.ioc; }

  Result<RecordProcessUse> use() const;

 private:
  RecordProcess(RecordProcessObject object, const RecordProcessOptions& options);

  Result<std::uint32_t> begin(const RecordTarget& target);
  std::vector<probes::ProbeRow> wish() const;
  Result<probes::Switched> count_by(const iocs::IocId& ioc, unsigned attach);
  void follow_ends();
  // direct.cpp
  void let_stay(std::uint32_t slot);
  // timing.cpp
  Result<bool> write_timing(std::uint32_t slot, std::uint32_t weight,
                            std::chrono::nanoseconds length);
  Result<bool> end_window(std::uint32_t slot);

  std::unique_ptr<probes::Engine> engine_;  // its programs are the object's
  bool is_changed_ = false;                 // the wish
  std::uint32_t next_generation_ = 1;
};

}  // namespace ioc_exporter::records

// Counts that the record programs keep in the stack of each IOC thread, summed by IOC and cause.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "kernel/hit_cost.h"
#include "kernel/map.h"
#include "records/probe/process_object.h"
#include "shared/record_process.h"

namespace ioc_exporter::records {

using kernel::HitCost;

// Times that the IOC's threads came by a probe.
struct ProbeHits {
  std::uint64_t entries = 0;          // entry probes, of all functions
  std::uint64_t returns = 0;          // probes that only timed calls need
  std::uint64_t returns_stepped = 0;  // of these, those whose instruction the kernel steps
  std::uint64_t stepped = 0;          // of the entries, the same
  std::uint64_t entries_ns = 0;       // time of the programs there
  std::uint64_t returns_ns = 0;
  std::uint64_t extras = 0;  // of the entries, those of functions that no processing is counted at
  std::uint64_t extras_stepped = 0;  // of these, as above
  std::uint64_t extras_ns = 0;
  std::uint64_t cold = 0;  // of all hits, those after a pause of the thread
  void add(const iocx_thread_counts& counts) {
    entries += counts.entries;
    returns += counts.returns;
    returns_stepped += counts.returns_stepped;
    stepped += counts.stepped;
    entries_ns += counts.entries_ns;
    returns_ns += counts.returns_ns;
    extras += counts.extras;
    extras_stepped += counts.extras_stepped;
    extras_ns += counts.extras_ns;
    cold += counts.cold;
  }
};

// Seconds that counting took, and timing on top of that: the traps, and the programs in them.
inline double counting_seconds(const ProbeHits& hits, const HitCost& cost) {
  return static_cast<double>(hits.entries) * cost.emulated +
         static_cast<double>(hits.stepped) * (cost.stepped - cost.emulated) +
         static_cast<double>(hits.cold) * cost.after_pause +
         static_cast<double>(hits.entries_ns) * 1e-9;
}
// Of that. What a pause costs is not theirs: without them the next probe would pay it.
inline double extras_seconds(const ProbeHits& hits, const HitCost& cost) {
  return static_cast<double>(hits.extras) * cost.emulated +
         static_cast<double>(hits.extras_stepped) * (cost.stepped - cost.emulated) +
         static_cast<double>(hits.extras_ns) * 1e-9;
}
inline double timing_seconds(const ProbeHits& hits, const HitCost& cost) {
  return static_cast<double>(hits.returns) * cost.emulated +
         static_cast<double>(hits.returns_stepped) * (cost.stepped - cost.emulated) +
         static_cast<double>(hits.returns_ns) * 1e-9;
}

// Sums over all threads of one IOC, those that have ended included.
struct IocCounts {
  ProbeHits hits;
  std::uint64_t timed = 0;                      // processings whose duration was measured
  std::map<std::string, std::uint64_t> causes;  // processings by cause_label(); no zeros
  // Those that no other record has caused, by the thread that they happened in.
  std::map<std::string, std::uint64_t> threads;
  // Changes of a record's severity, by the new one (menuAlarmSevr). Each is seen when the record is
  // processed the next time.
  std::array<std::uint64_t, IOCX_SEVERITIES> transitions{};
};

// "scan_0.1", "callback", "ca", ...; `comm` is the thread's name.
std::string cause_label(std::uint32_t cause, const char (&comm)[IOCX_COMM_LEN]);

// Names of the threads of one IOC, as labels: the first of them, and exposition::kOther for the
// rest. A name keeps its place.
class ThreadNames {
 public:
  static constexpr std::size_t kMost = 64;
  std::string label(std::uint32_t cause, const char (&comm)[IOCX_COMM_LEN]);

 private:
  std::set<std::string> names_;
};

// Name of a kind of threads: without the number, or the address, at the end. Of a periodic scan it
// is the whole name.
std::string thread_kind(std::uint32_t cause, const char (&comm)[IOCX_COMM_LEN]);

// Adds what the thread counted.
void add_thread(IocCounts& into, const iocx_thread& thread, ThreadNames& names);

// The places in the array of threads that are taken, by owner. They are read only when a thread
// has taken one since, as the count of the table says without a system call.
class ThreadPlaces {
 public:
  using Places = std::vector<std::pair<std::uint32_t, std::uint64_t>>;  // place, owner
  // Good until the next call.
  Result<const Places*> taken(const RecordProcessObject& object);
  // To be called when one was freed.
  void forget() { are_known_ = false; }

 private:
  Places places_;
  bool are_known_ = false;
};

// Calls each() for every thread that has a stack, of which so much is there: the frames are most of
// its size.
enum class ThreadPart { hits, counts, frames };
Result<void> for_each_thread(const RecordProcessObject& object, ThreadPlaces& places,
                             ThreadPart part, const std::function<void(const iocx_thread&)>& each);

// Frees the stacks of the threads that are gone, and calls ended() for each before that.
Result<void> free_ended_threads(const RecordProcessObject& object, ThreadPlaces& places,
                                const std::function<bool(std::int32_t, std::int32_t)>& alive,
                                const std::function<void(const iocx_thread&)>& ended);

// Counts of bpf/records/scan_lists.bpf.h.

// Which threads are those of periodic scans: the names that the kernel has. A thread with any
// other name counts as IOCX_CAUSE_OTHER, so that causes are a closed set.

// Of the menuScan that comes with Base.
bool is_usual_scan_period(std::string_view period);

// The thread of a scan with that period in seconds, "0.1", as spawnPeriodic() in dbScan.c names it
// and the kernel cuts it off.
iocx_scan_name scan_name(std::uint32_t generation, std::string_view period);

// Scan periods that any IOC may have.
Result<void> add_usual_scan_names(const kernel::MapView<iocx_scan_name, std::uint8_t>& names);

// A scan thread's period, from its name: "scan-0.1" (dbScan.c, spawnPeriodic). The text is "" when
// it is no such name.
struct ScanPeriod {
  std::string text;
  double seconds = 0;
};
ScanPeriod scan_period(std::string_view thread_name);

// Of all watched IOCs, by slot.
Result<std::map<std::uint32_t, std::vector<iocx_scan_list>>> read_scan_lists(
    const RecordMaps& maps);
// The IOC is gone.
Result<void> forget_scan_lists(const RecordMaps& maps, std::uint32_t slot);

}  // namespace ioc_exporter::records

// RecordTables: which IOCs' records are counted, as the kernel's tables have it, and what was
// counted, as plain numbers. An IOC has a slot in the tables. Not thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "elf/code_file.h"
#include "elf/function_ends.h"
#include "iocs/ioc_id.h"
#include "iocs/memory/database_reader.h"
#include "records/probe/counts.h"
#include "records/probe/kernel_memory.h"
#include "records/probe/process_object.h"
#include "records/probe/threads.h"
#include "shared/record_process.h"

namespace ioc_exporter::records {

// A further function to probe: its entry, and its ends where its program wants them.
struct ProbePoint {
  RecordProgram program{};
  std::uint64_t offset = 0;  // bytes into the file
  // Its ends, if they are probed; null: only its entry is.
  std::shared_ptr<const elf::EndingFunction> ending = {};
};

// An IOC whose records are to be counted. With the offset of SDIS one read of a record decides what
// a call does; otherwise it takes two.
struct RecordTarget : iocs::FieldOffsets {
  iocs::IocId ioc;                            // its pid: in the initial pid namespace
  std::shared_ptr<const elf::CodeFile> code;  // that it runs
  std::string path;                           // of it, for messages
  std::uint64_t offset = 0;                   // of dbProcess in it, bytes
  std::shared_ptr<const elf::EndingFunction> ending =
      {};                     // of dbProcess; null: calls are not timed
  std::uint32_t records = 0;  // in its database now
  // Of its periodic scans, "0.1"; those of Base's own menuScan are known anyway.
  std::vector<std::string> scan_periods;
  std::vector<ProbePoint> extras;  // attached and detached together with dbProcess
  iocx_put_config puts{};          // for the extras that count writes
  // scanList(), bytes into the file; nothing, size 0: the file does not name it.
  std::optional<elf::CodeRange> scan_list = {};
  // Where processings end, recGblFwdLink(); nothing: the file does not name it.
  std::optional<ProbePoint> completion = {};
};

struct RawRecord {
  std::uint64_t address = 0;  // struct dbCommon * in the IOC
  iocx_record_stats stats{};
};

// Processings of one record for one cause.
struct RawCause {
  std::uint64_t address = 0;
  std::string cause;  // cause_label()
  std::uint64_t count = 0;
};

// As iocx_ioc_config says; which probes for durations are to be there.
struct CallTiming {
  bool ends = true;         // those where dbProcess ends
  bool completions = true;  // the one for completions, once there are some
  std::uint32_t weight = 1;
  std::uint64_t until_ns = UINT64_MAX;
  // Timed calls that are not waited for any more: some records stay active for ever.
  std::int64_t given_up = 0;
};

// Whether processings that do not come through dbProcess are counted: by the probe for completions,
// where that is. The kernel's `ends` has what an era is.
struct DirectCounting {
  bool found = false;     // there are some: the probe stays, to count
  bool sampled = false;   // it is there for a moment, to see whether there are
  bool attached = false;  // it is there
  bool unsure = false;    // ends were seen that may be those of asynchronous processings
  std::chrono::steady_clock::time_point sample_due{};       // its begin, or its end
  std::chrono::steady_clock::time_point long_sample_due{};  // not before
  std::uint16_t era = 0;
  std::uint16_t ends = 0;  // IOCX_ENDS(era); 0: ends are not seen
  std::chrono::steady_clock::time_point since{};
};

// In a slot.
struct WatchedIoc {
  RecordTarget target;
  CallTiming timing;
  DirectCounting direct;
  std::uint32_t generation = 0;
  std::uint32_t epoch = 0;
  std::uint32_t holder = 0;    // of entries in the tables that all IOCs share
  unsigned attach = 0;         // IOCX_ATTACH_*: whose programs count; 0: none's
  std::uint16_t switches = 0;  // of iocx_ioc_config
  bool is_switching = false;
  std::string off;         // why its probes are not to be there; "" = they are
  bool has_extras = true;  // those on functions that no processing is counted at are to be, too
  bool is_leaving = false;
  std::chrono::steady_clock::time_point scans_since{};  // without a pause
  std::uint32_t capacity = 0;
  // Shared with RecordCounts: replaced, never changed.
  std::shared_ptr<const OwnedRecordsMap> records;
  std::shared_ptr<const RecordCounts::Table> outgrown;  // counts of smaller maps before
  IocCounts ended;                                      // of threads that are gone
  mutable ThreadNames thread_names;                     // with series of their own
  std::vector<iocx_scan_name> scan_names;               // its own ones, in the kernel
};

class RecordTables {
 public:
  // Every record of the IOC that was processed or skipped since it is watched, by address,
  // unsorted.
  Result<std::vector<RawRecord>> collect(std::uint32_t slot) const;
  // The same, for reading later. What becomes of the slot does not affect it.
  RecordCounts counts_of(std::uint32_t slot) const;
  // Counts of the watched IOCs' threads by slot: all at once, since that costs one pass over the
  // threads. hits() is the cheap part, for each tick.
  Result<std::map<std::uint32_t, IocCounts>> counts() const;
  Result<std::map<std::uint32_t, ProbeHits>> hits() const;
  // By slot; empty without the option for them.
  Result<std::map<std::uint32_t, std::vector<RawCause>>> causes() const;
  // Gives IOCs that have used up their share of kernel memory the part that others do not use.
  // Called now and then.
  void share_memory() { memory_.share(object_.maps().rooms); }
  // Calls that were not counted because the IOC's share was used up.
  std::uint64_t refused(std::uint32_t slot) const;
  // A place for completions of the IOC's records; see ExtraProbes.
  Result<OwnedCompletionsMap> make_completions_map(std::uint32_t slot, std::uint32_t most);
  void release_completions_map(std::uint32_t slot);
  // Whether a record was seen to complete later than its dbProcess returned.
  bool saw_asynchronous(std::uint32_t slot) const { return asynchronous(slot).seen != 0; }
  // Since when processings that do not come through dbProcess are all counted; nothing: they are
  // only sampled now and then, or not even that.
  std::optional<std::chrono::steady_clock::time_point> direct_since(std::uint32_t slot) const;
  // Where the IOC's processings end.
  const std::optional<ProbePoint>& completion(std::uint32_t slot) const {
    return watched_.at(slot).target.completion;
  }
  // Frees the stacks of threads that have ended, as `alive(pid, tid)` says.
  Result<void> free_ended_threads(const std::function<bool(std::int32_t, std::int32_t)>& alive);
  // Of the IOC in the slot: another one each time that a slot is taken; 0: nobody's.
  std::uint32_t generation(std::uint32_t slot) const;
  bool is_counted(std::uint32_t slot) const;
  // Whether the ends of its calls can be seen.
  bool is_timed(std::uint32_t slot) const;
  Result<std::vector<std::uint64_t>> drops() const;  // by enum iocx_record_drop
  // Its maps, for readers of the extras' counts.
  const RecordProcessObject& object() const { return object_; }
  // Attaches its programs, or serves another process' requests to.
  elf::Attacher& attacher() { return object_.attacher(); }

 protected:
  RecordTables(RecordProcessObject object, const RecordProcessOptions& options);

  // A slot for an IOC with so many records: one that was prepared for it, or a free one.
  Result<std::uint32_t> slot_for(std::uint32_t records) const;
  // Makes the maps of several IOCs, with one wait of the kernel for all of them.
  Result<void> prepare_maps(const std::vector<RecordTarget>& coming);
  // Everything that the programs look up; before the first probe can hit.
  Result<void> enter(std::uint32_t slot);
  // Makes room for more records.
  Result<void> ensure_capacity(std::uint32_t slot, std::uint32_t records);
  Result<void> write_config(std::uint32_t slot);
  // Their probes are off. Waits for the kernel once.
  void leave(const std::vector<std::uint32_t>& slots);
  const WatchedIoc* watched_by(const iocx_thread& thread) const;
  iocx_asynchronous asynchronous(std::uint32_t slot) const;

  RecordProcessObject object_;
  mutable ThreadPlaces thread_places_;
  KernelMemory memory_;
  std::map<std::uint32_t, WatchedIoc> watched_;

 private:
  // A map that is in place already, for the next IOC that needs one of its capacity.
  struct Prepared {
    std::uint32_t count = 0;  // of the IOC's records
    std::uint32_t capacity = 0;
    OwnedRecordsMap records;
  };

  Result<std::uint32_t> free_slot() const;
  Result<void> forget_prepared();
  Result<std::uint32_t> claim_records(std::uint32_t slot, std::uint32_t records);

  bool has_causes_;
  std::map<std::uint32_t, Prepared> prepared_;  // by slot
  std::uint64_t ended_within_ = 0;              // calls that their thread did not live to finish
};

// Whether the probe for completions is to be there, when the others are.
bool sees_ends(const WatchedIoc& watched);

}  // namespace ioc_exporter::records

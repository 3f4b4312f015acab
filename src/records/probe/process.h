// Counts and times the processings of the watched IOCs' records: owns bpf/records/process.bpf.c,
// its attachments and its maps, and gives their content as plain numbers. Not thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "iocs/elf/code_file.h"
#include "iocs/elf/function_ends.h"
#include "records/probe/counts.h"
#include "records/probe/kernel_memory.h"
#include "records/probe/process_object.h"
#include "records/probe/threads.h"
#include "shared/record_process.h"

namespace ioc_exporter::records {

// How the probes of one library file are attached: for each of its IOCs alone, or once for all
// processes.
enum class Attachment { per_process, all_processes };

// The kernel walks every attachment of an address at each hit, so one attachment a process costs
// every IOC on the file about 100 ns more for each other one that is watched. One for all costs the
// same at any number, but then a process on the file that is not watched pays for the trap too. So:
// per process while few are watched. The gap between the two limits keeps an IOC that restarts from
// switching to and fro.
inline constexpr std::size_t kMostPerProcess = 4;
inline constexpr std::size_t kFewestForAll = 2;  // at this number it is per process again

// An attachment for all cannot leave out an IOC that is paused: then more may be attached alone.
inline constexpr std::size_t kMostBesidePaused = 16;

// `active` IOCs on the file are to be counted, `paused` ones are not. To attach to one process, the
// kernel asks whose memory its main thread has (Linux 5.10 to 6.18): once that thread has ended
// (`one_without_main_thread` of those to be counted) no new breakpoint comes to that process, and
// those that it has go away, with a perf event at the next hit, with a link when any other
// attachment of the address is taken off.
constexpr Attachment choose_attachment(Attachment current, std::size_t active,
                                       std::size_t paused = 0,
                                       bool one_without_main_thread = false) {
  if (one_without_main_thread) return Attachment::all_processes;
  if (paused > 0 && active <= kMostBesidePaused) return Attachment::per_process;
  if (active > kMostPerProcess) return Attachment::all_processes;
  if (active <= kFewestForAll) return Attachment::per_process;
  return current;
}

// A further function to probe: its entry, and its ends where its program wants them.
struct ProbePoint {
  RecordProgram program{};
  std::uint64_t offset = 0;  // bytes into the file
  // Its ends, if they are probed; null: only its entry is.
  std::shared_ptr<const iocs::EndingFunction> ending = {};
};

// An IOC whose records are to be counted.
struct RecordTarget {
  std::int32_t pid = 0;  // in the initial pid namespace
  bool main_thread_ended = false;
  std::shared_ptr<const iocs::CodeFile> code;  // that it runs
  std::string path;                            // of it, for messages
  std::uint64_t offset = 0;                    // of dbProcess in it, bytes
  std::uint16_t pact = 0;                      // offsets in struct dbCommon, bytes
  std::uint16_t disa = 0;
  std::uint16_t disv = 0;
  std::uint16_t stat = 0;
  std::uint16_t sevr = 0;
  std::uint16_t scan = 0;  // 0: not known
  // Offset of SDIS when its links are known to be laid out as since Base 3.16.1
  // (iocs/memory/database_reader.h): then one read of the record decides what a call does.
  // Otherwise it takes two.
  std::optional<std::uint16_t> sdis;
  std::shared_ptr<const iocs::EndingFunction> ending =
      {};                     // of dbProcess; null: calls are not timed
  std::uint32_t records = 0;  // in its database now
  std::uint32_t user = 0;     // who runs it
  // Of its periodic scans, "0.1"; those of Base's own menuScan are known anyway.
  std::vector<std::string> scan_periods;
  std::vector<ProbePoint> extras;  // attached and detached together with dbProcess
  iocx_put_config puts{};          // for the extras that count writes
};

struct RawRecord {
  std::uint64_t address = 0;  // struct dbCommon * in the IOC
  iocx_record_stats stats{};
};

// Processings of one record for one cause, or by one other record.
struct RawCause {
  std::uint64_t address = 0;
  std::string cause;  // cause_label()
  std::uint64_t count = 0;
};
struct RawLink {
  std::uint64_t source = 0;  // struct dbCommon * of the record that processed the other
  std::uint64_t address = 0;
  std::uint64_t count = 0;
};

struct RecordProcessUse {
  std::uint64_t attachments = 0;
  std::uint64_t threads = 0;
  std::uint64_t threads_capacity = 0;
  std::uint64_t records_capacity = 0;
  KernelMemoryUse memory;
};

class RecordProcess {
 public:
  static Result<RecordProcess> start(const RecordProcessOptions& options);
  RecordProcess(RecordProcess&&) noexcept = default;
  RecordProcess& operator=(RecordProcess&&) noexcept = default;
  // Takes all probes off at the same time.
  ~RecordProcess();

  iocs::Attacher& attacher() { return object_.attacher(); }

  // Starts to count; the returned slot names the IOC from then on. On an error nothing is left
  // behind.
  Result<std::uint32_t> watch(const RecordTarget& target);
  struct Coming {  // an IOC that is to be watched: as RecordTarget says
    std::shared_ptr<const iocs::CodeFile> code;
    std::uint64_t offset = 0;
    std::uint32_t records = 0;
    std::uint32_t user = 0;
  };
  // Called before watch() of several IOCs: work that needs a grace period of the kernel is then
  // done for all of them at once, and the library of many new IOCs is attached once for all. On an
  // error watch() does it one by one.
  Result<void> prepare(const std::vector<Coming>& coming);
  // Updates an IOC that was still loading at watch(): makes room for more records, and uses `sdis`.
  // The rest of `target` must be the same.
  Result<void> update(std::uint32_t slot, const RecordTarget& target);
  // Its other threads run on, and are still counted.
  Result<void> note_main_thread_ended(std::uint32_t slot);
  // Detaches, and frees the kernel's memory for these IOCs, with one grace period for all of them.
  void unwatch(const std::vector<std::uint32_t>& slots);
  void unwatch(std::uint32_t slot) { unwatch(std::vector{slot}); }

  // Probes a further function of a watched IOC. Nothing happens when its program is there.
  // On an IOC that is paused it waits for resume().
  Result<void> add(std::uint32_t slot, const ProbePoint& point);

  // Takes the IOC's probes off; its counts stay, and calls under way are counted without a
  // duration. False: the probes stay and count only hits, since more than kMostBesidePaused other
  // IOCs on the same library are counted by an attachment for all processes; each hit then costs
  // the trap. On an error they count nothing either.
  Result<bool> pause(std::uint32_t slot);
  // The same for all IOCs with one wait for the kernel; none of the probes stays.
  Result<void> pause_all();
  Result<void> resume(std::uint32_t slot);
  bool paused(std::uint32_t slot) const;

  // Every record of the IOC that was processed or skipped since watch(), by address, unsorted.
  Result<std::vector<RawRecord>> collect(std::uint32_t slot) const;
  // The same, for reading later. unwatch() and watch() do not affect it.
  Result<RecordCounts> counts_of(std::uint32_t slot) const;
  // Counts of the watched IOCs' threads by slot: all at once, since that costs one look at the
  // threads. hits() is the cheap part, for each tick.
  Result<std::map<std::uint32_t, IocCounts>> counts() const;
  Result<std::map<std::uint32_t, ProbeHits>> hits() const;
  Result<ProbeHits> hits(std::uint32_t slot) const;
  // By slot; empty without the options for them.
  Result<std::map<std::uint32_t, std::vector<RawCause>>> causes() const;
  Result<std::map<std::uint32_t, std::vector<RawLink>>> links() const;
  // Gives IOCs that have used up their share of kernel memory the part that others do not use.
  // Called now and then.
  void share_memory() { memory_.share(object_.maps().rooms); }
  // Calls that were not counted because the IOC's share was used up.
  std::uint64_t refused(std::uint32_t slot) const;
  // A place for completions of the IOC's records; see RecordCompletions.
  Result<OwnedCompletionsMap> make_completions_map(std::uint32_t slot, std::uint32_t most);
  void release_completions_map(std::uint32_t slot);

  // Whether a record was seen to complete later than its dbProcess returned.
  bool saw_asynchronous(std::uint32_t slot) const;

  // Frees the stacks of threads that have ended, as `alive(pid, tid)` says.
  Result<void> free_ended_threads(const std::function<bool(std::int32_t, std::int32_t)>& alive);

  // Chooses the timed calls of the IOC: all (the initial state), or those that begin in a window of
  // time, which weigh `weight` each; the window begins when this returns true. False: ends of calls
  // are not seen, or the IOC is paused. A call after the window costs one trap.
  Result<bool> time_all(std::uint32_t slot);
  Result<bool> time_window(std::uint32_t slot, std::uint32_t weight,
                           std::chrono::nanoseconds length);
  // Ends the window: takes off the probes that only timed calls need. False: they stay, since timed
  // calls are under way or wait for their completion. `anyhow`: calls under way then count without
  // a duration.
  Result<bool> end_window(std::uint32_t slot, bool anyhow);
  // The same for their completions, which may take long.
  Result<bool> end_completions(std::uint32_t slot, bool anyhow);
  // Whether the ends of its calls can be seen.
  bool is_timed(std::uint32_t slot) const;

  // Of the IOC in the slot: another one each time that a slot is taken; 0: nobody's.
  std::uint32_t generation(std::uint32_t slot) const;
  Result<std::vector<std::uint64_t>> drops() const;  // by enum iocx_record_drop
  // Its maps, for readers of the extras' counts.
  const RecordProcessObject& object() const { return object_; }
  Result<RecordProcessUse> use() const;
  std::optional<kernel::ProgramStats> program_stats() const { return object_.stats(); }

 private:
  // Identity of a file in the kernel, whatever its paths and mounts, and the place of dbProcess in
  // it: device and inode of one of its faces.
  struct LibraryKey {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t offset = 0;
    auto operator<=>(const LibraryKey&) const = default;
  };
  // As iocx_ioc_config says; which probes for durations are to be there.
  struct Timing {
    bool ends = true;         // those where dbProcess ends
    bool completions = true;  // the one for completions, once there are some
    std::uint32_t weight = 1;
    std::uint64_t until_ns = UINT64_MAX;
    // Timed calls that are not waited for any more: some records stay active for ever.
    std::int64_t given_up = 0;
  };
  struct Watched {
    RecordTarget target;
    Timing timing;
    LibraryKey library;
    std::uint32_t generation = 0;
    std::uint32_t epoch = 0;
    iocx_holder holder{};  // of shares of the tables that all IOCs share
    bool paused = false;
    std::chrono::steady_clock::time_point scans_since{};  // without a pause
    std::uint32_t capacity = 0;
    // Shared with RecordCounts: replaced, never changed.
    std::shared_ptr<const OwnedRecordsMap> records;
    std::shared_ptr<const RecordCounts::Table> outgrown;  // counts of smaller maps before
    IocCounts ended;                                      // of threads that are gone
    std::vector<iocx_scan_name> scan_names;               // its own ones, in the kernel
  };
  using Attached = std::map<RecordProgram, iocs::FunctionProbe>;
  struct Library {
    std::shared_ptr<const iocs::CodeFile> code;  // of one of its IOCs
    Attachment mode = Attachment::per_process;
    Attached for_all;
    std::map<std::uint32_t, Attached> by_slot;
    std::vector<std::uint32_t> slots;
    std::size_t coming = 0;  // IOCs that prepare() was told of and watch() not yet
  };

  RecordProcess(RecordProcessObject object, const RecordProcessOptions& options);

  // A map that prepare() put in place, for the next IOC that needs one of its capacity.
  struct Prepared {
    std::uint32_t count = 0;  // of the IOC's records
    std::uint32_t user = 0;
    std::uint32_t capacity = 0;
    OwnedRecordsMap records;
  };

  LibraryKey library_of(const std::shared_ptr<const iocs::CodeFile>& code, std::uint64_t offset);
  Result<std::uint32_t> free_slot() const;
  std::optional<std::uint32_t> prepared_slot(const RecordTarget& target) const;
  Result<void> forget_prepared();
  Result<std::uint32_t> claim_records(std::uint32_t slot, std::uint32_t user,
                                      std::uint32_t records);
  Result<void> ensure_capacity(std::uint32_t slot, Watched& watched, std::uint32_t records);
  Result<void> replace_map(std::uint32_t slot, Watched& watched, std::uint32_t capacity);
  Result<void> register_ioc(std::uint32_t slot, Watched& watched, std::uint8_t attach);
  static iocx_put_config put_config(const RecordTarget& target);
  Result<void> write_ends(std::uint32_t slot, const RecordTarget& target) const;
  Result<void> write_config(std::uint32_t slot, const Watched& watched, std::uint8_t attach) const;
  bool may_have_scan_name(const Watched& watched) const;
  void add_scan_names(Watched& watched) const;
  void forget_scan_names(const Watched& watched) const;
  void count_ended(const iocx_thread& thread);
  const Watched* watched_by(const iocx_thread& thread) const;
  std::map<std::uint32_t, std::uint32_t> slots_by_generation() const;
  Result<void> forget_causes_and_links(const Watched& watched) const;

  // attach.cpp
  Result<void> attach_function(Attached& to, const RecordTarget& target, const ProbePoint& point,
                               std::int32_t pid) const;
  Result<void> attach_target(Attached& to, const Watched& watched, std::int32_t pid) const;
  Result<void> attach_target(std::uint32_t slot, Library& library);
  std::vector<std::uint32_t> active(const Library& library) const;
  Result<void> rebalance(Library& library);
  Result<void> switch_to_all(Library& library);
  Result<void> switch_to_processes(Library& library);
  Result<void> set_attach(const Library& library, std::uint8_t attach);
  // timing.cpp
  Result<bool> has_timed_calls(std::uint32_t slot) const;
  Attached* attached_of(std::uint32_t slot);
  Result<bool> write_timing(std::uint32_t slot, const Timing& timing);
  iocx_asynchronous asynchronous(std::uint32_t slot) const;

  void take_off_all();
  void take_off_of(const std::vector<std::uint32_t>& slots);

  bool has_causes_;
  bool has_links_;
  RecordProcessObject object_;  // before the attachments: they die first
  mutable ThreadPlaces thread_places_;
  KernelMemory memory_;
  std::map<LibraryKey, Library> libraries_;
  std::map<std::uint32_t, Watched> watched_;
  std::map<std::uint32_t, Prepared> prepared_;  // by slot
  std::uint32_t next_generation_ = 1;
  std::uint64_t ended_within_ = 0;  // calls that their thread did not live to finish
};

// IOCX_LAYOUT_* for the target's offsets.
std::uint8_t record_layout(const RecordTarget& target);

// IOCX_ATTACH_* of the programs that count.
std::uint8_t attach_bit(Attachment mode);

}  // namespace ioc_exporter::records

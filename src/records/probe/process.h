// RecordProcess: counts and times the processings of the watched IOCs' records. It attaches
// bpf/records/process.bpf.c to them, to each alone or to all processes on a library at once, and
// off and on; what is counted is in its tables. Not thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/result.h"
#include "records/probe/tables.h"

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

// Probes by their programs.
using Attached = std::map<RecordProgram, elf::FunctionProbe>;

struct RecordProcessUse {
  std::uint64_t attachments = 0;
  std::uint64_t threads = 0;
  std::uint64_t threads_capacity = 0;
  std::uint64_t records_capacity = 0;
  KernelMemoryUse memory;
};

class RecordProcess : public RecordTables {
 public:
  using Coming = ComingIoc;
  static Result<RecordProcess> start(const RecordProcessOptions& options);
  RecordProcess(RecordProcess&&) noexcept = default;
  RecordProcess& operator=(RecordProcess&&) noexcept = default;
  // Takes all probes off at the same time.
  ~RecordProcess();

  // Starts to count; the returned slot names the IOC from then on. On an error nothing is left
  // behind.
  Result<std::uint32_t> watch(const RecordTarget& target);
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

  // Chooses the timed calls of the IOC: all (the initial state), or those that begin in a window of
  // time, which weigh `weight` each; the window begins when this returns true. False: ends of calls
  // are not seen, or the IOC is paused. A call after the window costs one trap.
  Result<bool> time_all(std::uint32_t slot);
  Result<bool> time_window(std::uint32_t slot, std::uint32_t weight,
                           std::chrono::nanoseconds length);
  // Ends the window, and the probes that only timed calls need; take_off_ended() takes them off.
  // False: they stay, since timed calls are under way. `anyhow`: those then count without a
  // duration.
  Result<bool> end_window(std::uint32_t slot, bool anyhow);
  // The same for their completions, which may take long.
  Result<bool> end_completions(std::uint32_t slot, bool anyhow);
  // Those of all IOCs with one wait for the kernel.
  void take_off_ended();
  // Where the IOC's probes are: IOCs that are attached together have one. Null: nowhere.
  Attached* attached_of(std::uint32_t slot);

  // Processings that do not come through dbProcess, since a driver calls the record's support: the
  // probe that counts them is one more trap for each record. So it is attached for a second a
  // minute, and stays from the first one on. To be called about once a second.
  Result<void> look_for_direct(std::chrono::steady_clock::time_point now);

  Result<RecordProcessUse> use() const;

 private:
  using AttachedBySlot = std::map<std::uint32_t, Attached>;
  struct Library {
    std::shared_ptr<const elf::CodeFile> code;  // of one of its IOCs
    Attachment mode = Attachment::per_process;
    Attached for_all;
    AttachedBySlot by_slot;
    std::vector<std::uint32_t> slots;
    std::size_t coming = 0;  // IOCs that prepare() was told of and watch() not yet
    bool looking = false;    // look_for_direct()
    std::chrono::steady_clock::time_point look_due{};  // its begin, or its end
  };

  RecordProcess(RecordProcessObject object, const RecordProcessOptions& options)
      : RecordTables(std::move(object), options) {}

  LibraryKey library_of(const std::shared_ptr<const elf::CodeFile>& code, std::uint64_t offset);
  Library& library_of(std::uint32_t slot) { return libraries_.at(watched_.at(slot).library); }
  Result<void> attach_ioc(std::uint32_t slot, Library& library);
  std::vector<std::uint32_t> active(const Library& library) const;
  Result<void> rebalance(Library& library);
  Result<void> change_mode(Library& library, Attachment wanted);
  Result<void> set_attach(const Library& library, unsigned attach);
  Result<void> attach_point(std::uint32_t slot, Library& library, const ProbePoint& point);
  void take_off_all();
  void take_off_of(const std::vector<std::uint32_t>& slots);
  // direct.cpp
  Result<void> let_stay(std::uint32_t slot);
  Result<void> begin_look(Library& library);
  void end_look(Library& library);
  void forget_look(Library& library);
  // timing.cpp
  void end_completion(std::uint32_t slot);
  Result<bool> write_timing(std::uint32_t slot, const CallTiming& timing);

  std::map<LibraryKey, Library> libraries_;
  std::vector<UniqueFd> ended_;  // to be taken off
  std::uint32_t next_generation_ = 1;
};

// IOCX_ATTACH_* of the programs that count.
std::uint8_t attach_bit(Attachment mode);

}  // namespace ioc_exporter::records

// The programs and maps of bpf/records/process.bpf.c in the kernel. Hides libbpf and the skeleton.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "elf/attacher.h"
#include "kernel/caps.h"
#include "kernel/event_ring.h"
#include "kernel/map.h"
#include "kernel/program_stats.h"
#include "records/probe/kernel_memory.h"
#include "records/probe/record_lines.h"
#include "shared/record_completion.h"
#include "shared/record_process.h"
#include "shared/scan_lists.h"
#include "shared/trace_lot.h"
#include "shared/traces.h"

namespace ioc_exporter::records {

// The functions of an IOC that the object has programs for.
enum class RecordProgram : std::uint8_t {
  process,         // dbProcess
  put,             // dbPut
  put_link_field,  // dbCanSetLink
  put_field,       // dbPutField
  put_link,        // dbPutLink
  notify,          // dbProcessNotify, dbPutNotify
  shell,           // dbpf
  scan_list,       // scanList
  completion,      // recGblFwdLink
  link_put,        // dbCaPutLinkCallback
  put_inside,      // dbChannelIO::write
  notify_inside,   // the same with callback
  link_step,       // dbPutLink
};

// Index into function_ends; nothing: the ends of its function are not seen.
std::optional<iocx_ending_function> ending_of(RecordProgram program);

using RecordsMap = kernel::MapView<std::uint64_t, iocx_record_stats>;
using OwnedRecordsMap = kernel::OwnedMap<std::uint64_t, iocx_record_stats>;
using OwnedCompletionsMap = kernel::OwnedMap<std::uint64_t, iocx_completion>;

// Of bpf/traces/maps.bpf.h; while traces are off there are none.
struct RecordTraceMaps {
  kernel::MapView<std::uint32_t, iocx_trace_config> config;  // by slot
  kernel::MapView<std::uint32_t, iocx_trace_lot> lots;       // by slot
  kernel::MapView<iocx_trace_wish_key, iocx_trace_wish> wishes;
  kernel::MapView<std::uint32_t, std::uint64_t> counts;  // per CPU: IOCX_TRACE_SENT, drops
  kernel::MapView<iocx_trace_link_key, iocx_trace_link> links;
};

// Of bpf/records/process.bpf.c. Those of one IOC are by slot.
struct RecordMaps {
  // Places in the array of threads that are taken, with their owners; the array; and the threads
  // that found theirs taken, by id.
  kernel::MapView<std::uint32_t, std::uint64_t> thread_owners;
  kernel::MappedArray<iocx_thread> threads;
  kernel::MapView<std::uint64_t, iocx_thread> overflow_threads;
  kernel::MapView<std::uint32_t, std::uint32_t> ioc_by_tgid;
  kernel::MapView<std::uint32_t, iocx_ioc_config> ioc_config;
  kernel::MapView<std::uint32_t, iocx_asynchronous> asynchronous;  // and its values in place
  kernel::MappedArray<iocx_asynchronous> asynchronous_now;
  kernel::MapView<iocx_scan_name, std::uint8_t> scan_names;
  kernel::MapView<iocx_cause_key, std::uint64_t> causes;
  kernel::MapView<std::uint32_t, std::uint64_t> drops;
  kernel::MapView<std::uint32_t, iocx_function_ends> function_ends;
  RecordRooms rooms;
  kernel::Caps caps;
  RecordLines lines;
  kernel::MapView<std::uint32_t, iocx_put_config> put_config;  // by slot
  kernel::MapView<std::uint64_t, iocx_scan_list> scan_lists;   // by tgid << 32 | tid
  RecordTraceMaps traces;
};

struct RecordProcessOptions {
  // Threads that process records, 3 KiB each. Rounded up to a power of two.
  std::uint32_t max_threads = 4096;
  bool probe_links = true;  // attach by links where the kernel has them (kernel/uprobe.h)
  // Most entries.
  std::uint32_t causes = 0;  // of records' causes, about 90 bytes each; 0: not counted
  std::uint32_t scan_lists = IOCX_MAX_SCAN_LISTS;  // periodic ones, at most
  std::uint32_t scan_names = IOCX_MAX_SCAN_NAMES;
  std::uint64_t kernel_memory = 1u << 30;  // bytes for the maps of all IOCs
  kernel::TraceUse traces = {};            // of chains of records
  bool on_demand = true;  // let entries of these take memory when they are added, where that works
};

// Loaded programs.
class RecordProcessObject {
 public:
  static Result<RecordProcessObject> load(const RecordProcessOptions& options);

  RecordProcessObject(RecordProcessObject&&) noexcept;
  RecordProcessObject& operator=(RecordProcessObject&&) noexcept;
  ~RecordProcessObject();

  // Of the programs in the order of RecordProgram.
  elf::Attacher& attacher() const;

  // Whether a record takes memory when it is processed for the first time. Else, all records of an
  // IOC take it as soon as they are watched.
  bool grows_with_use() const;

  // A map for the records of one IOC, and the place where the programs find it.
  Result<OwnedRecordsMap> make_records_map(std::uint32_t capacity) const;
  // When it returns, no program uses the map that stood there before (maybe_wait_bpf_programs() of
  // kernel/bpf/syscall.c waits for an RCU grace period after a map in a map was replaced).
  Result<void> set_records_map(std::uint32_t slot, const RecordsMap& records) const;
  Result<void> clear_records_map(std::uint32_t slot) const;
  // The same as set_records_map() for several slots, with one wait for all (Linux 5.14 has batches
  // for maps in maps; before, one each). On an error some may stand.
  Result<void> set_records_maps(std::span<const std::pair<std::uint32_t, int>> slots_and_fds) const;

  const RecordMaps& maps() const;
  // A map for the completions of one IOC's records, and the place where the programs find it.
  Result<OwnedCompletionsMap> make_completions_map(std::uint32_t capacity) const;
  Result<void> set_completions_map(std::uint32_t slot, const OwnedCompletionsMap& map) const;
  Result<void> clear_completions_map(std::uint32_t slot) const;

  // Frees the place of a thread that is gone.
  Result<void> free_thread_place(std::uint32_t place) const;

  // Sum over all programs.
  std::optional<kernel::ProgramStats> stats() const;

 private:
  struct Loaded;
  explicit RecordProcessObject(std::unique_ptr<Loaded> loaded);
  static Result<void> configure(Loaded& loaded, const RecordProcessOptions& options);
  static Result<void> configure_traces(Loaded& loaded, const kernel::TraceUse& traces);
  static Result<void> open_views(Loaded& loaded);
  static Result<std::unique_ptr<Loaded>> load_once(const RecordProcessOptions& options);
  std::unique_ptr<Loaded> loaded_;
};

}  // namespace ioc_exporter::records

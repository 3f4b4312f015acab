// Counts and times what each record of the watched IOCs does: owns bpf/record_process.bpf.c, its
// attachments and its maps, and gives their content as plain numbers. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "bpf/record_process_object.h"
#include "probes/attach_policy.h"
#include "shared/record_process.h"
#include "util/result.h"

namespace ioc_exporter::probes {

// A library file, or static executable, and where dbProcess is in it.
struct ProbeFile {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t offset = 0;  // bytes into the file
  auto operator<=>(const ProbeFile&) const = default;
};

// An IOC whose records are to be counted.
struct RecordTarget {
  std::int32_t pid = 0;     // in the initial pid namespace
  std::string attach_path;  // opens `file`: "/proc/812/map_files/7f…-7f…"
  ProbeFile file;
  std::uint16_t pact = 0;  // offsets in struct dbCommon, bytes
  std::uint16_t disa = 0;
  std::uint16_t disv = 0;
  std::uint16_t stat = 0;
  // Offset of SDIS when its links are known to be laid out as since Base 3.16.1
  // (ioc/database_reader.h): then one read of the record decides what a call does. Otherwise it
  // takes two.
  std::optional<std::uint16_t> sdis;
  std::uint32_t records = 0;  // in its database now
};

struct RawRecord {
  std::uint64_t address = 0;  // struct dbCommon * in the IOC
  iocx_record_stats stats{};
};

struct RecordProcessUse {
  std::uint64_t attachments = 0;
  std::uint64_t threads = 0;
  std::uint64_t threads_capacity = 0;
  std::uint64_t records_capacity = 0;
};

class RecordProcess {
 public:
  static Result<RecordProcess> start(const bpf::RecordProcessOptions& options);

  // Starts to count; the returned slot names the IOC from then on. On an error nothing is left
  // behind.
  Result<std::uint32_t> watch(const RecordTarget& target);
  // Takes in what became known since watch(), of an IOC that was still loading: makes room for more
  // records, and uses `sdis`. The rest of `target` must be the same.
  Result<void> update(std::uint32_t slot, const RecordTarget& target);
  // Detaches, and frees what the kernel holds for this IOC.
  void unwatch(std::uint32_t slot);

  // Every record of the IOC that was processed or skipped since watch(), by address, unsorted.
  Result<std::vector<RawRecord>> collect(std::uint32_t slot) const;

  // Frees the stacks of threads that are gone. `alive(pid, tid)` tells.
  Result<void> free_ended_threads(const std::function<bool(std::int32_t, std::int32_t)>& alive);

  Result<std::vector<std::uint64_t>> drops() const;  // by enum iocx_record_drop
  Result<RecordProcessUse> use() const;
  std::optional<bpf::ProgramStats> program_stats() const { return object_.stats(); }

 private:
  struct Watched {
    RecordTarget target;
    std::uint32_t generation = 0;
    std::uint32_t capacity = 0;
    bpf::OwnedRecordsMap records;
    std::unordered_map<std::uint64_t, iocx_record_stats> outgrown;  // counts of smaller maps before
  };
  struct Library {
    Attachment mode = Attachment::per_process;
    std::unique_ptr<bpf::RecordAttachment> for_all;
    std::map<std::uint32_t, bpf::RecordAttachment> by_slot;
    std::vector<std::uint32_t> slots;
  };

  explicit RecordProcess(bpf::RecordProcessObject object);

  Result<std::uint32_t> free_slot() const;
  Result<void> ensure_capacity(std::uint32_t slot, Watched& watched, std::uint32_t records);
  Result<void> register_ioc(std::uint32_t slot, Watched& watched, std::uint8_t attach);
  Result<void> attach(std::uint32_t slot, Library& library, const RecordTarget& target);
  Result<void> rebalance(Library& library);
  Result<void> switch_to_all(Library& library);
  Result<void> switch_to_processes(Library& library);
  Result<void> set_attach(const Library& library, std::uint8_t attach);
  Result<void> write_config(std::uint32_t slot, const Watched& watched, std::uint8_t attach) const;

  bpf::RecordProcessObject object_;  // before the attachments: they die first
  std::map<ProbeFile, Library> libraries_;
  std::map<std::uint32_t, Watched> watched_;
  std::uint32_t next_generation_ = 1;
};

// Adds the counts of `from` to `into`.
void add_stats(iocx_record_stats& into, const iocx_record_stats& from);

// IOCX_LAYOUT_* for the target's offsets.
std::uint8_t record_layout(const RecordTarget& target);

// Text for the label `reason`.
const char* record_drop_reason(std::uint32_t drop);

}  // namespace ioc_exporter::probes

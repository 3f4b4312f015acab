// KernelMemory: the kernel memory for the counts of all IOCs' records. Says how large a map may be,
// and lets the programs add entries to it as far as the IOC's share goes. Not thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/rooted_fs.h"
#include "kernel/hash_memory.h"
#include "kernel/map.h"
#include "shared/record_process.h"

namespace ioc_exporter::records {

// RecordRooms: how much of each map of an IOC is in use, and may be; shared with the programs.
class RecordRooms {
 public:
  static constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

  RecordRooms() = default;
  explicit RecordRooms(kernel::MapMemory record_rooms) : memory_(std::move(record_rooms)) {}

  std::uint64_t used(std::uint32_t room) const { return word(at(room).used).load(); }
  std::uint64_t refused(std::uint32_t room) const { return word(at(room).refused).load(); }
  void set_limit(std::uint32_t room, std::uint64_t entries) const {
    word(at(room).limit).store(entries);
  }
  // Entries of a map that is not used any more.
  void take_back(std::uint32_t room, std::uint64_t entries) const {
    word(at(room).used).fetch_sub(entries);
  }
  // For a map that no program sees.
  void clear(std::uint32_t room) const {
    word(at(room).used).store(0);
    word(at(room).limit).store(0);
    word(at(room).refused).store(0);
  }

 private:
  // The programs' XADD and ours are the same to the processor.
  static std::atomic_ref<std::uint64_t> word(__u64& value) {
    static_assert(sizeof(__u64) == sizeof(std::uint64_t));
    return std::atomic_ref<std::uint64_t>(reinterpret_cast<std::uint64_t&>(value));
  }
  iocx_room& at(std::uint32_t room) const { return static_cast<iocx_room*>(memory_.data())[room]; }

  kernel::MapMemory memory_;
};

// How the kernel memory for the counts of records is shared: what each IOC may take. Pure.

// Memory of a map of an IOC, present and wanted, in bytes.
struct MemoryClaim {
  std::uint64_t held = 0;    // is in use, or may be at any moment: is not taken back
  std::uint64_t likely = 0;  // will do for a while
  std::uint64_t wanted = 0;  // the most that it can use
};

// How much each may have: at least what it holds, at most what it wants, and together no more than
// `limit` unless more is held already. One gets half of the limit at most; where not all get what
// they want, they share it equally, and what is likely to be used goes before what is not.
std::vector<std::uint64_t> share_memory(std::uint64_t limit,
                                        const std::vector<MemoryClaim>& claims);

struct KernelMemoryUse {
  std::uint64_t bytes = 0;
  std::uint64_t limit = 0;
};

// A sixteenth of the host's memory, from 64 MiB to 2 GiB.
std::uint64_t usual_kernel_memory(const RootedFs& fs);

class KernelMemory {
 public:
  static constexpr std::uint32_t kLeastEntries = 64;

  // Owner and purpose of a map. `room`: of RecordRooms.
  struct Wish {
    std::uint32_t room = 0;
    std::uint32_t value_size = 0;
    std::uint32_t entries = 0;  // that it may come to have
  };

  KernelMemory(std::uint64_t limit, bool on_demand, kernel::Cpus cpus)
      : limit_(limit), on_demand_(on_demand), cpus_(cpus) {}

  // The capacity that a map is to be made with; or, of one that there is a claim for, may have. It
  // is counted from now on. The error says that there is no room for kLeastEntries.
  Result<std::uint32_t> claim(const RecordRooms& rooms, const Wish& wish);
  // The map is gone.
  void release(const RecordRooms& rooms, std::uint32_t room);
  // Lets those who need it have what others do not. To be called now and then.
  void share(const RecordRooms& rooms);

  KernelMemoryUse use(const RecordRooms& rooms) const;

 private:
  struct Claim {
    Wish wish;
    std::uint32_t capacity = 0;  // of its map; 0: there is none yet
    std::uint64_t limit = 0;     // of entries, as the programs know it
  };

  kernel::HashShape shape_of(const Claim& claim) const;
  MemoryClaim memory_claim(const RecordRooms& rooms, const Claim& claim) const;
  std::map<std::uint32_t, std::uint64_t> shares(const RecordRooms& rooms) const;
  std::uint64_t limit_within(const Claim& claim, std::uint64_t bytes) const;
  void apply(const RecordRooms& rooms, bool only_less);

  std::uint64_t limit_;
  bool on_demand_;
  kernel::Cpus cpus_;
  std::map<std::uint32_t, Claim> claims_;  // by room
};

}  // namespace ioc_exporter::records

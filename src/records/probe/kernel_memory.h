// KernelMemory: the kernel memory for the counts of all IOCs' records. Says how large a map may be,
// and lets the programs add entries to it as far as the IOC's share goes. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>

#include "base/result.h"
#include "base/rooted_fs.h"
#include "kernel/hash_memory.h"
#include "records/probe/memory_shares.h"
#include "records/probe/rooms.h"

namespace ioc_exporter::records {

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
    std::uint32_t user = 0;  // who runs the IOC; see memory_shares.h
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

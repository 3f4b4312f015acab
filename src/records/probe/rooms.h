// RecordRooms: how much of each map of an IOC is in use, and may be; shared with the programs.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "base/result.h"
#include "kernel/mapped_array.h"
#include "shared/record_process.h"

namespace ioc_exporter::records {

class RecordRooms {
 public:
  static constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

  // The map record_rooms.
  static Result<RecordRooms> map(int fd, const std::string& name) {
    auto memory = kernel::MapMemory::map(fd, IOCX_RECORD_ROOMS * sizeof(iocx_room), name,
                                         kernel::MapMemory::Access::write);
    if (!memory) return std::move(memory).error();
    RecordRooms rooms;
    rooms.memory_ = std::move(*memory);
    return rooms;
  }

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

}  // namespace ioc_exporter::records

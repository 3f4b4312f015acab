// Shares: counts of the places that each holder has in a BPF object's shared tables
// (bpf/shared/shares.h). The object's programs take shares and give them back
// (bpf/base/shares.bpf.h); so does user space when it adds or removes entries.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "kernel/map.h"
#include "shared/shares.h"

namespace ioc_exporter::kernel {

// Rule for a table of which half is for whoever comes first.
constexpr iocx_table_bound usual_bound(std::uint32_t room) {
  return {room, room / 2};
}

class Shares {
 public:
  using Bounds = std::array<iocx_table_bound, IOCX_SHARE_TABLES>;

  // The array, with so many elements. `bounds`: those of the programs.
  static Result<Shares> map(int fd, std::uint32_t holders, const std::string& name,
                            const iocx_table_bound (&bounds)[IOCX_SHARE_TABLES]);

  // False: the holder has too much. `one` may be IOCX_SHARE_ALL: only the group holds it.
  bool take(std::uint32_t table, std::uint32_t one, std::uint32_t group) const;
  // An entry of the table is gone. `group` IOCX_SHARE_ALL: nobody held it.
  void give(std::uint32_t table, std::uint32_t one, std::uint32_t group) const;
  std::uint32_t held(std::uint32_t table, std::uint32_t holder = IOCX_SHARE_ALL) const;
  bool is_crowded(std::uint32_t table) const { return held(table) > bounds_[table].room / 2; }
  std::uint32_t holders() const { return holders_; }

 private:
  void add(std::uint32_t table, std::uint32_t one, std::uint32_t group, std::uint32_t what) const;
  std::uint32_t* at(std::uint32_t table, std::uint32_t holder) const;

  MapMemory memory_;
  std::uint32_t holders_ = 1;
  Bounds bounds_{};
};

// RingShares: the share of each holder in a ring buffer (bpf/shared/ring_shares.h). Programs of
// several objects write to the map, and so does the reader of the ring.
class RingShares {
 public:
  // `name`: of the map, 15 characters at most; `places`: how many may hold some.
  static Result<RingShares> create(const char* name, std::uint32_t places);

  int fd() const { return fd_.get(); }
  // An event of so many bytes is not in the ring any more. A place that there is not: nothing.
  void note_read(std::uint32_t place, std::size_t bytes) const;
  // Bytes that lie in the ring.
  std::uint64_t held(std::uint32_t place) const;

 private:
  std::uint64_t* at(std::uint32_t index) const {
    return static_cast<std::uint64_t*>(memory_.data()) + index;
  }

  UniqueFd fd_;
  MapMemory memory_;
  std::uint32_t places_ = 0;
};

}  // namespace ioc_exporter::kernel

// Shares: who holds how much of the tables of a BPF object that many share (bpf/shared/shares.h).
// The object's programs take shares and give them back (bpf/base/shares.bpf.h); so does who adds or
// removes entries here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "kernel/mapped_array.h"
#include "shared/shares.h"

namespace ioc_exporter::kernel {

// Rule for a table of which half is for whoever comes first.
constexpr iocx_table_bound usual_bound(std::uint32_t room) {
  return {room, room / 2};
}

class Shares {
 public:
  using Bounds = std::array<iocx_table_bound, IOCX_SHARE_TABLES>;

  // The array, with so many elements. `bounds`: what the programs have.
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

}  // namespace ioc_exporter::kernel

// Caps: counts of the entries that each holder has in a BPF object's shared tables
// (bpf/shared/caps.h). The object's programs take places and give them back (bpf/base/caps.bpf.h);
// so does user space when it adds or removes entries.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "kernel/map.h"
#include "shared/caps.h"

namespace ioc_exporter::kernel {

class Caps {
 public:
  // The array, with so many elements. `caps`: those of the programs.
  static Result<Caps> map(int fd, std::uint32_t holders, const std::string& name,
                          const __u32 (&caps)[IOCX_CAPPED_TABLES]);

  // False: the holder has as many as it may.
  bool take(std::uint32_t table, std::uint32_t holder) const;
  // An entry of the table is gone. `holder` IOCX_HELD_ALL: nobody held it.
  void give(std::uint32_t table, std::uint32_t holder) const;
  std::uint32_t held(std::uint32_t table, std::uint32_t holder = IOCX_HELD_ALL) const;
  // More than half of the table is held.
  bool is_crowded(std::uint32_t table) const { return held(table) > caps_[table]; }

 private:
  void add(std::uint32_t table, std::uint32_t holder, std::uint32_t what) const;
  std::uint32_t* at(std::uint32_t table, std::uint32_t holder) const;

  MapMemory memory_;
  std::uint32_t holders_ = 1;
  std::array<std::uint32_t, IOCX_CAPPED_TABLES> caps_{};
};

}  // namespace ioc_exporter::kernel

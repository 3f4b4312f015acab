#include "kernel/caps.h"

#include <algorithm>

namespace ioc_exporter::kernel {

Result<Caps> Caps::map(int fd, std::uint32_t holders, const std::string& name,
                       const __u32 (&caps)[IOCX_CAPPED_TABLES]) {
  auto memory = MapMemory::map(fd, holders * sizeof(iocx_held), name, MapMemory::Access::write);
  if (!memory) return std::move(memory).error();
  Caps made;
  made.memory_ = std::move(*memory);
  made.holders_ = holders;
  std::ranges::copy(caps, made.caps_.begin());
  return made;
}

// An index that an entry of an older program has may be any number.
std::uint32_t* Caps::at(std::uint32_t table, std::uint32_t holder) const {
  return &static_cast<iocx_held*>(memory_.data())[holder % holders_].entries[table];
}

std::uint32_t Caps::held(std::uint32_t table, std::uint32_t holder) const {
  return __atomic_load_n(at(table, holder), __ATOMIC_ACQUIRE);
}

// The programs' atomic addition and this one are the same to the processor.
void Caps::add(std::uint32_t table, std::uint32_t holder, std::uint32_t what) const {
  if (holder == IOCX_HELD_ALL) return;
  __atomic_fetch_add(at(table, IOCX_HELD_ALL), what, __ATOMIC_RELAXED);
  __atomic_fetch_add(at(table, holder), what, __ATOMIC_RELAXED);
}

bool Caps::take(std::uint32_t table, std::uint32_t holder) const {
  if (held(table, holder) >= caps_[table]) return false;
  add(table, holder, 1);
  return true;
}

void Caps::give(std::uint32_t table, std::uint32_t holder) const {
  add(table, holder, static_cast<std::uint32_t>(-1));
}

}  // namespace ioc_exporter::kernel

#include "kernel/shares.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace ioc_exporter::kernel {

Result<Shares> Shares::map(int fd, std::uint32_t holders, const std::string& name,
                           const iocx_table_bound (&bounds)[IOCX_SHARE_TABLES]) {
  auto memory = MapMemory::map(fd, holders * sizeof(iocx_share), name, MapMemory::Access::write);
  if (!memory) return std::move(memory).error();
  Shares shares;
  shares.memory_ = std::move(*memory);
  shares.holders_ = holders;
  std::ranges::copy(bounds, shares.bounds_.begin());
  return shares;
}

// An index that an entry of an older program has may be any number.
std::uint32_t* Shares::at(std::uint32_t table, std::uint32_t holder) const {
  return &static_cast<iocx_share*>(memory_.data())[holder % holders_].held[table];
}

std::uint32_t Shares::held(std::uint32_t table, std::uint32_t holder) const {
  return __atomic_load_n(at(table, holder), __ATOMIC_ACQUIRE);
}

// The programs' atomic addition and this one are the same to the processor.
void Shares::add(std::uint32_t table, std::uint32_t one, std::uint32_t group,
                 std::uint32_t what) const {
  __atomic_fetch_add(at(table, IOCX_SHARE_ALL), what, __ATOMIC_RELAXED);
  __atomic_fetch_add(at(table, group), what, __ATOMIC_RELAXED);
  if (one != IOCX_SHARE_ALL) __atomic_fetch_add(at(table, one), what, __ATOMIC_RELAXED);
}

bool Shares::take(std::uint32_t table, std::uint32_t one, std::uint32_t group) const {
  if (!iocx_share_may(bounds_[table], one, group, held(table), held(table, one),
                      held(table, group)))
    return false;
  add(table, one, group, 1);
  return true;
}

void Shares::give(std::uint32_t table, std::uint32_t one, std::uint32_t group) const {
  if (group != IOCX_SHARE_ALL) add(table, one, group, static_cast<std::uint32_t>(-1));
}

}  // namespace ioc_exporter::kernel

#include "kernel/shares.h"

#include <algorithm>
#include <iterator>

#include "shared/ring_shares.h"

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

Result<RingShares> RingShares::create(const char* name, std::uint32_t places) {
  auto fd = make_mapped_array(name, 2 * places);
  if (!fd) return std::move(fd).error();
  auto memory =
      MapMemory::map(fd->get(), 2 * places * sizeof(std::uint64_t), name, MapMemory::Access::write);
  if (!memory) return std::move(memory).error();
  RingShares shares;
  shares.fd_ = std::move(*fd);
  shares.memory_ = std::move(*memory);
  shares.places_ = places;
  return shares;
}

// Single writer: a plain store that is not torn is enough.
void RingShares::note_read(std::uint32_t place, std::size_t bytes) const {
  if (place >= places_) return;
  std::uint64_t* const read = at(places_ + place);
  __atomic_store_n(read, *read + iocx_ring_bytes(static_cast<std::uint32_t>(bytes)),
                   __ATOMIC_RELAXED);
}

std::uint64_t RingShares::held(std::uint32_t place) const {
  if (place >= places_) return 0;
  const std::uint64_t read = __atomic_load_n(at(places_ + place), __ATOMIC_RELAXED);
  return __atomic_load_n(at(place), __ATOMIC_RELAXED) - read;
}

}  // namespace ioc_exporter::kernel

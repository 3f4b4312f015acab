#include "kernel/ring_shares.h"

#include "shared/ring_shares.h"

namespace ioc_exporter::kernel {

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

#include "iocs/memory/cached_memory.h"

#include <algorithm>
#include <cstring>

namespace ioc_exporter::iocs {

CachedMemory::CachedMemory(Memory& memory)
    : memory_(memory), slots_(std::make_unique_for_overwrite<std::array<Slot, kSlots>>()) {}

Result<std::size_t> CachedMemory::read_some(std::uint64_t address, std::span<std::byte> into) {
  if (into.empty()) return std::size_t{0};
  Slot& slot = (*slots_)[address / kBlock % kSlots];
  if (!slot.holds(address)) {
    auto filled = fill(slot, address);
    if (!filled) return std::move(filled).error();
  }
  const std::size_t offset = address - slot.start;
  const std::size_t size = std::min(into.size(), slot.size - offset);
  std::memcpy(into.data(), slot.bytes.data() + offset, size);
  return size;
}

Result<void> CachedMemory::fill(Slot& slot, std::uint64_t address) {
  slot.size = 0;
  slot.start = address - address % kBlock;
  if (const auto got = memory_.read_some(slot.start, slot.bytes)) slot.size = *got;
  if (slot.holds(address)) return {};
  // The block is not mapped from its start to here: begin at this address' own page, which is
  // mapped as a whole or not at all.
  slot.start = address - address % kPage;
  slot.size = 0;
  const std::size_t room = kBlock - slot.start % kBlock;
  if (const auto got = memory_.read_some(slot.start, std::span(slot.bytes).first(room)))
    slot.size = *got;
  if (slot.holds(address)) return {};
  // Asked once more for the error that names this address.
  auto exact = memory_.read_some(address, std::span(slot.bytes).first(1));
  if (!exact) return std::move(exact).error();
  return error_in_words("read memory at " + hex_address(address) + ": it is being mapped");
}

}  // namespace ioc_exporter::iocs

// CachedMemory: reads in blocks and keeps a few of them, so that following a list of 100,000 nodes
// does not take as many system calls. A picture of moments that are not the same: for one pass,
// then thrown away. Small on purpose: a list runs mostly forward through the IOC's heap, and a
// block that was left is read again in microseconds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "iocs/memory/memory.h"

namespace ioc_exporter::iocs {

class CachedMemory : public Memory {
 public:
  static constexpr std::size_t kPage = 4096;    // the smallest unit of mapping of any Linux
  static constexpr std::size_t kBlock = 16384;  // what one system call reads, if it is all mapped
  static constexpr std::size_t kSlots = 64;

  explicit CachedMemory(Memory& memory);

  // Ends at the end of a block, or where the memory does.
  Result<std::size_t> read_some(std::uint64_t address, std::span<std::byte> into) override;

 private:
  struct Slot {
    std::uint64_t start = 0;
    std::size_t size = 0;  // bytes that are valid from `start` on
    std::array<std::byte, kBlock> bytes;

    bool holds(std::uint64_t address) const { return address >= start && address - start < size; }
  };

  Result<void> fill(Slot& slot, std::uint64_t address);

  Memory& memory_;
  std::unique_ptr<std::array<Slot, kSlots>> slots_;
};

}  // namespace ioc_exporter::iocs

#include "base/huge_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace ioc_exporter {

void prefer_huge_pages(void* block, std::size_t bytes) {
  constexpr std::size_t kWorthIt = std::size_t{4} << 20;  // two of them on most machines
  if (bytes < kWorthIt) return;
  static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  // All of the mapping, with the header of malloc(3) before the block: realloc(3) cannot enlarge in
  // place what has become two mappings.
  const auto begin = reinterpret_cast<std::uintptr_t>(block) & ~(page - 1);
  const auto end = (reinterpret_cast<std::uintptr_t>(block) + bytes + page - 1) & ~(page - 1);
  static_cast<void>(::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE));
}

}  // namespace ioc_exporter

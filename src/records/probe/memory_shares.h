// How the kernel memory for the counts of records is shared: what each IOC may take. Pure.
#pragma once

#include <cstdint>
#include <vector>

namespace ioc_exporter::records {

// Memory of a map of an IOC, present and wanted, in bytes.
struct MemoryClaim {
  std::uint32_t user = 0;    // who runs the IOC
  std::uint64_t held = 0;    // is in use, or may be at any moment: is not taken back
  std::uint64_t likely = 0;  // will do for a while
  std::uint64_t wanted = 0;  // the most that it can use
};

// How much each may have: at least what it holds, at most what it wants, and together no more than
// `limit` unless more is held already. A user's IOCs get half of the limit together at most, so
// that there is room for others who come later; users share it equally, and so do the IOCs of one
// user. Where not all get what they want, what is likely to be used goes before what is not.
std::vector<std::uint64_t> share_memory(std::uint64_t limit,
                                        const std::vector<MemoryClaim>& claims);

}  // namespace ioc_exporter::records

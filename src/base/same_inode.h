// Whether two open files are one file to the kernel. stat(2) does not say: two overlay mounts of
// one lower file show two devices, but pages and uprobes are those of the one file below.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/result.h"

namespace ioc_exporter {

// Which of `others` has its content at byte `offset` in the very page cache that `fd` has it in;
// nothing: none. All are descriptors that are open for reading. What cannot be mapped is no match.
Result<std::optional<std::size_t>> find_same_inode(int fd, std::span<const int> others,
                                                   std::uint64_t offset);

}  // namespace ioc_exporter

// Whether a function of one of some names begins at a place of an ELF file. For who attaches probes
// with rights of its own at the wish of somebody who has none: only numbers of fixed size are read
// from the file, each is checked, and no memory is taken for what it says.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"

namespace ioc_exporter::kernel {

// A regular file, 64-bit and of this machine's byte order, by pread. An error: it does not, or
// cannot be read.
Result<void> check_function_at(int fd, std::uint64_t offset, std::span<const char* const> names);

}  // namespace ioc_exporter::kernel

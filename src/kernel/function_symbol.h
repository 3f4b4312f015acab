// Whether a function of one of some names begins at a place of an ELF file. For who attaches probes
// with rights of its own at the wish of somebody who has none: only numbers of fixed size are read
// from the file, each is checked, and no memory is taken for what it says.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"

namespace ioc_exporter::kernel {

// Its size, as the symbol table says. A regular file, 64-bit and of this machine's byte order, by
// pread. An error: no such function begins there, or the file cannot be read.
Result<std::uint64_t> size_of_function_at(int fd, std::uint64_t offset,
                                          std::span<const char* const> names);
// The same for who need not know how long it is.
Result<void> check_function_at(int fd, std::uint64_t offset, std::span<const char* const> names);

}  // namespace ioc_exporter::kernel

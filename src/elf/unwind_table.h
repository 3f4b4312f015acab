// Functions in an ELF file's table for unwinding, .eh_frame_hdr (Linux Standard Base, "Exception
// Frames"): sorted by address, as all linkers write it. Stripped files have it as well.
#pragma once

#include <cstdint>
#include <optional>

#include "elf/elf_file.h"

namespace ioc_exporter::elf {

// Size of the function that begins at the address; none: none does.
std::optional<std::uint64_t> unwound_size_at(ElfFile& file, std::uint64_t address);

}  // namespace ioc_exporter::elf

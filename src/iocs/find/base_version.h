// The version of EPICS Base, from a file that was linked to it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "elf/elf_symbols.h"

namespace ioc_exporter::iocs {

// "EPICS R3.15.9" anywhere in `bytes` gives "3.15.9", "EPICS 7.0.10.1-DEV" gives "7.0.10.1-DEV"; ""
// when there is none. A string of its own (zero byte before and behind) is preferred to a part of
// one.
std::string base_version_in(std::string_view bytes);

// Searches the loaded segments of a file, without its code, through pread: at most 256 MiB.
// Parts that cannot be read are not searched.
std::string base_version_of_file(int fd, std::span<const elf::LoadSegment> segments);

// Last resort, the number at the end of a library's name. Up to 3.16 that is Base's version, then
// the database's ("database 3.23.1"), in PyPI's wheels Base's with ".99.x" behind it ("7.0.10").
std::string base_version_from_name(std::string_view library_path);

}  // namespace ioc_exporter::iocs

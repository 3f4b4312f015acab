// /proc/PID/maps (proc(5)), as far as finding code goes: which files a process maps executable.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ioc_exporter::elf {

struct Mapping {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t offset = 0;  // in the file
  bool executable = false;
  std::string device;  // "fe:00"
  std::uint64_t inode = 0;
  // "" = anonymous; "[vdso]" and the like as they stand; without " (deleted)".
  std::string path;
  bool deleted = false;  // the path carried the suffix " (deleted)"
  // Executable mappings of the file, here and further ones: from, to. Of executable_modules() only.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> code = {};

  bool operator==(const Mapping&) const = default;
};

// One line without its newline. The kernel writes a newline within a path as "\012"
// (seq_file_path).
std::optional<Mapping> parse_mapping(std::string_view line);

// Whether byte `offset` of the file is mapped executable.
bool maps_code_at(const Mapping& module, std::uint64_t offset);

// The first executable mapping of every file, in the order of the maps. Lines that do not parse
// (the text was cut) are left out.
std::vector<Mapping> executable_modules(std::string_view maps);

// Name of a mapping below /proc/PID/map_files: unlike in maps, the numbers are not padded there.
std::string map_files_name(const Mapping& mapping);

}  // namespace ioc_exporter::elf

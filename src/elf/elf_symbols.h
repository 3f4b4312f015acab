// Where given symbols of an ELF file are: address, and offset in the file for a uprobe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "elf/code_file.h"

namespace ioc_exporter::elf {

// A PT_LOAD program header (elf(5)).
struct LoadSegment {
  std::uint64_t offset = 0;
  std::uint64_t address = 0;
  std::uint64_t file_size = 0;
  bool executable = false;
};

struct ElfSymbol {
  std::uint64_t value = 0;                   // st_value
  std::optional<std::uint64_t> file_offset;  // none: not in the file (.bss)
  std::uint64_t size = 0;                    // st_size: bytes of code or data, 0 = not told
  // A function: type STT_FUNC, and all its bytes in the file and in an executable segment.
  bool function = false;
};

class ElfSymbols {
 public:
  // Reads a 64-bit ELF file of this machine's kind through `fd` by pread: the file may shrink or be
  // nonsense, that is an error that names `path`. Only symbols that the file defines count, not
  // those that it imports (but for uses()). The dynamic symbols come first, then .symtab, there
  // global before local. rsrv's static functions are found also where no symbol names them
  // (rsrv_functions.h).
  static Result<ElfSymbols> read(int fd, const std::string& path,
                                 std::span<const std::string> wanted);

  // As bytes for another process of this program, and back. None: they are no symbols.
  std::string packed() const;
  static std::optional<ElfSymbols> unpacked(std::string_view bytes);

  const ElfSymbol* find(std::string_view name) const;
  // The file defines the symbol, or imports it from another one.
  bool uses(std::string_view name) const {
    return symbols_.contains(name) || imported_.contains(name);
  }
  // Symbols of functions, without parts that a compiler has put elsewhere.
  std::vector<CodeRange> functions() const;
  // No .symtab: what is not exported cannot be found.
  bool stripped() const { return stripped_; }
  const std::vector<LoadSegment>& segments() const { return segments_; }
  // Offset to add to st_value in a process that maps `offset` of the file executable at `start`.
  // None: no executable segment holds that offset.
  std::optional<std::uint64_t> load_bias(std::uint64_t start, std::uint64_t offset) const;

 private:
  friend class ElfReader;

  std::vector<LoadSegment> segments_;
  std::map<std::string, ElfSymbol, std::less<>> symbols_;
  std::set<std::string, std::less<>> imported_;
  bool stripped_ = true;
};

// Whether a function of one of these names (none: of any) begins at that offset of a regular file,
// and its size, as the symbol table says. For a process that attaches probes with its own rights at
// the wish of others who have none: no memory is taken for what the file says.
Result<std::uint64_t> size_of_function_at(int fd, std::uint64_t offset,
                                          std::span<const char* const> names);

}  // namespace ioc_exporter::elf

// ElfFile: headers of a 64-bit ELF file of this machine's kind, and bounded reading of it.
//
// The file is somebody else's: it may shrink or be nonsense. It is read by pread, into buffers of
// fixed size, a bounded number of bytes in a bounded CPU time.
#pragma once

#include <elf.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ioc_exporter::elf {

class ElfFile {
 public:
  struct Bounds {
    std::uint64_t bytes = 0, cpu_ns = 0;
  };
  // `fd` outlives it. `what` begins the error.
  static Result<ElfFile> open(int fd, const std::string& what, const Bounds& bounds);

  const std::vector<Elf64_Phdr>& segments() const { return segments_; }
  const std::vector<Elf64_Shdr>& sections() const { return sections_; }
  // The one that is loaded from the file to that address; null: none.
  const Elf64_Phdr* segment_of(std::uint64_t address) const;
  bool is_code(std::uint64_t address) const;
  std::optional<std::uint64_t> offset_of(std::uint64_t address) const;
  // Of the code that stands at this offset of the file.
  std::optional<std::uint64_t> code_address(std::uint64_t offset) const;

  // False: the file ends before, or it was looked at for long enough.
  bool read(std::uint64_t offset, void* into, std::size_t size);
  // Calls visit(value, its index) for `count` values from there on, as many as can be read.
  template <class T, class Visit>
  void for_each(std::uint64_t offset, std::uint64_t count, Visit visit) {
    constexpr std::size_t kBlock = 4096;
    std::vector<T> block(static_cast<std::size_t>(std::min<std::uint64_t>(kBlock, count)));
    for (std::uint64_t first = 0; first < count; first += kBlock) {
      const auto here = static_cast<std::size_t>(std::min<std::uint64_t>(kBlock, count - first));
      if (!read(offset + first * sizeof(T), block.data(), here * sizeof(T))) return;
      for (std::size_t i = 0; i < here; ++i) visit(block[i], first + i);
    }
  }
  // Calls visit(symbol, its name) for those of a symbol table. A longer name is cut after `longest`
  // bytes. False: no names belong to it, or they and it have more than `most_bytes`.
  template <class Visit>
  bool for_each_symbol(const Elf64_Shdr& table, std::uint64_t most_bytes, std::size_t longest,
                       Visit visit) {
    if (table.sh_link >= sections_.size()) return false;
    const Elf64_Shdr& strings = sections_[table.sh_link];
    if (strings.sh_type != SHT_STRTAB || strings.sh_size > most_bytes ||
        table.sh_size > most_bytes - strings.sh_size)
      return false;
    std::string names(strings.sh_size, '\0');
    if (!read(strings.sh_offset, names.data(), names.size())) return true;
    for_each<Elf64_Sym>(table.sh_offset, table.sh_size / sizeof(Elf64_Sym),
                        [&](const Elf64_Sym& symbol, std::uint64_t) {
                          if (symbol.st_name >= names.size()) return;
                          std::string_view name =
                              std::string_view(names).substr(symbol.st_name, longest + 1);
                          visit(symbol, name.substr(0, name.find('\0')));
                        });
    return true;
  }
  // All that was asked for could be read.
  bool is_complete() const { return complete_; }

 private:
  ElfFile(int fd, const Bounds& bounds);
  Result<void> read_headers(const std::string& what);

  int fd_;
  std::uint64_t left_, deadline_ns_;
  bool complete_ = true;
  std::vector<Elf64_Phdr> segments_;
  std::vector<Elf64_Shdr> sections_;
};

}  // namespace ioc_exporter::elf

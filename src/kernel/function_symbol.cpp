#include "kernel/function_symbol.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

namespace ioc_exporter::kernel {
namespace {

// As many as no library has: nobody's file keeps us busy for long.
constexpr std::uint64_t kMostSegments = 128, kMostSections = 4096, kMostSymbols = 4u << 20;
constexpr std::size_t kBlock = 256;    // symbols that are read at once
constexpr std::size_t kLongest = 384;  // of a name: C++

template <class T>
bool read_at(int fd, std::uint64_t offset, T& into, std::size_t size = sizeof(T)) {
  return offset <= INT64_MAX &&
         ::pread(fd, &into, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
}

class Search {
 public:
  Search(int fd, std::span<const char* const> names) : fd_(fd), names_(names) {}

  std::optional<std::uint64_t> size_at(std::uint64_t offset) {
    if (!read_at(fd_, 0, header_) || std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0 ||
        header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_phentsize != sizeof(Elf64_Phdr) ||
        header_.e_shentsize != sizeof(Elf64_Shdr))
      return std::nullopt;
    const auto address = address_of(offset);
    if (!address) return std::nullopt;
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(header_.e_shnum, kMostSections); ++i) {
      const auto section = section_at(i);
      if (!section) return std::nullopt;
      const bool has_symbols = section->sh_type == SHT_SYMTAB || section->sh_type == SHT_DYNSYM;
      if (!has_symbols || section->sh_entsize != sizeof(Elf64_Sym)) continue;
      if (const auto size = size_of(*section, *address)) return size;
    }
    return std::nullopt;
  }

 private:
  // Of the code that stands there; nothing: no code does.
  std::optional<std::uint64_t> address_of(std::uint64_t offset) const {
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(header_.e_phnum, kMostSegments); ++i) {
      Elf64_Phdr segment;
      if (!read_at(fd_, header_.e_phoff + i * sizeof segment, segment)) return std::nullopt;
      if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0 &&
          offset >= segment.p_offset && offset - segment.p_offset < segment.p_filesz)
        return offset - segment.p_offset + segment.p_vaddr;
    }
    return std::nullopt;
  }

  std::optional<Elf64_Shdr> section_at(std::uint64_t index) const {
    Elf64_Shdr section;
    if (index >= header_.e_shnum ||
        !read_at(fd_, header_.e_shoff + index * sizeof section, section))
      return std::nullopt;
    return section;
  }

  std::optional<std::uint64_t> size_of(const Elf64_Shdr& symbols, std::uint64_t address) const {
    const auto strings = section_at(symbols.sh_link);
    if (!strings) return std::nullopt;
    const std::uint64_t count =
        std::min<std::uint64_t>(symbols.sh_size / sizeof(Elf64_Sym), kMostSymbols);
    std::array<Elf64_Sym, kBlock> block;
    for (std::uint64_t first = 0; first < count; first += kBlock) {
      const auto here = static_cast<std::size_t>(std::min<std::uint64_t>(kBlock, count - first));
      if (!read_at(fd_, symbols.sh_offset + first * sizeof(Elf64_Sym), block,
                   here * sizeof(Elf64_Sym)))
        return std::nullopt;
      for (std::size_t i = 0; i < here; ++i)
        if (block[i].st_value == address && block[i].st_shndx != SHN_UNDEF &&
            is_named(block[i], *strings))
          return block[i].st_size;
    }
    return std::nullopt;
  }

  bool is_named(const Elf64_Sym& symbol, const Elf64_Shdr& strings) const {
    const unsigned type = ELF64_ST_TYPE(symbol.st_info);
    if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_name >= strings.sh_size)
      return false;
    std::array<char, kLongest> name{};
    const auto room = static_cast<std::size_t>(
        std::min<std::uint64_t>(strings.sh_size - symbol.st_name, name.size() - 1));
    if (!read_at(fd_, strings.sh_offset + symbol.st_name, name, room)) return false;
    return std::ranges::any_of(
        names_, [&](const char* wanted) { return std::string_view(wanted) == name.data(); });
  }

  int fd_;
  std::span<const char* const> names_;
  Elf64_Ehdr header_{};
};

}  // namespace

Result<std::uint64_t> size_of_function_at(int fd, std::uint64_t offset,
                                          std::span<const char* const> names) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return last_error("look at a file to attach to");
  const auto size = S_ISREG(status.st_mode) ? Search(fd, names).size_at(offset) : std::nullopt;
  if (size) return *size;
  return error_in_words("attach at offset " + std::to_string(offset) +
                        ": the file's symbols name no function there that is attached to");
}

Result<void> check_function_at(int fd, std::uint64_t offset, std::span<const char* const> names) {
  auto size = size_of_function_at(fd, offset, names);
  return size ? Result<void>() : std::move(size).error();
}

}  // namespace ioc_exporter::kernel

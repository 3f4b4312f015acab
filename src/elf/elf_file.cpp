#include "elf/elf_file.h"

#include <sys/types.h>
#include <unistd.h>

#include <bit>
#include <cstring>
#include <ctime>
#include <limits>

#include "base/wall_clock.h"

namespace ioc_exporter::elf {
namespace {

// As many as no file has that is run.
constexpr std::size_t kMostSegments = 256, kMostSections = 4096;

#if defined(__x86_64__)
constexpr unsigned kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr unsigned kMachine = EM_AARCH64;
#else
#error "which ELF machine is this?"
#endif

}  // namespace

ElfFile::ElfFile(int fd, const Bounds& bounds)
    : fd_(fd),
      left_(bounds.bytes),
      deadline_ns_(clock_ns(CLOCK_THREAD_CPUTIME_ID) + bounds.cpu_ns) {}

Result<ElfFile> ElfFile::open(int fd, const std::string& what, const Bounds& bounds) {
  ElfFile file(fd, bounds);
  auto read = file.read_headers(what);
  if (!read) return std::move(read).error();
  return file;
}

Result<void> ElfFile::read_headers(const std::string& what) {
  Elf64_Ehdr header;
  const ssize_t got = ::pread(fd_, &header, sizeof header, 0);
  if (got < 0) return last_error(what);
  if (got < static_cast<ssize_t>(sizeof header) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return error_in_words(what + ": not an ELF file");
  constexpr unsigned char kOrder =
      std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
  if (header.e_ident[EI_CLASS] == ELFCLASS32) return error_in_words(what + ": 32-bit");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != kOrder ||
      header.e_machine != kMachine)
    return error_in_words(what + ": built for another kind of processor");
  if (header.e_type != ET_EXEC && header.e_type != ET_DYN)
    return error_in_words(what + ": neither executable nor shared library");
  if (header.e_phnum > kMostSegments || header.e_shnum > kMostSections ||
      (header.e_shoff != 0 && header.e_shnum == 0))
    return error_in_words(what + ": too many segments or sections");
  segments_.resize(header.e_phnum);
  sections_.resize(header.e_shnum);
  const bool fits = (segments_.empty() || header.e_phentsize == sizeof(Elf64_Phdr)) &&
                    (sections_.empty() || header.e_shentsize == sizeof(Elf64_Shdr));
  if (!fits || !read(header.e_phoff, segments_.data(), segments_.size() * sizeof(Elf64_Phdr)) ||
      !read(header.e_shoff, sections_.data(), sections_.size() * sizeof(Elf64_Shdr)))
    return error_in_words(what + ": damaged headers");
  return {};
}

const Elf64_Phdr* ElfFile::segment_of(std::uint64_t address) const {
  const auto holds = [address](const Elf64_Phdr& segment) {
    return segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
           address - segment.p_vaddr < segment.p_filesz;
  };
  const auto found = std::ranges::find_if(segments_, holds);
  return found == segments_.end() ? nullptr : &*found;
}

bool ElfFile::is_code(std::uint64_t address) const {
  const Elf64_Phdr* const segment = segment_of(address);
  return segment != nullptr && (segment->p_flags & PF_X) != 0;
}

std::optional<std::uint64_t> ElfFile::offset_of(std::uint64_t address) const {
  const Elf64_Phdr* const segment = segment_of(address);
  if (segment == nullptr) return std::nullopt;
  return segment->p_offset + (address - segment->p_vaddr);
}

std::optional<std::uint64_t> ElfFile::code_address(std::uint64_t offset) const {
  for (const Elf64_Phdr& segment : segments_)
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0 && offset >= segment.p_offset &&
        offset - segment.p_offset < segment.p_filesz)
      return offset - segment.p_offset + segment.p_vaddr;
  return std::nullopt;
}

bool ElfFile::read(std::uint64_t offset, void* into, std::size_t size) {
  constexpr std::uint64_t kMost = std::numeric_limits<off_t>::max();
  if (size == 0) return complete_;
  complete_ = complete_ && size <= left_ && offset <= kMost - size &&
              clock_ns(CLOCK_THREAD_CPUTIME_ID) <= deadline_ns_ &&
              ::pread(fd_, into, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
  left_ -= std::min<std::uint64_t>(size, left_);
  return complete_;
}

}  // namespace ioc_exporter::elf

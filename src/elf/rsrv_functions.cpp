#include "elf/rsrv_functions.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <limits>
#include <set>
#include <span>
#include <vector>

#include "elf/elf_file.h"

namespace ioc_exporter::elf {
namespace {

#if defined(__x86_64__)
constexpr std::uint64_t kRelative = R_X86_64_RELATIVE;
#elif defined(__aarch64__)
constexpr std::uint64_t kRelative = R_AARCH64_RELATIVE;
#endif

constexpr std::uint64_t kMostBytes = 32u << 20;      // that are read of a file
constexpr std::uint64_t kMostCpuNs = 1'000'000'000;  // that the search may take
constexpr std::size_t kMostDynamic = 512;

// Entries of the table, by command (caProto.h), up to the last that has no handler of its own in
// all versions.
constexpr std::size_t kEntries = 23;
constexpr std::size_t kWrite = 4, kWriteNotify = 19;
constexpr std::size_t kBad[] = {5, 7, 11, 13, 14, 16, 17, 22};
// That the handler of bad commands fits into.
constexpr std::size_t kMostOfBadHandler = 512;
constexpr std::size_t kMostOfNotifyAction = 4096;
// Of doneCallback in struct rsrv_put_notify (rsrv/server.h): of processNotify 72, which comes after
// an ELLNODE.
constexpr std::uint8_t kDoneCallback = 16 + 72;

using Table = std::array<std::uint64_t, kEntries>;

bool is_bad(std::size_t command) {
  return std::ranges::find(kBad, command) != std::end(kBad);
}

bool has_shape(const Table& table) {
  const std::uint64_t bad = table[kBad[0]];
  for (const std::size_t command : kBad)
    if (table[command] != bad) return false;
  for (std::size_t i = 0; i < kEntries; ++i)
    for (std::size_t other = i + 1; other < kEntries; ++other)
      if (table[i] == table[other] && !(table[i] == bad && is_bad(i) && is_bad(other)))
        return false;
  return true;
}

// Code from `address` on, no more than `size` bytes of it.
std::vector<std::uint8_t> code_at(ElfFile& file, std::uint64_t address, std::size_t size) {
  const Elf64_Phdr* const segment = file.segment_of(address);
  if (segment == nullptr) return {};
  const std::uint64_t rest = segment->p_filesz - (address - segment->p_vaddr);
  std::vector<std::uint8_t> bytes(std::min<std::uint64_t>(size, rest));
  if (!file.read(*file.offset_of(address), bytes.data(), bytes.size())) bytes.clear();
  return bytes;
}

// Takes pointers in the order of where they lie, and keeps the one array that has the shape.
class TableSearch {
 public:
  explicit TableSearch(const ElfFile& file) : file_(&file) {}

  void add(std::uint64_t address, std::uint64_t target) {
    const bool is_code = file_->is_code(target);
    if (address != last_ + sizeof(std::uint64_t) || !is_code) run_ = 0;
    last_ = address;
    if (!is_code) return;
    ring_[run_++ % kEntries] = target;
    if (run_ < kEntries || at(kBad[0]) != at(kBad[1])) return;
    Table table;
    for (std::size_t i = 0; i < kEntries; ++i) table[i] = at(i);
    if (!has_shape(table)) return;
    ambiguous_ = ambiguous_ || (found_ && *found_ != table);
    found_ = table;
  }
  std::optional<Table> take() const { return ambiguous_ ? std::nullopt : found_; }

 private:
  std::uint64_t at(std::size_t i) const { return ring_[(run_ + i) % kEntries]; }

  const ElfFile* file_;
  std::uint64_t last_ = 0;
  std::uint64_t run_ = 0;  // pointers that lie side by side
  Table ring_{};
  std::optional<Table> found_;
  bool ambiguous_ = false;
};

// Pointers that the dynamic linker makes: of shared libraries, and of executables that are
// position-independent.
void search_relocations(ElfFile& file, TableSearch& search) {
  std::uint64_t table = 0, size = 0;
  for (const Elf64_Phdr& segment : file.segments())
    if (segment.p_type == PT_DYNAMIC)
      file.for_each<Elf64_Dyn>(
          segment.p_offset,
          std::min<std::uint64_t>(segment.p_filesz / sizeof(Elf64_Dyn), kMostDynamic),
          [&](const Elf64_Dyn& entry, std::uint64_t) {
            if (entry.d_tag == DT_RELA) table = entry.d_un.d_ptr;
            if (entry.d_tag == DT_RELASZ) size = entry.d_un.d_val;
          });
  const auto offset = file.offset_of(table);
  if (!offset) return;
  file.for_each<Elf64_Rela>(
      *offset, size / sizeof(Elf64_Rela), [&](const Elf64_Rela& relocation, std::uint64_t) {
        if (ELF64_R_TYPE(relocation.r_info) == kRelative)
          search.add(relocation.r_offset, static_cast<std::uint64_t>(relocation.r_addend));
      });
}

// Pointers that stand in the file: of other executables, and where relocations are packed.
void search_words(ElfFile& file, TableSearch& search) {
  for (const Elf64_Phdr& segment : file.segments()) {
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) != 0) continue;
    const std::uint64_t skipped = -segment.p_vaddr % sizeof(std::uint64_t);
    if (segment.p_filesz < skipped) continue;
    file.for_each<std::uint64_t>(
        segment.p_offset + skipped, (segment.p_filesz - skipped) / sizeof(std::uint64_t),
        [&](std::uint64_t word, std::uint64_t index) {
          search.add(segment.p_vaddr + skipped + index * sizeof word, word);
        });
  }
}

using Code = std::span<const std::uint8_t>;

#if defined(__x86_64__)

std::uint64_t after_relative(Code code, std::size_t at, std::uint64_t address) {
  std::int32_t relative;
  std::memcpy(&relative, &code[at], sizeof relative);
  return address + at + sizeof relative + static_cast<std::uint64_t>(std::int64_t{relative});
}

// The call after `mov $0x8e,%esi`: ECA_INTERNAL, its second argument.
std::optional<std::uint64_t> called_with_internal_error(Code code, std::uint64_t address,
                                                        const ElfFile& file) {
  constexpr std::uint8_t kMove[] = {0xbe, 0x8e, 0, 0, 0};
  constexpr std::uint8_t kCall = 0xe8;
  const auto move = std::search(code.begin(), code.end(), std::begin(kMove), std::end(kMove));
  for (auto at = static_cast<std::size_t>(move - code.begin()); at + 5 <= code.size(); ++at)
    if (code[at] == kCall)
      if (const auto target = after_relative(code, at + 1, address); file.is_code(target))
        return target;
  return std::nullopt;
}

// Addresses of code that are written to `doneCallback` of something: `lea x(%rip),%r` and soon
// after it `mov %r,0x58(…)`.
std::set<std::uint64_t> stored_callbacks(Code code, std::uint64_t address, const ElfFile& file) {
  constexpr std::size_t kLea = 7, kStore = 4, kNear = 48;
  const auto is_wide = [](std::uint8_t prefix) { return (prefix & 0xf8) == 0x48; };
  const auto reg = [](std::uint8_t prefix, std::uint8_t modes) {
    return (prefix & 4) << 1 | (modes >> 3 & 7);
  };
  std::set<std::uint64_t> found;
  for (std::size_t lea = 0; lea + kLea <= code.size(); ++lea) {
    if (!is_wide(code[lea]) || code[lea + 1] != 0x8d || (code[lea + 2] & 0xc7) != 5) continue;
    const std::uint64_t target = after_relative(code, lea + 3, address);
    if (!file.is_code(target)) continue;
    const int loaded = reg(code[lea], code[lea + 2]);
    const std::size_t end = std::min(lea + kNear, code.size());
    for (std::size_t at = lea + kLea; at + kStore <= end; ++at) {
      if (!is_wide(code[at]) || reg(code[at], code[at + 2]) != loaded) continue;
      const std::uint8_t modes = code[at + 2] & 0xc7;
      if (code[at + 1] == 0x8d) break;  // another address from here on
      if (code[at + 1] == 0x89 && modes >> 6 == 1 && modes != 0x44 && code[at + 3] == kDoneCallback)
        found.insert(target);
    }
  }
  return found;
}

#elif defined(__aarch64__)

std::uint32_t instruction_at(Code code, std::size_t at) {
  std::uint32_t instruction;
  std::memcpy(&instruction, &code[at], sizeof instruction);
  return instruction;
}

std::optional<std::uint64_t> called_with_internal_error(Code code, std::uint64_t address,
                                                        const ElfFile& file) {
  constexpr std::uint32_t kMove = 0x52800001 | 0x8e << 5;  // mov w1, #0x8e
  bool moved = false;
  for (std::size_t at = 0; at + 4 <= code.size(); at += 4) {
    const std::uint32_t instruction = instruction_at(code, at);
    moved = moved || instruction == kMove;
    if (!moved || instruction >> 26 != 0x25) continue;  // bl
    const auto relative = static_cast<std::int64_t>(std::uint64_t{instruction} << 38) >> 36;
    const std::uint64_t target = address + at + static_cast<std::uint64_t>(relative);
    return file.is_code(target) ? std::optional(target) : std::nullopt;
  }
  return std::nullopt;
}

// adrp and add, then str, or stp with it first or second.
std::set<std::uint64_t> stored_callbacks(Code code, std::uint64_t address, const ElfFile& file) {
  std::set<std::uint64_t> found;
  std::array<std::uint64_t, 32> pages{}, values{};
  const auto store = [&](std::uint32_t reg, std::uint32_t offset) {
    if (offset == kDoneCallback && file.is_code(values[reg])) found.insert(values[reg]);
  };
  for (std::size_t at = 0; at + 4 <= code.size(); at += 4) {
    const std::uint32_t one = instruction_at(code, at);
    const std::uint32_t first = one & 31, second = one >> 10 & 31, base = one >> 5 & 31;
    if ((one & 0x9f000000) == 0x90000000) {  // adrp
      const std::uint64_t high = one >> 5 & 0x7ffff, low = one >> 29 & 3;
      const auto relative = static_cast<std::int64_t>((high << 2 | low) << 43) >> 31;
      pages[first] = ((address + at) & ~0xfffULL) + static_cast<std::uint64_t>(relative);
      values[first] = 0;
    } else if ((one & 0xffc00000) == 0x91000000) {  // add, 64 bits, immediate
      values[first] = pages[base] == 0 ? 0 : pages[base] + (one >> 10 & 0xfff);
      pages[first] = 0;
    } else if ((one & 0xffc00000) == 0xf9000000) {  // str, 64 bits
      store(first, (one >> 10 & 0xfff) * 8);
    } else if ((one & 0xffc00000) == 0xa9000000) {  // stp, 64 bits
      store(first, (one >> 15 & 0x7f) * 8);
      store(second, (one >> 15 & 0x7f) * 8 + 8);
    }
  }
  return found;
}

#endif

// Next address in the table: the code of a function ends before it.
std::uint64_t next_in(const Table& table, std::uint64_t address) {
  std::uint64_t next = std::numeric_limits<std::uint64_t>::max();
  for (const std::uint64_t other : table)
    if (other > address) next = std::min(next, other);
  return next;
}

}  // namespace

std::optional<RsrvFunctions> find_rsrv_functions(int fd) {
  auto file = ElfFile::open(fd, "find rsrv", {kMostBytes, kMostCpuNs});
  if (!file) return std::nullopt;
  TableSearch search(*file);
  search_relocations(*file, search);
  search_words(*file, search);
  const auto table = search.take();
  if (!table || !file->is_complete()) return std::nullopt;
  RsrvFunctions found{(*table)[kWrite], (*table)[kWriteNotify], {}, {}};
  const auto code_of = [&](std::uint64_t address, std::size_t most) {
    return code_at(*file, address,
                   std::min<std::uint64_t>(most, next_in(*table, address) - address));
  };
  const std::uint64_t bad = (*table)[kBad[0]];
  found.send_err = called_with_internal_error(code_of(bad, kMostOfBadHandler), bad, *file);
  const auto callbacks = stored_callbacks(code_of(found.write_notify_action, kMostOfNotifyAction),
                                          found.write_notify_action, *file);
  if (callbacks.size() == 1) found.write_notify_done_callback = *callbacks.begin();
  return found;
}

bool is_rsrv_function(int fd, std::uint64_t offset) {
  const auto found = find_rsrv_functions(fd);
  auto file = ElfFile::open(fd, "find rsrv", {kMostBytes, kMostCpuNs});
  if (!found || !file) return false;
  const auto is_there = [&](std::optional<std::uint64_t> address) {
    return address && file->offset_of(*address) == offset;
  };
  return is_there(found->write_action) || is_there(found->write_notify_action) ||
         is_there(found->send_err) || is_there(found->write_notify_done_callback);
}

}  // namespace ioc_exporter::elf

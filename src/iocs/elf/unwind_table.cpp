#include "iocs/elf/unwind_table.h"

#include <string_view>

namespace ioc_exporter::iocs {
namespace {

struct UnwindRow {
  std::int32_t function, frame;  // from the table's address
};
struct UnwindEntry {
  std::uint32_t length, common;
  std::int32_t begin;
  std::uint32_t size;
};
struct FoundUnwinding {
  std::uint64_t offset, common;  // of the entry and of its common part, in the file
  std::uint64_t size;
};

// The encoding of addresses stands elsewhere; the usual one is right when it gives this address.
std::optional<FoundUnwinding> read_unwind_entry(ElfFile& file, std::uint64_t frame,
                                                std::uint64_t address) {
  UnwindEntry entry{};
  const auto offset = file.offset_of(frame);
  if (!offset || !file.read(*offset, &entry, sizeof entry) || entry.size == 0) return {};
  const std::uint64_t begin = frame + 8 + static_cast<std::uint64_t>(std::int64_t{entry.begin});
  if (begin != address || entry.common > *offset + 4) return {};
  return FoundUnwinding{*offset, *offset + 4 - entry.common, entry.size};
}

std::optional<FoundUnwinding> search_unwind_table(ElfFile& file, const Elf64_Phdr& table,
                                                  std::uint64_t address) {
  struct {
    std::uint8_t version, frame_encoding, count_encoding, row_encoding;
    std::int32_t frame;
    std::uint32_t count;
  } head{};
  constexpr std::uint8_t kFromTable4 = 0x3b, kUnsigned4 = 0x03;
  if (!file.read(table.p_offset, &head, sizeof head) || head.version != 1 ||
      head.count_encoding != kUnsigned4 || head.row_encoding != kFromTable4)
    return {};
  std::uint64_t first = 0, last = head.count;
  while (first < last) {
    const std::uint64_t middle = (first + last) / 2;
    UnwindRow row{};
    if (!file.read(table.p_offset + sizeof head + middle * sizeof row, &row, sizeof row)) return {};
    const std::uint64_t here =
        table.p_vaddr + static_cast<std::uint64_t>(std::int64_t{row.function});
    if (here == address)
      return read_unwind_entry(
          file, table.p_vaddr + static_cast<std::uint64_t>(std::int64_t{row.frame}), address);
    (here < address ? first : last) = here < address ? middle + 1 : middle;
  }
  return {};
}

std::optional<FoundUnwinding> unwind_entry_of(ElfFile& file, std::uint64_t address) {
  for (const Elf64_Phdr& segment : file.segments())
    if (segment.p_type == PT_GNU_EH_FRAME) return search_unwind_table(file, segment, address);
  return {};
}

}  // namespace

std::optional<std::uint64_t> unwound_size_at(ElfFile& file, std::uint64_t address) {
  const auto entry = unwind_entry_of(file, address);
  return entry ? std::optional<std::uint64_t>(entry->size) : std::nullopt;
}

Unwinding unwinding_at(ElfFile& file, std::uint64_t address) {
  const auto entry = unwind_entry_of(file, address);
  if (!entry) return Unwinding::none;
  // The common part: its version, and letters for what the entries have. Behind the entry's size
  // stands the length of the rest, then the address of its LSDA, 0 without one.
  char common[24] = {};
  std::uint32_t lsda = 0;
  const bool read = file.read(entry->common, common, sizeof common - 1) &&
                    file.read(entry->offset + sizeof(UnwindEntry) + 1, &lsda, sizeof lsda);
  return read && std::string_view(common + 9).find('L') != std::string_view::npos && lsda != 0
             ? Unwinding::lands
             : Unwinding::passes;
}

}  // namespace ioc_exporter::iocs

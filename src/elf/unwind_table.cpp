#include "elf/unwind_table.h"

namespace ioc_exporter::elf {
namespace {

struct UnwindRow {
  std::int32_t function, frame;  // from the table's address
};
struct UnwindEntry {
  std::uint32_t length, common;
  std::int32_t begin;
  std::uint32_t size;
};
// Size of the function. The encoding of addresses stands elsewhere; the usual one is right when it
// gives this address.
std::optional<std::uint64_t> read_unwind_entry(ElfFile& file, std::uint64_t frame,
                                               std::uint64_t address) {
  UnwindEntry entry{};
  const auto offset = file.offset_of(frame);
  if (!offset || !file.read(*offset, &entry, sizeof entry) || entry.size == 0) return {};
  const std::uint64_t begin = frame + 8 + static_cast<std::uint64_t>(std::int64_t{entry.begin});
  if (begin != address || entry.common > *offset + 4) return {};
  return entry.size;
}

std::optional<std::uint64_t> search_unwind_table(ElfFile& file, const Elf64_Phdr& table,
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

}  // namespace

std::optional<std::uint64_t> unwound_size_at(ElfFile& file, std::uint64_t address) {
  for (const Elf64_Phdr& segment : file.segments())
    if (segment.p_type == PT_GNU_EH_FRAME) return search_unwind_table(file, segment, address);
  return {};
}

}  // namespace ioc_exporter::elf

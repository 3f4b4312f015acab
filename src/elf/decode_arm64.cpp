// AArch64: all instructions have four bytes, and those that change the flow are few. The stack
// pointer at `ret` is that at entry, by the calling convention, so that it need not be followed.
#include <bit>
#include <cstring>

#include "elf/function_ends.h"

namespace ioc_exporter::elf {
namespace {

// Bits `low` to `low + width - 1` of the instruction, a signed number of instructions, as bytes.
std::uint64_t distance(std::uint32_t word, unsigned low, unsigned width) {
  const auto shifted = static_cast<std::int32_t>(word << (32 - low - width));
  return static_cast<std::uint64_t>(std::int64_t{shifted >> (32 - width)} * 4);
}

}  // namespace

std::optional<Instruction> decode_arm64(std::span<const std::uint8_t> code, std::uint64_t address) {
  if (code.size() < 4 || address % 4 != 0) return std::nullopt;
  std::uint32_t word = 0;
  std::memcpy(&word, code.data(), 4);
  static_assert(std::endian::native == std::endian::little);
  Instruction made;
  made.size = 4;
  const auto leads = [&](Flow flow, unsigned low, unsigned width) {
    made.flow = flow;
    made.target = address + distance(word, low, width);
  };
  if ((word & 0xfc000000) == 0x14000000) {  // b
    leads(Flow::jump, 0, 26);
    made.emulated = true;
  } else if ((word & 0xfc000000) == 0x94000000) {  // bl
    leads(Flow::call, 0, 26);
    made.direct = true;
  } else if ((word & 0xff000000) == 0x54000000 || (word & 0x7e000000) == 0x34000000) {
    leads(Flow::branch, 5, 19);  // b.cond, cbz, cbnz
  } else if ((word & 0x7e000000) == 0x36000000) {
    leads(Flow::branch, 5, 14);  // tbz, tbnz
  } else if ((word & 0xfe000000) == 0xd6000000) {
    const std::uint32_t kind = (word >> 21) & 7;  // bit 24: the same with a signed pointer
    made.flow = kind == 1 ? Flow::call : kind == 2 ? Flow::ret : Flow::unknown;
    made.emulated = (word & 0xfffffc1f) == 0xd65f0000;  // ret, but not retaa and retab
  } else if ((word & 0xffe0001f) == 0xd4200000) {       // brk
    made.flow = Flow::stop;
  } else if (word >> 16 == 0) {  // udf
    return std::nullopt;
  }
  return made;
}

}  // namespace ioc_exporter::elf

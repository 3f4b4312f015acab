#include "elf/function_entry.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>

namespace ioc_exporter::elf {
namespace {

constexpr std::array<std::uint8_t, 4> kEndbr64{0xf3, 0x0f, 0x1e, 0xfa};

// That compilers put at the beginning of functions to be patched.
bool is_long_nop(std::span<const std::uint8_t> code) {
  while (!code.empty() && code[0] == 0x66) code = code.subspan(1);
  return code.size() > 1 && code[0] == 0x0f && code[1] == 0x1f;
}

// Also true of code that cannot be decoded: it may jump anywhere.
bool leads_to(const CodePart& code, Decoder decoder, std::uint64_t place) {
  for (std::size_t at = 0; at < code.bytes.size();) {
    const auto instruction = decoder(code.bytes.subspan(at), code.offset + at);
    if (!instruction) return true;
    if ((instruction->flow == Flow::jump || instruction->flow == Flow::branch) &&
        instruction->target == place)
      return true;
    at += instruction->size;
  }
  return false;
}

}  // namespace

FunctionEntry find_function_entry(const CodePart& code, Decoder decoder) {
  const auto first = decoder(code.bytes, code.offset);
  const bool is_x86 = decoder == decode_x86_64;
  if (is_x86 && is_long_nop(code.bytes)) return {code.offset, true, true};
  if (!is_x86 || code.bytes.size() <= kEndbr64.size() ||
      !std::ranges::equal(code.bytes.first(kEndbr64.size()), kEndbr64))
    return {code.offset, !first || !first->emulated};
  // Not on a jump: that may be an end of the function, too, with a breakpoint of its own.
  const std::uint64_t behind = code.offset + kEndbr64.size();
  const auto next = decoder(code.bytes.subspan(kEndbr64.size()), behind);
  const bool is_cheap = next && next->emulated && next->flow == Flow::next;
  if (!is_cheap || leads_to(code, decoder, behind)) return {code.offset, true};
  return {behind, false};
}

FunctionEntry entry_of(int fd, const CodeRange& function) {
  const FunctionEntry first{function.file_offset, true};
  if (function.size == 0 || function.size > kMostCode) return first;
  std::string code(function.size, '\0');
  const ssize_t got =
      ::pread(fd, code.data(), code.size(), static_cast<off_t>(function.file_offset));
  if (got != static_cast<ssize_t>(code.size())) return first;
  return find_function_entry(
      {function.file_offset, {reinterpret_cast<const std::uint8_t*>(code.data()), code.size()}},
      own_decoder());
}

}  // namespace ioc_exporter::elf

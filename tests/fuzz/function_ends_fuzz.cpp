// libFuzzer target for the search for a function's ends, which the helper that attaches makes, too.
// Input: a byte that says which processor's code it is (bit 0), and where a second part of the
// function begins (the rest, in sixty-fourths of the input's length, 0: it has none); then the
// code.
//
// For any bytes: nothing outside its own memory is touched (sanitizers), and each
// end is within the code, at another place of its page than the others, and as the programs expect
// it.
#include <algorithm>
#include <set>
#include <vector>

#include "elf/function_ends.h"
#include "fuzz.h"

namespace {

using namespace ioc_exporter;

constexpr std::uint64_t kFirst = 0x1000, kSecond = 0x9000;  // offsets in the file

using fuzz::check;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const elf::Decoder decoder = (data[0] & 1) != 0 ? elf::decode_arm64 : elf::decode_x86_64;
  // Of their own, so that a byte too many is seen.
  const std::size_t cut = (size - 1) * static_cast<std::size_t>((data[0] >> 1) % 64) / 64;
  const std::size_t first = cut == 0 ? size - 1 : cut;
  const std::vector<std::uint8_t> hot(data + 1, data + 1 + first),
      cold(data + 1 + first, data + size);
  std::vector<elf::CodePart> parts{{kFirst, hot}};
  if (!cold.empty()) parts.push_back({kSecond, cold});
  const auto ends = elf::find_function_ends(parts, decoder);
  if (!ends) {
    check(!ends.error().context.empty(), "an error without words");
    return 0;
  }
  check(!ends->empty() && ends->size() <= IOCX_MOST_ENDS, "none, or more than there is room for");
  std::set<std::uint64_t> places;
  for (const elf::FunctionEnd& end : *ends) {
    check(places.insert(end.offset & IOCX_END_PLACE_MASK).second, "two ends at one place");
    const bool inside = std::ranges::any_of(parts, [&](const elf::CodePart& part) {
      return end.offset >= part.offset && end.offset - part.offset < part.bytes.size();
    });
    check(inside, "an end outside of the code");
    check(end.condition <= IOCX_END_ALWAYS && end.below < elf::kMostCode, "an end that cannot be");
  }
  const auto with_work = elf::find_function_ends(parts, decoder, elf::Work::indirect_call);
  check(!with_work || *with_work == *ends, "what is asked for besides changes the ends");
  return 0;
}

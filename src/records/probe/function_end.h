// FunctionEnd: a place in a function's code from which it returns without calling anything more.
#pragma once

#include <cstdint>
#include <vector>

#include "shared/function_ends.h"

namespace ioc_exporter::records {

struct FunctionEnd {
  std::uint64_t offset = 0;                  // of the instruction, in the file
  std::uint8_t condition = IOCX_END_ALWAYS;  // under which the function ends there
  std::uint32_t below = 0;  // bytes that the stack pointer is then below its value at entry

  bool operator==(const FunctionEnd&) const = default;
};
using FunctionEnds = std::vector<FunctionEnd>;

}  // namespace ioc_exporter::records

// Finds where a function ends, in its compiled code: the places for breakpoints that see each of
// its returns. A return probe of the kernel sees them too, but it replaces the return address on
// the stack: an exception that is thrown through the function, or a thread that is ended in it,
// then aborts the process. A breakpoint leaves the stack alone.
//
// A breakpoint on the return instruction itself would do, were it not for its cost: the kernel
// executes it one step at a time elsewhere (12 us on a virtual machine, where one on a jump takes
// 1). So the place is the last jump before it.
//
// The code is somebody else's: nothing in it is believed. What the analysis does not understand is
// an error, and the function is then not timed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/result.h"
#include "records/probe/code_decoder.h"
#include "records/probe/function_end.h"

namespace ioc_exporter::records {

// A piece of a function's code: compilers put what is rarely executed elsewhere.
struct CodePart {
  std::uint64_t offset = 0;  // in the file
  std::span<const std::uint8_t> bytes;
};

using Decoder = std::optional<Instruction> (*)(std::span<const std::uint8_t>, std::uint64_t);

// Code of a function is at most this long; that of dbProcess has 2 KB.
inline constexpr std::size_t kMostCode = 16 << 10;

// Work that a function does before any of its ends. A compiler may have moved the body to another
// function, which this one calls or jumps to last: then its ends tell nothing.
enum class Work : std::uint8_t {
  nothing,        // anything goes
  call,           // calls a function
  indirect_call,  // calls one by its address, as dbProcess does with that of record support
};

// `parts`: all code of one function, the first begins with its entry. Each way from there to a
// return passes one of the ends, with its condition, once.
Result<FunctionEnds> find_function_ends(std::span<const CodePart> parts, Decoder decoder,
                                        Work work = Work::nothing);

// For the processor that this program is built for.
Decoder own_decoder();

}  // namespace ioc_exporter::records

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
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "elf/code_file.h"
#include "shared/function_ends.h"

namespace ioc_exporter::elf {

// CodeDecoder: single instructions of machine code, as far as FunctionEnds needs to know them.
enum class Flow : std::uint8_t {
  next,
  jump,    // to `target`
  branch,  // to `target` or to the next instruction
  call,    // comes back to the next instruction, or not at all
  ret,
  stop,     // traps
  unknown,  // to an address that only the running program knows
};

// Effect of an instruction on the stack pointer, or on the register that often keeps a copy of it.
struct StackEffect {
  enum class Kind : std::uint8_t {
    none,
    move,           // sp += by
    from_frame,     // sp = frame pointer + by
    set_frame,      // frame pointer = sp + by
    lose_frame,     // the frame pointer is something else from now on
    move_and_lose,  // both: pop of the frame pointer
    leave,          // sp = frame pointer + by, and the frame pointer is something else
    unknown,
  };
  Kind kind = Kind::none;
  std::int64_t by = 0;
};

struct Instruction {
  std::uint8_t size = 0;
  Flow flow = Flow::next;
  bool direct = false;  // a call of a place that the instruction names
  std::uint64_t target = 0;
  std::uint8_t condition = IOCX_END_ALWAYS;  // under which a branch is taken
  // The kernel emulates it under a breakpoint (arch/x86/kernel/uprobes.c, branch_setup_xol_ops()
  // and push_setup_xol_ops(); arch/arm64/kernel/probes/decode-insn.c). Others it executes
  // elsewhere, one step at a time, which takes a second trap, on a virtual machine ten times as
  // long. Of branches on arm64 it is not said, since their condition is not known to the programs.
  bool emulated = false;
  bool sets_result = true;  // it may change the register of the return value
  StackEffect stack = {};
};

// Nothing: no instruction, or none that an ordinary function has. `address`: of the first byte.
std::optional<Instruction> decode_x86_64(std::span<const std::uint8_t> code, std::uint64_t address);
std::optional<Instruction> decode_arm64(std::span<const std::uint8_t> code, std::uint64_t address);

// FunctionEnd: a place in a function's code from which it returns without calling anything more.
struct FunctionEnd {
  std::uint64_t offset = 0;                  // of the instruction, in the file
  std::uint8_t condition = IOCX_END_ALWAYS;  // under which the function ends there
  std::uint32_t below = 0;  // bytes that the stack pointer is then below its value at entry
  bool stepped = false;     // the kernel does not emulate the instruction

  bool operator==(const FunctionEnd&) const = default;
};
using FunctionEnds = std::vector<FunctionEnd>;

// As a program at these places wants them (bpf/base/function_ends.bpf.h).
iocx_function_ends for_programs(const FunctionEnds& ends);

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

// Places that will do.
enum class Places : std::uint8_t {
  cheap,        // jumps alone
  any,          // returns, where there is no such jump, or it is in a loop
  with_result,  // the same; and returns where code behind the jump may set the return value
};

// `parts`: all code of one function, the first begins with its entry. Each way from there to a
// return passes one of the ends, with its condition, once.
Result<FunctionEnds> find_function_ends(std::span<const CodePart> parts, Decoder decoder,
                                        Work work = Work::nothing, Places places = Places::cheap);

// For the processor that this program is built for.
Decoder own_decoder();

// EndingFunction: where a function of a library ends, and the code by which that is known.
class EndingFunction {
 public:
  // `fd`: the file. `parts`: all code of the function, the first begins with its entry. An error
  // where the function ends without `work`: then its body is elsewhere.
  static Result<std::shared_ptr<const EndingFunction>> find(int fd,
                                                            std::span<const CodeRange> parts,
                                                            Work work = Work::nothing,
                                                            Places places = Places::cheap);

  // Of the function and its cold part, as `functions` knows them by name.
  static Result<std::shared_ptr<const EndingFunction>> find(
      const CodeFile& file, const std::map<std::string, CodeRange>& functions,
      const std::string& name, Work work = Work::nothing, Places places = Places::cheap);

  const FunctionEnds& ends() const { return ends_; }
  const std::vector<CodeRange>& parts() const { return parts_; }
  // To be asked right before each attachment, after CodeFile::may_probe() of its entry: whether the
  // file holds all of its code still, so that it ends where it did.
  Result<void> check(const CodeFile& file) const;

 private:
  EndingFunction() = default;

  std::vector<CodeRange> parts_;
  std::deque<std::string> code_;  // of each part; in a deque they stay where they are
  FunctionEnds ends_;
};

}  // namespace ioc_exporter::elf

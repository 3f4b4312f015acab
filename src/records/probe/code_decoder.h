// CodeDecoder: single instructions of machine code, as far as FunctionEnds needs to know them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "records/probe/function_end.h"

namespace ioc_exporter::records {

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
  StackEffect stack = {};
};

// Nothing: no instruction, or none that an ordinary function has. `address`: of the first byte.
std::optional<Instruction> decode_x86_64(std::span<const std::uint8_t> code, std::uint64_t address);
std::optional<Instruction> decode_arm64(std::span<const std::uint8_t> code, std::uint64_t address);

}  // namespace ioc_exporter::records

// x86-64 instructions by Zydis, which allocates nothing and is made for code that nobody trusts.
#include <Zydis/Zydis.h>

#include <algorithm>

#include "elf/function_ends.h"

namespace ioc_exporter::elf {
namespace {

using Effect = StackEffect::Kind;

struct Decoded {
  ZydisDecodedInstruction instruction;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];

  std::span<const ZydisDecodedOperand> all() const { return {operands, instruction.operand_count}; }
};

bool is_register(const ZydisDecodedOperand& operand, ZydisRegister which) {
  return operand.type == ZYDIS_OPERAND_TYPE_REGISTER && operand.reg.value == which;
}

bool writes(const Decoded& decoded, ZydisRegister which) {
  return std::ranges::any_of(decoded.all(), [which](const ZydisDecodedOperand& operand) {
    return operand.type == ZYDIS_OPERAND_TYPE_REGISTER &&
           (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0 &&
           ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, operand.reg.value) == which;
  });
}

// `base + displacement` and nothing else.
bool is_address_from(const ZydisDecodedOperand& operand, ZydisRegister base) {
  return operand.type == ZYDIS_OPERAND_TYPE_MEMORY && operand.mem.base == base &&
         operand.mem.index == ZYDIS_REGISTER_NONE;
}

StackEffect pushed_or_popped(const Decoded& decoded, std::int64_t by) {
  if (decoded.instruction.operand_width != 64) return {Effect::unknown};
  if (by > 0 && is_register(decoded.operands[0], ZYDIS_REGISTER_RSP)) return {Effect::unknown};
  const bool frame = by > 0 && is_register(decoded.operands[0], ZYDIS_REGISTER_RBP);
  return {frame ? Effect::move_and_lose : Effect::move, by};
}

StackEffect sp_written(const Decoded& decoded) {
  const ZydisDecodedOperand& to = decoded.operands[0];
  const ZydisDecodedOperand& from = decoded.operands[1];
  if (!is_register(to, ZYDIS_REGISTER_RSP)) return {Effect::unknown};
  switch (decoded.instruction.mnemonic) {
    case ZYDIS_MNEMONIC_ADD:
    case ZYDIS_MNEMONIC_SUB:
      if (from.type != ZYDIS_OPERAND_TYPE_IMMEDIATE) return {Effect::unknown};
      return {Effect::move, decoded.instruction.mnemonic == ZYDIS_MNEMONIC_ADD ? from.imm.value.s
                                                                               : -from.imm.value.s};
    case ZYDIS_MNEMONIC_LEA:
      if (is_address_from(from, ZYDIS_REGISTER_RSP)) return {Effect::move, from.mem.disp.value};
      if (is_address_from(from, ZYDIS_REGISTER_RBP))
        return {Effect::from_frame, from.mem.disp.value};
      return {Effect::unknown};
    case ZYDIS_MNEMONIC_MOV:
      if (is_register(from, ZYDIS_REGISTER_RBP)) return {Effect::from_frame};
      return {Effect::unknown};
    default:
      return {Effect::unknown};
  }
}

StackEffect frame_written(const Decoded& decoded) {
  const ZydisDecodedOperand& to = decoded.operands[0];
  const ZydisDecodedOperand& from = decoded.operands[1];
  if (!is_register(to, ZYDIS_REGISTER_RBP)) return {Effect::lose_frame};
  if (decoded.instruction.mnemonic == ZYDIS_MNEMONIC_MOV && is_register(from, ZYDIS_REGISTER_RSP))
    return {Effect::set_frame};
  if (decoded.instruction.mnemonic == ZYDIS_MNEMONIC_LEA &&
      is_address_from(from, ZYDIS_REGISTER_RSP))
    return {Effect::set_frame, from.mem.disp.value};
  return {Effect::lose_frame};
}

StackEffect stack_effect(const Decoded& decoded) {
  switch (decoded.instruction.mnemonic) {
    case ZYDIS_MNEMONIC_PUSH:
    case ZYDIS_MNEMONIC_PUSHFQ:
      return pushed_or_popped(decoded, -8);
    case ZYDIS_MNEMONIC_POP:
    case ZYDIS_MNEMONIC_POPFQ:
      return pushed_or_popped(decoded, 8);
    case ZYDIS_MNEMONIC_LEAVE:
      return {Effect::leave, 8};
    default:
      break;
  }
  if (writes(decoded, ZYDIS_REGISTER_RSP)) return sp_written(decoded);
  if (writes(decoded, ZYDIS_REGISTER_RBP)) return frame_written(decoded);
  return {};
}

bool is_emulated(const ZydisDecodedInstruction& instruction) {
  const ZyanU8 opcode = instruction.opcode, prefixes = instruction.raw.prefix_count;
  const ZydisOpcodeMap map = instruction.opcode_map;
  if (map == ZYDIS_OPCODE_MAP_0F) return prefixes == 0 && (opcode & 0xf0) == 0x80;
  if (map != ZYDIS_OPCODE_MAP_DEFAULT) return false;
  if ((opcode & 0xf8) == 0x50)  // push of a register; 0x41 is for the higher ones
    return prefixes == 0 || (prefixes == 1 && instruction.raw.prefixes[0].value == 0x41);
  return prefixes == 0 && (opcode == 0xeb || opcode == 0xe9 || opcode == 0xe8 || opcode == 0x90 ||
                           (opcode & 0xf0) == 0x70);
}

Flow flow_of(const Decoded& decoded) {
  const bool direct = decoded.operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
  switch (decoded.instruction.meta.category) {
    case ZYDIS_CATEGORY_COND_BR:
      return direct ? Flow::branch : Flow::unknown;
    case ZYDIS_CATEGORY_UNCOND_BR:
      return direct ? Flow::jump : Flow::unknown;
    case ZYDIS_CATEGORY_CALL:
      return decoded.instruction.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR ? Flow::unknown
                                                                           : Flow::call;
    case ZYDIS_CATEGORY_RET:  // one that takes arguments off the stack is none of C's
      return decoded.instruction.opcode == 0xc3 ? Flow::ret : Flow::unknown;
    case ZYDIS_CATEGORY_INTERRUPT:
      return Flow::stop;
    default:
      break;
  }
  switch (decoded.instruction.mnemonic) {
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD2:
    case ZYDIS_MNEMONIC_HLT:
      return Flow::stop;
    case ZYDIS_MNEMONIC_XBEGIN:
    case ZYDIS_MNEMONIC_XABORT:
      return Flow::unknown;
    default:
      return Flow::next;
  }
}

}  // namespace

std::optional<Instruction> decode_x86_64(std::span<const std::uint8_t> code,
                                         std::uint64_t address) {
  ZydisDecoder decoder;
  if (ZYAN_FAILED(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
    return std::nullopt;
  Decoded decoded;
  if (ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, code.data(), code.size(), &decoded.instruction,
                                         decoded.operands)))
    return std::nullopt;
  Instruction made;
  made.size = decoded.instruction.length;
  made.flow = flow_of(decoded);
  made.emulated = is_emulated(decoded.instruction);
  const bool stays =
      made.flow == Flow::next || made.flow == Flow::jump || made.flow == Flow::branch;
  if (stays) made.stack = stack_effect(decoded);
  made.sets_result = made.flow == Flow::call || writes(decoded, ZYDIS_REGISTER_RAX);
  made.direct = made.flow == Flow::call && decoded.operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
  if (made.flow == Flow::jump || made.flow == Flow::branch || made.direct)
    made.target = address + made.size + decoded.operands[0].imm.value.u;
  if (made.flow == Flow::branch && made.emulated)
    made.condition = decoded.instruction.opcode & 0x0f;
  return made;
}

}  // namespace ioc_exporter::elf

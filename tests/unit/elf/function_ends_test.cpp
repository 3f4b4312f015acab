// Code is written as bytes, so that the test does not depend on a compiler. Offsets begin at 0x100.
#include "elf/function_ends.h"

#include "support/value_of.h"

#include <gtest/gtest.h>

#include <vector>

namespace ioc_exporter::elf {
namespace {

using Bytes = std::vector<std::uint8_t>;
constexpr std::uint64_t kHere = 0x100;

Result<FunctionEnds> ends_of(const Bytes& code, Decoder decoder = decode_x86_64) {
  const CodePart parts[] = {{kHere, code}};
  return find_function_ends(parts, decoder);
}

bool refused(const Bytes& code, Work work, Places places = Places::cheap) {
  const CodePart parts[] = {{kHere, code}};
  return !find_function_ends(parts, decode_x86_64, work, places);
}

std::string refusal(const Bytes& code, Decoder decoder = decode_x86_64) {
  return error_of(ends_of(code, decoder));
}

TEST(FunctionEnds, TheLastJumpBeforeAReturn) {
  // push rbx; sub rsp,16; test edi,edi; je 1f; call *rax; jmp 1f; nop; 1: add rsp,16; pop rbx; ret
  EXPECT_EQ(value_of(ends_of({0x53, 0x48, 0x83, 0xec, 0x10, 0x85, 0xff, 0x74, 0x05, 0xff,
                              0xd0, 0xeb, 0x01, 0x90, 0x48, 0x83, 0xc4, 0x10, 0x5b, 0xc3})),
            (FunctionEnds{{kHere + 7, 4, 24}, {kHere + 11, IOCX_END_ALWAYS, 24}}));
}

TEST(FunctionEnds, ABranchBothWaysOfWhichReturnIsOneEnd) {
  // test edi,edi; jne 1f; xor eax,eax; 1: ret
  EXPECT_EQ(value_of(ends_of({0x85, 0xff, 0x75, 0x02, 0x31, 0xc0, 0xc3})),
            (FunctionEnds{{kHere + 2, IOCX_END_ALWAYS, 0}}));
}

TEST(FunctionEnds, TheWayThatIsNotTakenHasTheOppositeCondition) {
  // 0: test edi,edi; js 0b; ret
  EXPECT_EQ(value_of(ends_of({0x85, 0xff, 0x78, 0xfc, 0xc3})), (FunctionEnds{{kHere + 2, 9, 0}}));
}

TEST(FunctionEnds, ATailCallIsAnEnd) {
  // push rbp; mov rbp,rsp; leave; jmp elsewhere
  EXPECT_EQ(value_of(ends_of({0x55, 0x48, 0x89, 0xe5, 0xc9, 0xe9, 0x00, 0x10, 0x00, 0x00})),
            (FunctionEnds{{kHere + 5, IOCX_END_ALWAYS, 0}}));
}

TEST(FunctionEnds, ADirectCallMayComeBeforeTheReturn) {
  // test edi,edi; je 1f; call elsewhere; 1: ret
  EXPECT_EQ(value_of(ends_of({0x85, 0xff, 0x74, 0x05, 0xe8, 0x00, 0x10, 0x00, 0x00, 0xc3})),
            (FunctionEnds{{kHere + 2, IOCX_END_ALWAYS, 0}}));
  // The same with call *rax: it may be what the function is there for.
  EXPECT_NE(refusal({0x85, 0xff, 0x74, 0x02, 0xff, 0xd0, 0xc3}), "");
}

// A compiler may split a function: then what is left of it calls the rest last of all.
TEST(FunctionEnds, AFunctionThatDoesItsWorkElsewhereIsRefused) {
  // test edi,edi; je 1f; call elsewhere; 1: ret
  const Bytes split{0x85, 0xff, 0x74, 0x05, 0xe8, 0x00, 0x10, 0x00, 0x00, 0xc3};
  EXPECT_FALSE(refused(split, Work::nothing));
  EXPECT_TRUE(refused(split, Work::call));
  // test edi,edi; je 1f; jmp elsewhere; 1: ret
  const Bytes left{0x85, 0xff, 0x74, 0x05, 0xe9, 0x00, 0x10, 0x00, 0x00, 0xc3};
  EXPECT_TRUE(refused(left, Work::call));
  // call elsewhere; test eax,eax; je 1f; nop; 1: ret
  const Bytes direct{0xe8, 0x00, 0x10, 0x00, 0x00, 0x85, 0xc0, 0x74, 0x01, 0x90, 0xc3};
  EXPECT_FALSE(refused(direct, Work::call));
  EXPECT_TRUE(refused(direct, Work::indirect_call));
  // call *rax; test eax,eax; je 1f; nop; 1: ret
  const Bytes indirect{0xff, 0xd0, 0x85, 0xc0, 0x74, 0x01, 0x90, 0xc3};
  EXPECT_FALSE(refused(indirect, Work::indirect_call));
}

TEST(FunctionEnds, AFunctionThatOnlyJumpsToAnotherHasNoTime) {
  // mov rdi,[rdi+24]; jmp elsewhere
  const Bytes forwards{0x48, 0x8b, 0x7f, 0x18, 0xe9, 0x00, 0x10, 0x00, 0x00};
  EXPECT_TRUE(refused(forwards, Work::nothing, Places::any));
  EXPECT_TRUE(refused(forwards, Work::nothing, Places::with_result));
  EXPECT_FALSE(refused(forwards, Work::nothing, Places::cheap));
  // call *rax; jmp elsewhere
  EXPECT_FALSE(refused({0xff, 0xd0, 0xe9, 0x00, 0x10, 0x00, 0x00}, Work::nothing, Places::any));
}

TEST(FunctionEnds, ColdPartsLieElsewhere) {
  const Bytes hot{0x85, 0xff, 0x0f, 0x84, 0xf8,
                  0x0e, 0x00, 0x00, 0xc3};                     // je to the cold part; ret
  const Bytes cold{0xff, 0xd0, 0xe9, 0x01, 0xf1, 0xff, 0xff};  // call *rax; jmp to the ret
  const CodePart parts[] = {{kHere, hot}, {0x1000, cold}};
  EXPECT_EQ(value_of(find_function_ends(parts, decode_x86_64)),
            (FunctionEnds{{kHere + 2, 5, 0}, {0x1002, IOCX_END_ALWAYS, 0}}));
}

TEST(FunctionEnds, UnknownCodeIsRefused) {
  EXPECT_NE(refusal({}), "");
  EXPECT_NE(refusal({0xc3}), "") << "no jump at all";
  EXPECT_NE(refusal({0x31, 0xc0}), "") << "no end";
  EXPECT_NE(refusal({0xeb, 0x00, 0x53, 0xc3}), "") << "returns with another stack";
  EXPECT_NE(refusal({0xff, 0xe0}), "") << "jmp *rax";
  EXPECT_NE(refusal({0x48, 0x83, 0xe4, 0xf0, 0xeb, 0x00, 0xc3}), "") << "and rsp,-16";
  EXPECT_NE(refusal({0x48, 0x89, 0xc4, 0xeb, 0x00, 0xc3}), "") << "mov rsp,rax";
  EXPECT_NE(refusal({0x06, 0xc3}), "") << "no instruction";
  EXPECT_NE(refusal({0xeb, 0x00, 0xc2, 0x08, 0x00}), "") << "ret 8";
  EXPECT_NE(refusal({0x85, 0xff, 0x74, 0x01, 0x53, 0xeb, 0x00, 0xc3}), "")
      << "push on one way only";
  EXPECT_NE(refusal({0x85, 0xff, 0x74, 0x01, 0xb8, 0xc3, 0x90, 0x90, 0x90, 0xeb, 0xf9}), "")
      << "an instruction within another";
}

TEST(FunctionEnds, CutAnywhereItNeverGoesPastTheEnd) {
  const Bytes code{0x53, 0x48, 0x83, 0xec, 0x10, 0x85, 0xff, 0x74, 0x05, 0xff,
                   0xd0, 0xeb, 0x01, 0x90, 0x48, 0x83, 0xc4, 0x10, 0x5b, 0xc3};
  for (std::size_t size = 0; size < code.size(); ++size)
    EXPECT_NE(refusal(Bytes(code.begin(), code.begin() + static_cast<std::ptrdiff_t>(size))), "")
        << size;
}

TEST(FunctionEnds, OnArm64TheReturnItself) {
  // cbz w0, 1f; bl elsewhere; 1: ret
  EXPECT_EQ(
      value_of(ends_of({0x40, 0x00, 0x00, 0x34, 0x00, 0x04, 0x00, 0x94, 0xc0, 0x03, 0x5f, 0xd6},
                       decode_arm64)),
      (FunctionEnds{{kHere + 8, IOCX_END_ALWAYS, 0}}));
  EXPECT_NE(refusal({0x00, 0x00, 0x1f, 0xd6}, decode_arm64), "") << "br x0";
  EXPECT_NE(refusal({0xff, 0x0b, 0x5f, 0xd6}, decode_arm64), "") << "retaa is not emulated";
}

}  // namespace
}  // namespace ioc_exporter::elf

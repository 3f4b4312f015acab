// Code is written as bytes, so that the test does not depend on a compiler. Offsets begin at 0x100.
#include "elf/function_entry.h"

#include <gtest/gtest.h>

#include <vector>

namespace ioc_exporter::elf {
namespace {

using Bytes = std::vector<std::uint8_t>;
constexpr std::uint64_t kHere = 0x100;

FunctionEntry entry(const Bytes& code, Decoder decoder = decode_x86_64) {
  return find_function_entry({kHere, code}, decoder);
}
FunctionEntry guarded(Bytes code) {
  const Bytes endbr64{0xf3, 0x0f, 0x1e, 0xfa};
  code.insert(code.begin(), endbr64.begin(), endbr64.end());
  return entry(code);
}
constexpr FunctionEntry kEmulated{kHere, false}, kStepped{kHere, true}, kBehind{kHere + 4, false};

TEST(FunctionEntry, IsTheFirstByteWithoutEndbr64) {
  EXPECT_EQ(entry({0x55, 0xc3}), kEmulated) << "push rbp";
  EXPECT_EQ(entry({0x41, 0x57, 0xc3}), kEmulated) << "push r15";
  EXPECT_EQ(entry({0x90, 0xc3}), kEmulated) << "nop";
  EXPECT_EQ(entry({0xe8, 0, 0, 0, 0, 0xc3}), kEmulated) << "call";
  EXPECT_EQ(entry({0xeb, 0x00, 0xc3}), kEmulated) << "jmp";
  EXPECT_EQ(entry({0x48, 0x83, 0xec, 0x08, 0xc3}), kStepped) << "sub rsp,8";
  EXPECT_EQ(entry({0x0f, 0x1f, 0x44, 0, 0, 0xc3}), (FunctionEntry{kHere, true, true}))
      << "long nop";
  EXPECT_EQ(entry({0x8b, 0x07, 0xc3}), kStepped) << "mov eax,[rdi]";
  EXPECT_EQ(entry({0x06}), kStepped) << "no instruction";
  EXPECT_EQ(entry({}), kStepped);
}

TEST(FunctionEntry, IsBehindEndbr64WhereTheKernelEmulatesThat) {
  EXPECT_EQ(guarded({0x55, 0x5d, 0xc3}), kBehind) << "push rbp; pop rbp; ret";
  EXPECT_EQ(guarded({0x41, 0x54, 0x41, 0x5c, 0xc3}), kBehind) << "push r12";
  EXPECT_EQ(guarded({0x48, 0x83, 0xec, 0x08, 0xc3}), kStepped) << "sub rsp,8: stepped anyhow";
  EXPECT_EQ(guarded({}), kStepped);
  EXPECT_EQ(guarded({0x06}), kStepped);
}

// There a call would be counted at each round.
TEST(FunctionEntry, IsNotWhereAJumpOfTheFunctionLeads) {
  EXPECT_EQ(guarded({0x55, 0x5d, 0xeb, 0xfc}), kStepped) << "push rbp; pop rbp; jmp to the push";
  EXPECT_EQ(guarded({0x55, 0x5d, 0x75, 0xfc, 0xc3}), kStepped) << "the same by jne";
  EXPECT_EQ(guarded({0x55, 0x5d, 0xeb, 0xf8}), kBehind) << "to endbr64: another call";
  EXPECT_EQ(guarded({0xeb, 0x00, 0xc3}), kStepped) << "a jump there may be an end as well";
  EXPECT_EQ(guarded({0x55, 0x06, 0xc3}), kStepped) << "not all of it is understood";
}

TEST(FunctionEntry, OnArm64IsTheFirstByte) {
  EXPECT_EQ(entry({0xfd, 0x7b, 0xbf, 0xa9}, decode_arm64), kStepped) << "stp x29, x30, [sp, #-16]!";
  EXPECT_EQ(entry({0x5f, 0x24, 0x03, 0xd5}, decode_arm64), kStepped) << "bti c";
}

}  // namespace
}  // namespace ioc_exporter::elf

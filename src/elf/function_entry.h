// Where a function is probed at its entry, and what the kernel does there at each hit.
#pragma once

#include <cstdint>

#include "elf/code_file.h"
#include "elf/function_ends.h"

namespace ioc_exporter::elf {

// At its first byte. Compilers with -fcf-protection begin functions with endbr64, which the kernel
// executes by itself, one step at a time: there it is the byte behind that one, where no jump of
// the function leads to it and the kernel emulates the instruction. `code` is all of the function.
FunctionEntry find_function_entry(const CodePart& code, Decoder decoder);

// The same for a function of a file. One that cannot be read, or is longer than kMostCode: at its
// first byte, stepped.
//
// A long nop is taken for stepped here: CodeFile::entry() asks the kernel.
FunctionEntry entry_of(int fd, const CodeRange& function);

}  // namespace ioc_exporter::elf

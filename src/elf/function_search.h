// Functions and variables of an ELF file that somebody else describes: by name, by pattern, by
// demangled name, by offset. The file is somebody else's, too: searched in bounded time, in a
// reader's process.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "elf/code_file.h"

namespace ioc_exporter::elf {

struct FunctionWish {
  enum class Kind : std::uint32_t {
    name,    // "write", or "driver.c:write": of that source file
    glob,    // * and ?
    cxx,     // demangled, with its arguments or without
    offset,  // in the file with this build id, `text`
    place,   // the same in whatever file
    // A variable, by name. Its `code` is where it would be in a file whose data lie as far behind
    // its code as in memory.
    variable,
  };
  Kind kind = Kind::name;
  std::string text;
  std::uint64_t offset = 0;
};

struct FoundFunction {
  std::uint32_t wish = 0;  // index
  std::string name;        // as the symbol table has it; "" = none
  CodeRange code;
  CodeRange cold;  // the part that a compiler has put elsewhere; size 0: none
};

struct FoundFunctions {
  std::vector<FoundFunction> found;
  std::vector<std::string> problems;  // of each wish; "" = none
};

// The problem of a wish that nothing fits.
inline constexpr const char* kNoSuchFunction = "no function of the file is called so";

inline constexpr std::size_t kMostOfWish = 512;

// As C++ writes the name; "" = it is no mangled one. It may take hours: for a reader's process.
std::string demangled(std::string_view name);

Result<FoundFunctions> find_functions(int fd, const std::string& path,
                                      std::span<const FunctionWish> wishes);

// Size of the function that begins at this offset of a regular file, by its symbols or by its table
// for unwinding, which stripped files have as well. For those who attach probes at the wish of
// others: see size_of_function_at().
Result<std::uint64_t> size_of_any_function_at(int fd, std::uint64_t offset);

// Whether `text` is what a glob stands for.
bool glob_matches(std::string_view glob, std::string_view text);

// As bytes for another process of this program, and back. None: they are no such thing.
std::string packed(std::span<const FunctionWish> wishes);
std::string packed(const FoundFunctions& found);
std::vector<FunctionWish> unpacked_wishes(std::string_view bytes);
std::optional<FoundFunctions> unpacked_functions(std::string_view bytes);

}  // namespace ioc_exporter::elf

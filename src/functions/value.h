// Value: a value that a description reads of a function's call, or of an IOC's memory:
// "[[arg0-32]+16] -> string[64]". docs/functions.md is the reference.
//
// A chain of sums and loads from one root: the same few numbers for the BPF program
// (shared/functions.h) and for evaluate(), which reads another process' memory.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/pattern.h"
#include "base/result.h"
#include "iocs/memory/memory.h"
#include "shared/functions.h"

namespace ioc_exporter::functions {

enum class Type : std::uint8_t { number, real, text, symbol };

struct Value {
  struct Step {
    enum class Kind : std::uint8_t { add, load } kind = Kind::add;
    std::int64_t by = 0;  // of add
    bool operator==(const Step&) const = default;
  };

  std::string source;  // as it was written
  std::string root;    // "arg0" to "arg5", "return", "symbol", or a name that memory() resolves
  std::vector<Step> steps;
  Type type = Type::number;
  std::uint32_t size = 8;  // bytes: of a number; of a text, its zero byte included
  bool is_signed = false;
  std::map<std::int64_t, std::string> words;  // of an enum
  std::optional<Pattern> match;               // of a symbol: its first group is the text

  // The error says what is wrong with the text, which it does not repeat.
  static Result<Value> parse(std::string_view text);
  // A place without a type, as an address or a key is.
  static Result<Value> parse_place(std::string_view text);

  bool from_argument() const;
  bool from_return() const { return root == "return"; }
  bool from_symbol() const { return root == "symbol"; }
  // Nothing: a global's name, which a probe cannot know, a text too long for a key, a real number.
  Result<iocx_function_value> compiled() const;
  // Of a number: its word where it has one.
  std::string number_text(std::int64_t number) const;
};

// A value as it was read: a text, or a number, which has its text too.
struct Evaluated {
  std::string text;
  double number = 0;
  std::uint64_t bits = 0;
};

// Address of a root by its name; nothing: there is no such root.
using Roots = std::function<std::optional<std::uint64_t>(const std::string& root)>;

// The address or the value that the steps lead to, without reading what stands there.
Result<std::uint64_t> place_of(const Value& value, const Roots& roots, iocs::Memory& memory);
// Whether its variable is a null pointer that it would follow.
bool leads_nowhere(const Value& value, const Roots& roots, iocs::Memory& memory);
// An error when memory cannot be read, when a text does not end or does not print.
Result<Evaluated> evaluate(const Value& value, const Roots& roots, iocs::Memory& memory);

// Whether all of it can be shown: valid UTF-8 without control characters, no blank at its ends.
bool prints(std::string_view text);

}  // namespace ioc_exporter::functions

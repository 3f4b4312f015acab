// Values: from a text to the BPF program's numbers, and read from a memory.
#include <gmock/gmock.h>

#include <cstring>
#include <map>
#include <string>

#include "functions/value.h"
#include "support/value_of.h"

namespace ioc_exporter::functions {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Bytes at addresses; reads end where they do.
class FakeMemory : public iocs::Memory {
 public:
  void put(std::uint64_t address, std::string bytes) { pieces_[address] = std::move(bytes); }
  void put_pointer(std::uint64_t address, std::uint64_t pointer) {
    std::string bytes(8, '\0');
    std::memcpy(bytes.data(), &pointer, 8);
    put(address, bytes);
  }
  Result<std::size_t> read_some(std::uint64_t address, std::span<std::byte> into) override {
    for (const auto& [start, bytes] : pieces_) {
      if (address < start || address >= start + bytes.size()) continue;
      const std::string_view here = std::string_view(bytes).substr(address - start, into.size());
      std::memcpy(into.data(), here.data(), here.size());
      return here.size();
    }
    return error_in_words("read " + iocs::hex_address(address) + ": nothing is there");
  }

 private:
  std::map<std::uint64_t, std::string> pieces_;
};

std::optional<std::uint64_t> roots(const std::string& name) {
  if (name == "arg0") return 0x1000;
  if (name == "arg1") return 0xffffffffffffffff;
  if (name == "list") return 0x5000;
  return {};
}

iocx_function_value compiled(const std::string& text) {
  return value_of(value_of(Value::parse(text)).compiled());
}
std::vector<int> by(const iocx_function_value& value) {
  return {value.by, value.by + value.loads + 1};
}
std::string why_not(const std::string& text) {
  auto value = Value::parse(text);
  return value ? error_of(value->compiled()) : value.error().message();
}

TEST(FunctionValue, TextThatStandsAtAnArgument) {
  const auto value = compiled("arg0+8 -> string[32]");
  EXPECT_EQ(value.kind, IOCX_FUNCTION_STRING);
  EXPECT_EQ(value.root, 0);
  EXPECT_EQ(value.loads, 0);
  EXPECT_EQ(value.size, 32);
  EXPECT_THAT(by(value), ElementsAre(8));
}

TEST(FunctionValue, ArgumentsAndTheReturnValueAreNumbersThemselves) {
  const auto value = compiled("arg1 -> int");
  EXPECT_EQ(value.kind, IOCX_FUNCTION_NUMBER);
  EXPECT_EQ(value.root, 1);
  EXPECT_EQ(value.size, 4);
  EXPECT_EQ(value.is_signed, 1);
  EXPECT_EQ(compiled("return -> ulong").root, IOCX_FUNCTION_RETURN);
  EXPECT_EQ(compiled("this -> pointer").root, 0);
}

TEST(FunctionValue, PointersThatAreFollowed) {
  const auto value = compiled(" [ [arg0 - 0x20] +16 ]-> string[64]");
  EXPECT_EQ(value.loads, 2);
  EXPECT_THAT(by(value), ElementsAre(-32, 16, 0));
  EXPECT_THAT(by(compiled("[arg2+4-2]+1+1 -> string[8]")), ElementsAre(2, 2));
  EXPECT_THAT(by(compiled("[[[[[arg5]]]]] -> int")), ElementsAre(0, 0, 0, 0, 0, 0));
}

TEST(FunctionValue, WhatIsNoValueIsSaid) {
  const std::map<std::string, std::string> wrong = {
      {"arg0+8", "has no type"},
      {"", "has no type"},
      {"-> int", "begins with \"\""},
      {"arg6 -> int", "there is no arg6: only arg0 to arg5"},
      {"8 -> int", "begins with \"8\""},
      {"arg0+ -> int", "\"\" is no distance"},
      {"arg0+x -> int", "\"x\" is no distance"},
      {"arg0+99999999999 -> int", "no distance"},
      {"[arg0 -> int", "a ] is missing"},
      {"arg0] -> int", "\"]\" is more than was expected"},
      {"[[[[[[arg0]]]]]] -> int", "more than 5 pointers"},
      {std::string(500, '[') + "arg0 -> int", "too many ["},
      {std::string(2000, '['), "has no type"},
      {"arg0 -> text", "\"text\" is no type: int, uint"},
      {"arg0 -> string", "\"string\" is no type"},
      {"arg0 -> string[1]", "2 to 1024 bytes, not \"1\""},
      {"arg0 -> string[81]", "at most 80 bytes"},
      {"arg0 -> double", "floats"},
      {"pdbbase+8 -> int", "begins with pdbbase, which is no argument"},
      {"arg0 -> enum[]", "no type"},
      {"arg0 -> enum[a,,b]", "an empty word"},
      {"arg0 -> enum[a=x]", "no number behind the ="},
      {"arg0 -> enum[a, b=0]", "two words for 0"},
      {"symbol -> int", "symbol and match[] go together"},
      {"arg0 -> match[(.*)]", "symbol and match[] go together"},
      {"symbol -> match[seqg_.*]", "has no group"},
      {"symbol -> match[(]", "missing )"},
  };
  for (const auto& [text, words] : wrong) EXPECT_THAT(why_not(text), HasSubstr(words)) << text;
}

TEST(FunctionValue, WordsOfAnEnum) {
  const Value value = value_of(Value::parse("return -> enum[success, timeout, overflow=5, error]"));
  EXPECT_EQ(value.number_text(0), "success");
  EXPECT_EQ(value.number_text(1), "timeout");
  EXPECT_EQ(value.number_text(6), "error");
  EXPECT_EQ(value.number_text(-2), "-2");
  EXPECT_EQ(value_of(Value::parse("arg0 -> ulong")).number_text(-1), "18446744073709551615");
}

TEST(FunctionValue, SymbolsHaveAPart) {
  const Value value = value_of(Value::parse(R"(symbol -> match[seqg_action_(\w+)_\d+_\w+])"));
  EXPECT_TRUE(value.from_symbol());
  EXPECT_EQ(value.match->rewritten("seqg_action_ss1_0_idle", "\\1"), "ss1");
}

TEST(FunctionMemory, TextsNumbersAndPointers) {
  FakeMemory memory;
  memory.put_pointer(0x1000 - 32, 0x2000);
  memory.put_pointer(0x2010, 0x3000);
  memory.put(0x3000, std::string("PORT 1\0rest", 11));
  memory.put(0x1030, std::string("\xfe\xff\xff\xff", 4));
  const auto read = [&](const std::string& text) {
    return value_of(evaluate(value_of(Value::parse(text)), roots, memory));
  };
  EXPECT_EQ(read("[[arg0-32]+16] -> string[64]").text, "PORT 1");
  EXPECT_EQ(read("[arg0+48] -> int").number, -2);
  EXPECT_EQ(read("[arg0+48] -> uint").text, "4294967294");
  EXPECT_EQ(read("[arg0+48] -> uchar").number, 254);
  EXPECT_EQ(read("arg1 -> short").text, "-1");
  EXPECT_EQ(read("[arg0-32] -> pointer").bits, 0x2000u);
}

TEST(FunctionMemory, RealNumbersAndGlobals) {
  FakeMemory memory;
  const double seconds = 2.5;
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &seconds, 8);
  memory.put_pointer(0x5000, 0x6000);
  memory.put(0x6048, bytes);
  const Value value = value_of(Value::parse("[[list]+72] -> double"));
  EXPECT_EQ(value_of(evaluate(value, roots, memory)).number, 2.5);
  EXPECT_EQ(value_of(place_of(value_of(Value::parse_place("[list]+72")), roots, memory)), 0x6048u);
  EXPECT_THAT(error_of(evaluate(value_of(Value::parse("none -> int")), roots, memory)),
              HasSubstr("there is no none"));
}

TEST(FunctionMemory, NothingIsReadThatDoesNotEndOrPrint) {
  FakeMemory memory;
  memory.put(0x1000, "no end");
  memory.put(0x2000, std::string(64, 'x'));
  memory.put(0x3000, std::string("a\x01z\0", 4));
  memory.put(0x4000, std::string("\xff\xfe\0", 3));
  memory.put(0x5000, std::string("\0", 1));
  const auto why = [&](std::uint64_t at) {
    return error_of(evaluate(
        value_of(Value::parse("arg0 -> string[32]")),
        [at](const std::string&) { return std::optional(at); }, memory));
  };
  EXPECT_THAT(why(0x1000), HasSubstr("nothing is there"));
  EXPECT_THAT(why(0x2000), HasSubstr("the text at 0x2000 does not end"));
  EXPECT_THAT(why(0x3000), HasSubstr("does not print"));
  EXPECT_THAT(why(0x4000), HasSubstr("does not print"));
  EXPECT_EQ(why(0x5000), "");
  EXPECT_THAT(why(0x9000), HasSubstr("nothing is there"));
}

}  // namespace
}  // namespace ioc_exporter::functions

// Descriptions: the YAML of the site and of files that ship.
#include <gmock/gmock.h>

#include <map>
#include <string>

#include "functions/description.h"
#include "support/value_of.h"

namespace ioc_exporter::functions {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::SizeIs;

Result<Descriptions> read(const std::string& text) {
  return parse_functions(text, "site.yml");
}

// One function with these lines more.
std::string one(const std::string& lines, const std::string& symbol = "run") {
  return "functions:\n  - name: f\n    file: .*\n    symbol: " + symbol + "\n" + lines;
}

TEST(FunctionDescription, KindsOfSymbols) {
  using enum Symbol::Kind;
  const auto kind = [](const std::string& symbol) {
    return only(value_of(read(one("", symbol)))).symbol;
  };
  EXPECT_EQ(kind("queueRequest").kind, name);
  EXPECT_EQ(kind("seqg_action_*").kind, glob);
  EXPECT_EQ(kind("StreamCore::startProtocol").kind, cxx);
  EXPECT_EQ(kind("'f(char*, int)'").kind, cxx);
  const Symbol at = kind("{offset: 0x1f930, build_id: 00112233AABBCCDD}");
  EXPECT_EQ(at.kind, offset);
  EXPECT_EQ(at.offset, 0x1f930u);
  EXPECT_EQ(at.build_id, "00112233aabbccdd");
  const Symbol by = kind("{pointer: '[arg0-104+32]', of: queue}");
  EXPECT_EQ(by.kind, pointer);
  EXPECT_EQ(by.of, "queue");
  EXPECT_EQ(by.place->steps[0].by, -72);
}

TEST(FunctionDescription, ResultsThatAreSuccess) {
  const auto success = [](const std::string& lines) { return only(value_of(read(one(lines)))); };
  const auto plain = success("    result: return -> int\n");
  EXPECT_TRUE(plain.succeeded(0));
  EXPECT_FALSE(plain.succeeded(1));
  EXPECT_TRUE(plain.needs_end());
  const auto words = success("    result: arg1 -> enum[ok, late, bad]\n    success: [ok, late]\n");
  EXPECT_TRUE(words.succeeded(1));
  EXPECT_FALSE(words.succeeded(2));
  EXPECT_FALSE(words.needs_end());
  const auto ranges = success("    result: return -> long\n    success: [0.., -5..-3]\n");
  EXPECT_TRUE(ranges.succeeded(7));
  EXPECT_TRUE(ranges.succeeded(-4));
  EXPECT_FALSE(ranges.succeeded(-1));
}

TEST(FunctionDescription, BadInputIsOneLineThatSaysWhereAndWhy) {
  const std::map<std::string, std::string> wrong = {
      {"functions:\n  - symbol: f\n    file: .*\n", "site.yml:2:5: functions[0]: name is missing"},
      {one("    labels: {port: arg9 -> int}\n"),
       "site.yml:5:20: functions[0].labels.port: \"arg9 -> int\": there is no arg9"},
      {one("    labels: {port: return -> int}\n"), "a label is read when the call begins"},
      {one("    labels: {ioc: arg0 -> int}\n"), "a label with this name is there already"},
      {one("    labels: {a-b: arg0 -> int}\n"), "no name of a label"},
      {one("    labels: {a: 'arg0 -> string[80]', b: 'arg0 -> string[80]'}\n"),
       "more than 128 bytes together"},
      {one("    labels: {a: arg0 -> int, b: arg0 -> int, c: arg0 -> int, d: arg0 -> int, e: arg0 "
           "-> int}\n"),
       "more than 4 that are read"},
      {one("    result: return -> string[8]\n"), "must be a number or an enum"},
      {one("    result: return -> int\n    success: fine\n"), "\"fine\" is no number"},
      {one("    success: 0\n"), "there is no result that it is about"},
      {one("    since: g\n"), "no key by which the calls belong together"},
      {one("    key: return\n"), "is read when the call begins"},
      {one("    lables: {}\n"), "functions[0].lables: no such key"},
      {one("", "'*'"), "names no function"},
      {one("", "{offset: x, build_id: 0011223344556677}"), "offset: must be a number"},
      {one("", "{offset: 4}"), "build_id is missing"},
      {one("", "{offset: 4, build_id: xyz}"), "must be the hexadecimal digits"},
      {one("", "{pointer: '[arg0'}"), "a ] is missing"},
      {"functions:\n  - name: f\n    file: '('\n    symbol: f\n", "functions[0].file"},
  };
  for (const auto& [text, words] : wrong)
    EXPECT_THAT(error_of(read(text)), HasSubstr(words)) << text;
}

TEST(FunctionDescription, OneThatCannotBeUsedLeavesTheOthers) {
  const std::string rest = ", file: .*, symbol: f";
  auto all =
      value_of(read("functions:\n  - {name: a" + rest + ", key: arg0}\n  - {name: a" + rest +
                    "}\n  - {name: b" + rest + ", key: arg0, since: a}\n  - {name: c" + rest +
                    ", key: arg0, since: x}\n  - {name: d" + rest +
                    ", key: arg0, since: c}\n  - {name: e, file: .*, symbol: {pointer: arg1, "
                    "of: x}}\n"));
  std::vector<std::pair<std::size_t, std::string>> problems;
  for (const ListProblem& problem : take_out_unusable(all))
    problems.emplace_back(problem.index, problem.line);
  EXPECT_THAT(
      problems,
      ElementsAre(Pair(1, "describe function a: another function has this name"),
                  Pair(3, "describe function c: since x: there is no such function"),
                  Pair(5, "describe function e: its pointer is of x, which is not described"),
                  Pair(4, "describe function d: since c: there is no such function")));
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[1].name, "b");
}

}  // namespace
}  // namespace ioc_exporter::functions

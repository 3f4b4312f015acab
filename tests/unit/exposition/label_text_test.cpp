#include "exposition/label_text.h"

#include <gtest/gtest.h>

#include <set>

#include "base/utf8.h"

namespace ioc_exporter::exposition {
namespace {

using namespace std::string_literals;

std::string label(std::string_view value) {
  std::string out;
  append_label_value(out, value);
  return out;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_sequence(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

TEST(LabelText, PlainNamesStayAsTheyAre) {
  EXPECT_EQ(label("PS:Q1:SetCur.VAL$"), "PS:Q1:SetCur.VAL$");
  EXPECT_EQ(label(""), "");
}

TEST(LabelText, EscapesBackslashQuoteAndNewline) {
  EXPECT_EQ(label("a\\b\"c\nd"), "a\\\\b\\\"c\\nd");
}

TEST(LabelText, HelpKeepsQuotes) {
  std::string out;
  append_help(out, "a \"b\"\nc\\d");
  EXPECT_EQ(out, "a \"b\"\\nc\\\\d");
}

TEST(LabelText, ValidUtf8Passes) {
  for (const char* text : {"µA", "温度", "\U0001F600", "\xEF\xBF\xBF", "\xF4\x8F\xBF\xBF"})
    EXPECT_EQ(label(text), text);
}

TEST(LabelText, InvalidBytesAreWrittenOut) {
  EXPECT_EQ(utf8_safe("a\xFFz"), "a\\xFFz");
  EXPECT_EQ(utf8_safe("\xC0\xAF"), "\\xC0\\xAF");                    // overlong
  EXPECT_EQ(utf8_safe("\xE0\x9F\xBF"), "\\xE0\\x9F\\xBF");           // overlong
  EXPECT_EQ(utf8_safe("\xED\xA0\x80"), "\\xED\\xA0\\x80");           // surrogate
  EXPECT_EQ(utf8_safe("\xF4\x90\x80\x80"), "\\xF4\\x90\\x80\\x80");  // above U+10FFFF
  EXPECT_EQ(utf8_safe("\xE6\xB8"), "\\xE6\\xB8");                    // cut short
  EXPECT_EQ(utf8_safe("\x80"), "\\x80");
  EXPECT_EQ(label("\xFF"), "\\\\xFF");  // the backslash is escaped in turn
}

TEST(LabelText, DifferentBytesNeverBecomeTheSameText) {
  const std::string parts[] = {"\\", "x", "FF",   "5C",   "\xFF",    "\"",
                               "\n", "n", "\xC3", "\xA9", "\xC3\xA9"};
  std::set<std::string> inputs;
  for (const auto& a : parts)
    for (const auto& b : parts)
      for (const auto& c : parts)
        for (const auto& d : parts) inputs.insert(a + b + c + d);
  std::set<std::string> safe, labels;
  for (const auto& input : inputs) {
    safe.insert(utf8_safe(input));
    labels.insert(label(input));
    EXPECT_TRUE(is_utf8(label(input)));
  }
  EXPECT_EQ(safe.size(), inputs.size());
  EXPECT_EQ(labels.size(), inputs.size());
}

TEST(LabelText, EveryPairOfBytesBecomesValidUtf8) {
  for (int a = 0; a < 256; ++a)
    for (int b = 0; b < 256; ++b) {
      const char bytes[] = {static_cast<char>(a), static_cast<char>(b)};
      EXPECT_TRUE(is_utf8(label({bytes, 2}))) << a << " " << b;
    }
}

}  // namespace
}  // namespace ioc_exporter::exposition

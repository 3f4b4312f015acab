// Small functions on text.
#include <gtest/gtest.h>

#include <utility>

#include "base/ascii.h"
#include "base/pattern.h"
#include "base/query.h"
#include "base/utf8.h"
#include "base/value_text.h"
#include "support/value_of.h"

namespace ioc_exporter {
namespace {

TEST(Trimmed, HasNoBlanksAtItsEnds) {
  EXPECT_EQ(trimmed("  \ta b\t \r\n"), "a b");
  for (const char* blank : {" \t\r\n", ""}) EXPECT_EQ(trimmed(blank), "");
}

TEST(ValueText, RefusesAnInvalidSizeAndNamesIt) {
  for (const char* text :
       {"", "MiB", "-1", "1.5GiB", "5 MiB", "5MB", "5mib", "99999999999GiB", "nan"}) {
    EXPECT_EQ(error_of(parse_bytes(text)), '"' + std::string(text) + "\" is no size such as 512MiB")
        << text;
  }
}

TEST(ValueText, SizesAreReadAndWrittenAlike) {
  for (const auto& [text, bytes] : {std::pair{"0", 0ull},
                                    {"17", 17ull},
                                    {"3KiB", 3072ull},
                                    {"1536KiB", 1536ull << 10},
                                    {"512MiB", 512ull << 20},
                                    {"1GiB", 1ull << 30},
                                    {"16GiB", 16ull << 30}}) {
    EXPECT_EQ(value_of(parse_bytes(text)), bytes) << text;
    EXPECT_EQ(bytes_text(bytes), text);
  }
}

TEST(PrintableUtf8, KeepsTextAndReplacesTheRest) {
  EXPECT_EQ(printable_utf8("ioc-PS1", 99), "ioc-PS1");
  EXPECT_EQ(printable_utf8("M\xC3\xBCnchen \xE2\x82\xAC \xF0\x9F\x98\x80", 99),
            "M\xC3\xBCnchen \xE2\x82\xAC \xF0\x9F\x98\x80");
  EXPECT_EQ(printable_utf8("a\nb\x7F"
                           "c\xFF"
                           "d\xC2\x85",
                           99),
            "a_b_c_d_");
  // Nor what shows a line in another order than it has.
  EXPECT_EQ(printable_utf8("a\xE2\x80\xAE"
                           "b\xE2\x81\xA6"
                           "c\xE2\x80\xAF"
                           "d",
                           99),
            "a_b_c\xE2\x80\xAF"
            "d");
  EXPECT_EQ(printable_utf8("\xC0\xAF \xED\xA0\x80 \xF4\x90\x80\x80 \xE2\x82", 99),
            "__ ___ ____ __");
  EXPECT_EQ(printable_utf8("  x  ", 99), "x");
  EXPECT_EQ(printable_utf8("   ", 99), "");
}

TEST(PrintableUtf8, CutsBetweenCharacters) {
  EXPECT_EQ(printable_utf8("abc", 2), "ab");
  EXPECT_EQ(printable_utf8("a\xE2\x82\xAC", 3), "a");
  EXPECT_EQ(printable_utf8("a\xE2\x82\xAC", 4), "a\xE2\x82\xAC");
}

TEST(Query, FindsAndDecodesTheFirstValue) {
  EXPECT_EQ(query_value("pv=a&pv=b", "pv"), "a");
  EXPECT_EQ(query_value("x=1&pv=SR%3AB1.VAL%24&y", "pv"), "SR:B1.VAL$");
  EXPECT_EQ(query_value("%70v=a+b%2B", "pv"), "a b+");
  EXPECT_EQ(query_value("pv=%FF%00%1b", "pv"), std::string("\xFF\0\x1b", 3));
  EXPECT_EQ(query_value("pv=", "pv"), "");
  EXPECT_EQ(query_value("pv", "pv"), "");
  EXPECT_EQ(query_value("pv=a=b", "pv"), "a=b");
  EXPECT_EQ(query_value("pv=100%", "pv"), "100%") << "no encoding";
  EXPECT_EQ(query_value("pv=%4", "pv"), "%4");
  EXPECT_EQ(query_value("pv=%zz%+1", "pv"), "%zz% 1");
}

TEST(Query, NothingWhenTheNameIsNotThere) {
  for (const char* query : {"", "&", "&&", "pvs=1", "p=v", "=pv"})
    EXPECT_EQ(query_value(query, "pv"), std::nullopt) << query;
}

TEST(Query, EncodedAndDecodedIsTheSame) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  const std::string encoded = percent_encoded(all);
  EXPECT_EQ(query_value("pv=" + encoded, "pv"), all);
  EXPECT_EQ(encoded.find_first_of(" &#=?/\"<>+"), std::string::npos);
  EXPECT_EQ(percent_encoded("SR:B1-x_y.VAL~"), "SR%3AB1-x_y.VAL~");
}

TEST(TextTable, ColumnsAreAsWideAsTheirWidestCell) {
  EXPECT_EQ(text_table({{"A", "LONG", "C"}, {"abc", "d", ""}, {"caf\xC3\xA9", "", "x"}}),
            "A     LONG  C\n"
            "abc   d\n"
            "caf\xC3\xA9        x\n");
  EXPECT_EQ(text_table({}), "");
}

Pattern compiled(const std::string& expression) {
  return value_of(Pattern::compile(expression));
}

TEST(Pattern, MatchesTheWholeName) {
  const Pattern pattern = compiled("SR:.*:Current");
  EXPECT_TRUE(pattern.matches("SR:Q1:Current"));
  EXPECT_FALSE(pattern.matches("XSR:Q1:Current"));
  EXPECT_FALSE(pattern.matches("SR:Q1:Current-SP"));
  EXPECT_FALSE(pattern.matches(""));
  EXPECT_EQ(pattern.text(), "SR:.*:Current");
}

TEST(Pattern, AnErrorNamesTheExpressionAndRe2sReason) {
  EXPECT_EQ(error_of(Pattern::compile("ioc(")), "regular expression \"ioc(\": missing ): ioc(");
  for (const char* expression : {"(", "a**", "\\1", "(?=x)"})
    EXPECT_NE(error_of(Pattern::compile(expression)), "") << expression;
}

TEST(Pattern, RewritesByItsGroups) {
  const Pattern pattern = compiled("(..):([^:]*):.*");
  EXPECT_EQ(pattern.rewritten("SR:Q1:Current", "\\1"), "SR");
  EXPECT_EQ(pattern.rewritten("SR:Q1:Current", "\\2 in \\1"), "Q1 in SR");
  EXPECT_EQ(pattern.rewritten("SR:Q1:Current", "\\0"), "SR:Q1:Current");
  EXPECT_EQ(pattern.rewritten("SR:Q1:Current", "all"), "all");
  EXPECT_EQ(pattern.rewritten("SRX:Q1:Current", "\\1"), std::nullopt);
  EXPECT_EQ(pattern.groups(), 2);
  EXPECT_TRUE(pattern.check_rewrite("\\2"));
  EXPECT_FALSE(pattern.check_rewrite("\\3"));
  EXPECT_FALSE(pattern.check_rewrite("\\x"));
}

TEST(NameFilter, ExcludeWins) {
  NameFilter filter;
  EXPECT_TRUE(filter.wants_all());
  EXPECT_TRUE(filter.wants(""));
  filter.include = compiled("SR:.*");
  filter.exclude = compiled(".*:Clock");
  EXPECT_FALSE(filter.wants_all());
  EXPECT_TRUE(filter.wants("SR:Q1"));
  EXPECT_FALSE(filter.wants("SR:Clock"));
  EXPECT_FALSE(filter.wants("BR:Q1"));
  EXPECT_FALSE(filter.wants("a:SR:Q1")) << "whole names";
}

}  // namespace
}  // namespace ioc_exporter

#include "base/pattern.h"

#include <gtest/gtest.h>

namespace ioc_exporter {
namespace {

Pattern compiled(const std::string& expression) {
  auto pattern = Pattern::compile(expression);
  EXPECT_TRUE(pattern) << expression;
  return *pattern;
}

TEST(Pattern, MatchesTheWholeName) {
  const Pattern pattern = compiled("SR:.*:Current");
  EXPECT_TRUE(pattern.matches("SR:Q1:Current"));
  EXPECT_FALSE(pattern.matches("XSR:Q1:Current"));
  EXPECT_FALSE(pattern.matches("SR:Q1:Current-SP"));
  EXPECT_FALSE(pattern.matches(""));
  EXPECT_EQ(pattern.text(), "SR:.*:Current");
}

TEST(Pattern, RefusesWhatRe2Refuses) {
  for (const char* expression : {"(", "a**", "\\1", "(?=x)"}) {
    const auto pattern = Pattern::compile(expression);
    ASSERT_FALSE(pattern) << expression;
    EXPECT_FALSE(pattern.error().message().empty());
  }
}

TEST(Pattern, TheErrorNamesTheExpressionAndRe2sReason) {
  EXPECT_EQ(Pattern::compile("ioc(").error().message(),
            "regular expression \"ioc(\": missing ): ioc(");
  EXPECT_NE(Pattern::compile("*").error().message().find("\"*\": no argument for repetition"),
            std::string::npos);
}

TEST(NameFilter, MatchesWholeNames) {
  EXPECT_TRUE(NameFilter().wants("anything"));
  const NameFilter filter{compiled("ioc.*"), compiled("iocTest.*")};
  EXPECT_TRUE(filter.wants("iocPS1"));
  EXPECT_FALSE(filter.wants("my-iocPS1"));
  EXPECT_FALSE(filter.wants("iocTest7"));
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
}

}  // namespace
}  // namespace ioc_exporter

#include "policy/patterns.h"

#include <gtest/gtest.h>

namespace ioc_exporter::policy {
namespace {

TEST(Patterns, MatchWholeNames) {
  const Patterns patterns({"SR:Q1", "SR:B[0-9]+:Set", "a|b"});
  EXPECT_TRUE(patterns.match("SR:Q1"));
  EXPECT_FALSE(patterns.match("SR:Q11"));
  EXPECT_FALSE(patterns.match("xSR:Q1"));
  EXPECT_TRUE(patterns.match("SR:B17:Set"));
  EXPECT_FALSE(patterns.match("SR:B17:Set.DESC"));
  EXPECT_TRUE(patterns.match("b"));
  EXPECT_FALSE(patterns.match("ab"));
  EXPECT_FALSE(patterns.match(""));
  EXPECT_FALSE(Patterns().match(""));
  EXPECT_TRUE(Patterns({".*"}).match(""));
}

TEST(Patterns, AreAboutBytes) {
  EXPECT_TRUE(Patterns({".*"}).match("x\xff\ny"));
  EXPECT_TRUE(Patterns({"S\xc3\xa4ule"}).match("S\xc3\xa4ule"));
  const std::string odd("a.b\\{\"x\":1}[0]$\0|", 18);
  EXPECT_TRUE(Patterns({literal_pattern(odd)}).match(odd));
  EXPECT_FALSE(Patterns({literal_pattern(odd)}).match("aXb\\{\"x\":1}[0]$"));
  EXPECT_EQ(literal_pattern("SR:CH-1_a"), "SR:CH-1_a");
}

// Put together into one expression, it would end none of its group.
TEST(Patterns, QuotesEndWithTheirExpression) {
  const Patterns patterns({"\\Qa(b", "c.d", "\\Ee"});
  EXPECT_TRUE(patterns.match("a(b"));
  EXPECT_TRUE(patterns.match("cxd"));
  EXPECT_FALSE(patterns.match("a(b)|(?:c.d"));
}

TEST(Patterns, SayWhatIsWrong) {
  EXPECT_TRUE(Patterns::check("SR:.*"));
  EXPECT_EQ(Patterns::check("SR:(").error().message(), "missing ): SR:(");
  EXPECT_FALSE(Patterns::check("a(?=b)"));
  EXPECT_FALSE(Patterns::check("a)(b"));
}

}  // namespace
}  // namespace ioc_exporter::policy

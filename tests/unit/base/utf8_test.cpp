#include "base/utf8.h"

#include <gtest/gtest.h>

namespace ioc_exporter {
namespace {

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

}  // namespace
}  // namespace ioc_exporter

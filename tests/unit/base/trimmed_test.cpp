#include <gtest/gtest.h>

#include "base/ascii.h"

namespace ioc_exporter {
namespace {

TEST(Trimmed, HasNoBlanksAtItsEnds) {
  EXPECT_EQ(trimmed("  \ta b\t \r\n"), "a b");
  EXPECT_EQ(trimmed("a"), "a");
  EXPECT_EQ(trimmed(" \t\r\n"), "");
  EXPECT_EQ(trimmed(""), "");
}

}  // namespace
}  // namespace ioc_exporter

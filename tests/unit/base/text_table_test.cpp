#include "base/value_text.h"

#include <gtest/gtest.h>

namespace ioc_exporter {
namespace {

TEST(TextTable, ColumnsAreAsWideAsTheirWidestCell) {
  EXPECT_EQ(text_table({{"A", "LONG", "C"}, {"abc", "d", ""}, {"caf\xC3\xA9", "", "x"}}),
            "A     LONG  C\n"
            "abc   d\n"
            "caf\xC3\xA9        x\n");
  EXPECT_EQ(text_table({}), "");
}

}  // namespace
}  // namespace ioc_exporter

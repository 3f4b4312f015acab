#include "app/logging.h"

#include <gtest/gtest.h>

namespace ioc_exporter::app {
namespace {

TEST(Logging, AMessageStaysOneQuotedString) {
  EXPECT_EQ(quoted("plain"), "\"plain\"");
  EXPECT_EQ(quoted("a \"b\" c\\d"), R"("a \"b\" c\\d")");
  EXPECT_EQ(quoted("two\nlines"), R"("two\nlines")");
  EXPECT_EQ(quoted(std::string_view("\x01\x7f", 2)), R"("\u0001\u007f")");
  EXPECT_EQ(quoted("µs"), "\"µs\"");
}

}  // namespace
}  // namespace ioc_exporter::app

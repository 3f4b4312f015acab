#include "base/value_text.h"

#include <gtest/gtest.h>

namespace ioc_exporter {
namespace {

TEST(ValueText, ReadsSizes) {
  EXPECT_EQ(*parse_bytes("0"), 0u);
  EXPECT_EQ(*parse_bytes("17"), 17u);
  EXPECT_EQ(*parse_bytes("3KiB"), 3072u);
  EXPECT_EQ(*parse_bytes("512MiB"), 512u << 20);
  EXPECT_EQ(*parse_bytes("16GiB"), 16ull << 30);
}

TEST(ValueText, RefusesWhatIsNoSizeAndNamesIt) {
  for (const char* text :
       {"", "MiB", "-1", "1.5GiB", "5 MiB", "5MB", "5mib", "99999999999GiB", "nan"}) {
    const auto parsed = parse_bytes(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().message(), '"' + std::string(text) + "\" is no size such as 512MiB");
  }
}

TEST(ValueText, WritesSizesAsTheyAreRead) {
  EXPECT_EQ(bytes_text(0), "0");
  EXPECT_EQ(bytes_text(17), "17");
  EXPECT_EQ(bytes_text(1536u << 10), "1536KiB");
  EXPECT_EQ(bytes_text(1u << 30), "1GiB");
  EXPECT_EQ(*parse_bytes(bytes_text(123u << 20)), 123u << 20);
}

}  // namespace
}  // namespace ioc_exporter

#include "base/base64.h"

#include <gtest/gtest.h>

namespace ioc_exporter {
namespace {

TEST(Base64, BothWays) {
  // RFC 4648, 10.
  const std::pair<std::string, std::string> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"},
                                                         {"\xff\xfe", "//4="}};
  for (const auto& [bytes, text] : vectors) {
    EXPECT_EQ(encode_base64(bytes), text);
    EXPECT_EQ(decode_base64(text), bytes);
  }
  EXPECT_EQ(decode_base64("Zm8"), "fo");
  EXPECT_EQ(decode_base64("Zm 8"), std::nullopt);
  EXPECT_EQ(decode_base64("Zm8-"), std::nullopt);
}

}  // namespace
}  // namespace ioc_exporter

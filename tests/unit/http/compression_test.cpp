#include "http/compression.h"

#include <gtest/gtest.h>

#include "inflate.h"

namespace ioc_exporter::http {
namespace {

TEST(AcceptsGzip, WhenItIsNamed) {
  for (const char* header :
       {"gzip", "GZIP", "deflate, gzip", "gzip;q=0.5", "br;q=1, gzip ; q = 0.1", "x-gzip", "*",
        "identity;q=0, *;q=0.5", "gzip;q=1.000", "gzip;level=9;q=1"})
    EXPECT_TRUE(accepts_gzip(header)) << header;
}

TEST(AcceptsGzip, NotWhenItIsRefusedOrMissing) {
  for (const char* header :
       {"", "identity", "deflate", "gzip;q=0", "gzip;q=0.000", "*;q=0", "gzip;q=x",
        "gzip;q=", "gzip;q=0, *", "gzipped", ",;,", "*;q=0, deflate"})
    EXPECT_FALSE(accepts_gzip(header)) << header;
}

TEST(Gzip, InflatesToTheSameBytes) {
  std::string text;
  for (long i = 0; i < 50000; ++i) text.append("line ").append(std::to_string(i * i)).append("\n");
  for (const std::string& body :
       {std::string(), std::string("x"), text, std::string("\0\xFF", 2)}) {
    const auto packed = gzip(body);
    ASSERT_TRUE(packed.has_value());
    EXPECT_EQ(inflated(*packed), body);
  }
  EXPECT_LT(gzip(text)->size(), text.size() / 2);
}

}  // namespace
}  // namespace ioc_exporter::http

#include "web/compression.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include <string>

#include "inflate.h"

namespace ioc_exporter::web {
namespace {

TEST(BestCoding, IsGzipWhereItIsNamed) {
  for (const char* header :
       {"gzip", "GZIP", "deflate, gzip", "gzip;q=0.5", "br;q=1, gzip ; q = 0.1", "x-gzip", "*",
        "identity;q=0, *;q=0.5", "gzip;q=1.000", "gzip;level=9;q=1", "zstd;q=0.5, gzip;q=0.8",
        "gzip, zstd;q=0"})
    EXPECT_EQ(best_coding(header), Coding::gzip) << header;
}

TEST(BestCoding, IsZstdWhereItIsWantedAsMuch) {
  for (const char* header : {"zstd", "gzip, deflate, br, zstd", "gzip;q=0.5, ZSTD;q=0.5",
                             "identity;q=0.1,zstd;q=0.2", "gzip;q=0, zstd"})
    EXPECT_EQ(best_coding(header), Coding::zstd) << header;
}

TEST(BestCoding, IsNoneWhereAllIsRefusedOrUnknown) {
  for (const char* header :
       {"", "identity", "deflate", "gzip;q=0", "gzip;q=0.000", "*;q=0", "gzip;q=x",
        "gzip;q=", "gzip;q=0, *", "gzipped", ",;,", "*;q=0, deflate", "identity, gzip;q=0.5",
        "zstd;q=0", "gzip;q=-1", "gzip;q=nan"})
    EXPECT_EQ(best_coding(header), Coding::identity) << header;
}

std::string squares_text() {
  std::string text;
  for (long i = 0; i < 50000; ++i) text.append("line ").append(std::to_string(i * i)).append("\n");
  return text;
}

std::string decompressed_zstd(std::string_view packed) {
  std::string out(ZSTD_getFrameContentSize(packed.data(), packed.size()), '\0');
  out.resize(ZSTD_decompress(out.data(), out.size(), packed.data(), packed.size()));
  return out;
}

TEST(Compress, GivesBackTheSameBytes) {
  for (const std::string& body :
       {std::string(), std::string("x"), squares_text(), std::string("\0\xFF", 2)}) {
    const auto gzipped = compress(body, Coding::gzip);
    ASSERT_TRUE(gzipped.has_value());
    EXPECT_EQ(inflated(std::string(gzipped->view())), body);
    const auto zstd = compress(body, Coding::zstd);
    ASSERT_TRUE(zstd.has_value());
    EXPECT_EQ(decompressed_zstd(zstd->view()), body);
  }
  const std::string text = squares_text();
  EXPECT_LT(compress(text, Coding::gzip)->size(), text.size() / 2);
  EXPECT_LT(compress(text, Coding::zstd)->size(), text.size() / 2);
  EXPECT_FALSE(compress(text, Coding::identity).has_value());
}

}  // namespace
}  // namespace ioc_exporter::web

#include "base/query.h"

#include <gtest/gtest.h>

namespace ioc_exporter {
namespace {

TEST(Query, FindsAndDecodesTheFirstValue) {
  EXPECT_EQ(query_value("pv=a&pv=b", "pv"), "a");
  EXPECT_EQ(query_value("x=1&pv=SR%3AB1.VAL%24&y", "pv"), "SR:B1.VAL$");
  EXPECT_EQ(query_value("%70v=a+b%2B", "pv"), "a b+");
  EXPECT_EQ(query_value("pv=%FF%00%1b", "pv"), std::string("\xFF\0\x1b", 3));
  EXPECT_EQ(query_value("pv=", "pv"), "");
  EXPECT_EQ(query_value("pv", "pv"), "");
  EXPECT_EQ(query_value("pv=a=b", "pv"), "a=b");
}

TEST(Query, KeepsWhatIsNoEncoding) {
  EXPECT_EQ(query_value("pv=100%", "pv"), "100%");
  EXPECT_EQ(query_value("pv=%4", "pv"), "%4");
  EXPECT_EQ(query_value("pv=%zz%+1", "pv"), "%zz% 1");
}

TEST(Query, NothingWhenTheNameIsNotThere) {
  for (const char* query : {"", "&", "&&", "pvs=1", "p=v", "=pv"})
    EXPECT_EQ(query_value(query, "pv"), std::nullopt) << query;
}

TEST(Query, EncodedAndDecodedIsTheSame) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  const std::string encoded = percent_encoded(all);
  EXPECT_EQ(query_value("pv=" + encoded, "pv"), all);
  EXPECT_EQ(encoded.find_first_of(" &#=?/\"<>+"), std::string::npos);
  EXPECT_EQ(percent_encoded("SR:B1-x_y.VAL~"), "SR%3AB1-x_y.VAL~");
}

}  // namespace
}  // namespace ioc_exporter

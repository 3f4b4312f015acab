#include "iocs/ioc_filter.h"

#include <gtest/gtest.h>

namespace ioc_exporter::iocs {
namespace {

TEST(IocFilter, MatchesWholeNames) {
  EXPECT_TRUE(IocFilter().wants("anything"));
  const auto filter = IocFilter::create("ioc.*", "iocTest.*");
  ASSERT_TRUE(filter);
  EXPECT_TRUE(filter->wants("iocPS1"));
  EXPECT_FALSE(filter->wants("my-iocPS1"));
  EXPECT_FALSE(filter->wants("iocTest7"));
}

TEST(IocFilter, BadExpressionIsNamedWithRe2sReason) {
  const auto include = IocFilter::create("ioc(", "");
  ASSERT_FALSE(include);
  EXPECT_EQ(include.error().message(),
            "read the regular expression 'ioc(' of --ioc.include: missing ): ioc(");
  const auto exclude = IocFilter::create("", "*");
  ASSERT_FALSE(exclude);
  EXPECT_NE(exclude.error().message().find("'*' of --ioc.exclude: no argument for repetition"),
            std::string::npos);
}

}  // namespace
}  // namespace ioc_exporter::iocs

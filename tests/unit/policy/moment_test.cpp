#include "policy/time_window.h"

#include <gtest/gtest.h>

namespace ioc_exporter::policy {
namespace {

TEST(Moment, IsReadAsPeopleWriteIt) {
  EXPECT_EQ(*parse_moment("2026-11-23 12:00Z"), 1795435200);
  EXPECT_EQ(*parse_moment("2026-11-23T12:00:30Z"), 1795435230);
  EXPECT_EQ(*parse_moment("2026-11-23T13:00:00+01:00"), 1795435200);
  EXPECT_TRUE(parse_moment("2026-11-23 12:00"));
  EXPECT_TRUE(parse_moment("2026-11-23T12:00:30"));
  for (const char* text : {"", "12:00", "2026-11-23", "2026-13-01 12:00", "2026-11-23 12:00 x"})
    EXPECT_FALSE(parse_moment(text)) << text;
}

}  // namespace
}  // namespace ioc_exporter::policy

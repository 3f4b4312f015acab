#include "exposition/number_text.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>

namespace ioc_exporter::exposition {
namespace {

template <class Number>
std::string text(Number value) {
  std::string out;
  append_number(out, value);
  return out;
}

TEST(NumberText, CountsAreExact) {
  EXPECT_EQ(text(std::uint64_t{0}), "0");
  EXPECT_EQ(text((std::uint64_t{1} << 53) + 1), "9007199254740993");
  EXPECT_EQ(text(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
}

TEST(NumberText, DoublesRoundTripInTheShortestForm) {
  EXPECT_EQ(text(0.1), "0.1");
  EXPECT_EQ(text(1.0), "1");
  EXPECT_EQ(text(-2.5), "-2.5");
  for (const double value : {1.0 / 3, 1e300, 5e-324, 1790000000.25, 9.5367431640625e-07})
    EXPECT_EQ(std::strtod(text(value).c_str(), nullptr), value);
}

TEST(NumberText, WhatIsNoNumber) {
  EXPECT_EQ(text(std::numeric_limits<double>::quiet_NaN()), "NaN");
  EXPECT_EQ(text(std::numeric_limits<double>::infinity()), "+Inf");
  EXPECT_EQ(text(-std::numeric_limits<double>::infinity()), "-Inf");
}

TEST(NumberText, NanosecondsToSeconds) {
  EXPECT_EQ(seconds_from_ns(0), 0.0);
  EXPECT_EQ(seconds_from_ns(1), 1e-9);
  EXPECT_EQ(seconds_from_ns(1'500'000'000), 1.5);
}

}  // namespace
}  // namespace ioc_exporter::exposition

#include "puts/status.h"

#include <gtest/gtest.h>

#include <set>

namespace {

using ioc_exporter::ca::ca_status_reason;

// The numbers of caerr.h (EPICS Base 7.0.10): DEFMSG(severity, number).
constexpr std::uint32_t status(std::uint32_t severity, std::uint32_t number) {
  return number << 3 | severity;
}

TEST(CaStatus, WhatServersAnswerPutsWith) {
  EXPECT_EQ(ca_status_reason(1), "normal");
  EXPECT_EQ(ca_status_reason(status(0, 6)), "no_memory");
  EXPECT_EQ(ca_status_reason(status(0, 9)), "too_large");
  EXPECT_EQ(ca_status_reason(114), "bad_type");  // ECA_BADTYPE
  EXPECT_EQ(ca_status_reason(142), "internal_error");
  EXPECT_EQ(ca_status_reason(160), "put_failed");
  EXPECT_EQ(ca_status_reason(status(0, 22)), "bad_count");
  EXPECT_EQ(ca_status_reason(status(2, 45)), "put_callback_timed_out");
  EXPECT_EQ(ca_status_reason(376), "no_write_access");
  EXPECT_EQ(ca_status_reason(status(0, 50)), "no_conversion");
  EXPECT_EQ(ca_status_reason(status(0, 60)), "unresponsive_timeout");
}

TEST(CaStatus, SeverityDoesNotMatter) {
  for (std::uint32_t severity = 0; severity < 8; ++severity)
    EXPECT_EQ(ca_status_reason(status(severity, 47)), "no_write_access");
}

TEST(CaStatus, UnknownNumbersAreOther) {
  EXPECT_EQ(ca_status_reason(status(0, 61)), "other");
  EXPECT_EQ(ca_status_reason(UINT32_MAX), "other");
}

TEST(CaStatus, EachHasItsOwnName) {
  std::set<std::string_view> names;
  for (std::uint32_t number = 0; number <= 60; ++number) {
    EXPECT_FALSE(ca_status_reason(number << 3).empty()) << number;
    names.insert(ca_status_reason(number << 3));
  }
  EXPECT_EQ(names.size(), 61u);
}

}  // namespace

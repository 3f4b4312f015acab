// What can be a header of a message, and status codes.
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string_view>
#include <utility>

#include "puts/status.h"
#include "shared/ca_header.h"

namespace {

using ioc_exporter::puts::ca_status_reason;

TEST(CaHeader, PutFitsItsPayload) {
  struct Row {
    std::uint32_t type, count, size;
    bool fits;
  };
  const Row rows[] = {{0, 1, 8, true},  // a short string as libca sends it
                      {0, 1, 40, true},         {0, 1, 48, false},         {0, 3, 120, true},
                      {1, 5, 16, true},  // padded
                      {2, 2, 8, true},          {3, 1, 8, true},           {4, 9, 16, true},
                      {5, 1, 8, true},          {6, 100000, 800000, true}, {6, 1, 16, false},
                      {6, 0, 0, false},         {35, 1, 8, true},  // DBR_PUT_ACKT
                      {7, 1, 8, false},                            // nobody puts DBR_STS_STRING
                      {6, 0x20000001, 8, false}};                  // no overflow
  for (const Row& row : rows)
    EXPECT_EQ(iocx_ca_put_fits(row.type, row.count, row.size) != 0, row.fits) << row.type;
}

TEST(CaHeader, PlausibleInOneDirectionOnly) {
  struct Row {
    iocx_ca_header header;
    bool to_server, to_client;
  };
  const Row rows[] = {{{0, 0, 0, 0, 0, 0, 16}, false, false},
                      {{4, 6, 8, 1, 77, 1, 16}, true, false},
                      {{22, 0, 0, 0, 1, 3, 16}, false, true},
                      {{18, 0, 13, 0, 1, 13, 16}, false, false}};  // not padded
  for (const Row& row : rows) {
    EXPECT_EQ(iocx_ca_plausible(IOCX_CA_TO_SERVER, &row.header) != 0, row.to_server);
    EXPECT_EQ(iocx_ca_plausible(IOCX_CA_TO_CLIENT, &row.header) != 0, row.to_client);
  }
}

// The numbers of caerr.h (EPICS Base 7.0.10): DEFMSG(severity, number).
TEST(CaStatus, NamesOfTheAnswersToPuts) {
  const std::pair<std::uint32_t, const char*> names[] = {{0, "normal"},
                                                         {6, "no_memory"},
                                                         {9, "too_large"},
                                                         {14, "bad_type"},
                                                         {17, "internal_error"},
                                                         {20, "put_failed"},
                                                         {22, "bad_count"},
                                                         {45, "put_callback_timed_out"},
                                                         {47, "no_write_access"},
                                                         {50, "no_conversion"},
                                                         {60, "unresponsive_timeout"},
                                                         {61, "other"},
                                                         {UINT32_MAX >> 3, "other"}};
  for (const auto& [number, name] : names)
    for (std::uint32_t severity = 0; severity < 8; ++severity)
      EXPECT_EQ(ca_status_reason(number << 3 | severity), name) << number;
}

TEST(CaStatus, EachHasItsOwnName) {
  std::set<std::string_view> names;
  for (std::uint32_t number = 0; number <= 60; ++number)
    names.insert(ca_status_reason(number << 3));
  EXPECT_EQ(names.size(), 61u);
}

}  // namespace

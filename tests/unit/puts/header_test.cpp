// Headers of messages, windows of segments, and status codes.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "puts/status.h"
#include "shared/ca_header.h"
#include "shared/ca_window.h"

namespace {

using Extent = std::pair<std::uint32_t, std::uint32_t>;
using ioc_exporter::ca::ca_status_reason;
using testing::FieldsAre;

TEST(CaHeader, ReadsBigEndianFields) {
  const std::uint8_t bytes[24] = {0x00, 0x04, 0x00, 0x08, 0x00, 0x06, 0x00, 0x01,
                                  0x12, 0x34, 0x56, 0x78, 0x9A, 0xBC, 0xDE, 0xF0};
  iocx_ca_header header;
  iocx_ca_read_header(bytes, &header);
  EXPECT_THAT(header, FieldsAre(4u, 6u, 8u, 1u, 0x12345678u, 0x9ABCDEF0u, 16u));
  EXPECT_FALSE(iocx_ca_is_long(bytes));
}

TEST(CaHeader, ReadsLongForm) {
  const std::uint8_t bytes[24] = {0x00, 0x04, 0xFF, 0xFF, 0x00, 0x06, 0x00, 0x00, 0, 0, 0,    9,
                                  0,    0,    0,    1,    0x00, 0x0C, 0x35, 0x00, 0, 1, 0x86, 0xA0};
  iocx_ca_header header;
  iocx_ca_read_header(bytes, &header);
  EXPECT_TRUE(iocx_ca_is_long(bytes));
  EXPECT_THAT(header, FieldsAre(4u, 6u, 800000u, 100000u, 9u, 1u, 24u));
}

TEST(CaHeader, PutFitsItsPayload) {
  EXPECT_TRUE(iocx_ca_put_fits(0, 1, 8));   // a short string as libca sends it
  EXPECT_TRUE(iocx_ca_put_fits(0, 1, 40));  // a whole one
  EXPECT_FALSE(iocx_ca_put_fits(0, 1, 48));
  EXPECT_TRUE(iocx_ca_put_fits(0, 3, 120));
  EXPECT_TRUE(iocx_ca_put_fits(1, 5, 16));  // 5 shorts, padded
  EXPECT_TRUE(iocx_ca_put_fits(2, 2, 8));
  EXPECT_TRUE(iocx_ca_put_fits(3, 1, 8));
  EXPECT_TRUE(iocx_ca_put_fits(4, 9, 16));
  EXPECT_TRUE(iocx_ca_put_fits(5, 1, 8));
  EXPECT_TRUE(iocx_ca_put_fits(6, 100000, 800000));
  EXPECT_FALSE(iocx_ca_put_fits(6, 1, 16));
  EXPECT_FALSE(iocx_ca_put_fits(6, 0, 0));
  EXPECT_TRUE(iocx_ca_put_fits(35, 1, 8));           // DBR_PUT_ACKT
  EXPECT_FALSE(iocx_ca_put_fits(7, 1, 8));           // nobody puts DBR_STS_STRING
  EXPECT_FALSE(iocx_ca_put_fits(6, 0x20000001, 8));  // no overflow
}

TEST(CaHeader, ZerosAreNotPlausible) {
  const iocx_ca_header zeros{0, 0, 0, 0, 0, 0, 16};
  EXPECT_FALSE(iocx_ca_plausible(IOCX_CA_TO_SERVER, &zeros));
  EXPECT_FALSE(iocx_ca_plausible(IOCX_CA_TO_CLIENT, &zeros));
}

TEST(CaHeader, PlausibleInOneDirectionOnly) {
  const iocx_ca_header write{4, 6, 8, 1, 77, 1, 16};
  const iocx_ca_header rights{22, 0, 0, 0, 1, 3, 16};
  EXPECT_TRUE(iocx_ca_plausible(IOCX_CA_TO_SERVER, &write));
  EXPECT_FALSE(iocx_ca_plausible(IOCX_CA_TO_CLIENT, &write));
  EXPECT_TRUE(iocx_ca_plausible(IOCX_CA_TO_CLIENT, &rights));
  EXPECT_FALSE(iocx_ca_plausible(IOCX_CA_TO_SERVER, &rights));
}

TEST(CaHeader, UnpaddedSizesAreNotPlausible) {
  const iocx_ca_header create{18, 0, 13, 0, 1, 13, 16};
  EXPECT_FALSE(iocx_ca_plausible(IOCX_CA_TO_SERVER, &create));
}

class CaWindow : public ::testing::Test {
 protected:
  bool add(std::uint32_t from, std::uint32_t to) {
    iocx_ca_choice choice{base_ + from, base_ + to, 0, 0};
    return iocx_ca_add_extent(page_.get(), &choice);
  }
  std::uint32_t stored(std::uint32_t from) {
    const iocx_ca_choice choice{base_ + from, base_ + from + 1, 0, 0};
    return iocx_ca_stored(page_.get(), &choice);
  }
  // The next extent as {from, to}, or {0, 0}.
  std::pair<std::uint32_t, std::uint32_t> next(std::uint32_t next) {
    iocx_ca_choice choice{};
    iocx_ca_next_extent(page_.get(), &choice, base_ + next);
    if (choice.at == IOCX_CA_EXTENTS) return {0, 0};
    return {choice.from - base_, choice.to - base_};
  }

  std::unique_ptr<iocx_ca_page> page_ = std::make_unique<iocx_ca_page>();
  std::uint32_t base_ = 0xFFFFFF80u;  // sequence numbers start over behind it
};

TEST_F(CaWindow, GivesExtentsInTheirOrder) {
  EXPECT_EQ(next(0), Extent());
  EXPECT_TRUE(add(300, 400));
  EXPECT_TRUE(add(100, 200));
  EXPECT_EQ(next(0), Extent(100, 200));
  EXPECT_EQ(next(100), Extent(100, 200));
  EXPECT_EQ(next(150), Extent(100, 200));
  EXPECT_EQ(next(200), Extent(300, 400));
  EXPECT_EQ(next(400), Extent());
  EXPECT_EQ(next(0), Extent());  // passed bytes are gone
}

TEST_F(CaWindow, JoinsExtentsThatOverlapOrTouch) {
  for (const auto& [from, to] : {Extent(100, 200), {300, 400}, {500, 600}, {700, 800}})
    add(from, to);
  add(200, 300);
  EXPECT_EQ(next(0), Extent(100, 400));
  add(550, 750);
  add(60, 70);
  EXPECT_EQ(next(0), Extent(60, 70));
  EXPECT_EQ(next(70), Extent(100, 400));
  EXPECT_EQ(next(400), Extent(500, 800));
  add(0, 1000);
  EXPECT_EQ(next(0), Extent(0, 1000));
}

TEST_F(CaWindow, IsFullAtItsLimit) {
  for (std::uint32_t i = 0; i < IOCX_CA_EXTENTS; ++i) ASSERT_TRUE(add(i * 10 + 1, i * 10 + 5));
  EXPECT_FALSE(add(1000, 1001));
  EXPECT_TRUE(add(2, 4));   // is there already
  EXPECT_TRUE(add(5, 11));  // joins two: one place is free again
  EXPECT_TRUE(add(1000, 1001));
}

TEST_F(CaWindow, ReachIsThatOfItsPlaces) {
  constexpr std::uint32_t kAll = IOCX_CA_PAGE * IOCX_CA_WINDOW_PAGES;
  EXPECT_TRUE(iocx_ca_reaches(0, kAll));
  EXPECT_FALSE(iocx_ca_reaches(0, kAll + 1));
  EXPECT_TRUE(iocx_ca_reaches(IOCX_CA_PAGE - 1, kAll));
  EXPECT_FALSE(iocx_ca_reaches(IOCX_CA_PAGE - 1, kAll + 1));
  EXPECT_TRUE(iocx_ca_reaches(0xFFFFFFFFu, kAll - IOCX_CA_PAGE));
  EXPECT_FALSE(iocx_ca_reaches(0xFFFFFFFFu, kAll - IOCX_CA_PAGE + 1));
  EXPECT_EQ(iocx_ca_place(0), iocx_ca_place(kAll));
  EXPECT_EQ(iocx_ca_place(0xFFFFFFFFu), IOCX_CA_WINDOW_PAGES - 1);
}

TEST_F(CaWindow, StoredBytesAreNotStoredAgain) {
  EXPECT_EQ(stored(100), 0u);
  EXPECT_TRUE(add(100, 200));
  EXPECT_EQ(stored(100), 100u);
  EXPECT_EQ(stored(150), 50u);
  EXPECT_EQ(stored(200), 0u);
  EXPECT_EQ(stored(99), 0u) << "a segment that starts earlier";
}

// Against one flag a byte.
TEST_F(CaWindow, RandomExtents) {
  std::mt19937 random(23);
  for (int round = 0; round < 300; ++round) {
    *page_ = {};
    base_ = static_cast<std::uint32_t>(random());
    std::vector<bool> there(500);
    std::uint32_t passed = 0;
    for (int step = 0; step < 60; ++step) {
      const auto from = passed + 1 + static_cast<std::uint32_t>(random() % (400 - passed));
      const auto to = from + 1 + static_cast<std::uint32_t>(random() % 20);
      ASSERT_TRUE(add(from, to));
      for (std::uint32_t i = from; i < to; ++i) there[i] = true;
      if (random() % 8 == 0) passed += static_cast<std::uint32_t>(random() % 20);
      std::uint32_t first = passed;
      while (first < there.size() && !there[first]) ++first;
      std::uint32_t last = first;
      while (last < there.size() && there[last]) ++last;
      const Extent found = next(passed);
      if (first == there.size()) {
        ASSERT_EQ(found, Extent());
        continue;
      }
      ASSERT_EQ(found.second, last);
      ASSERT_EQ(std::max(found.first, passed), first);
    }
  }
}

// The numbers of caerr.h (EPICS Base 7.0.10): DEFMSG(severity, number).
constexpr std::uint32_t status(std::uint32_t severity, std::uint32_t number) {
  return number << 3 | severity;
}

TEST(CaStatus, NamesOfTheAnswersToPuts) {
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

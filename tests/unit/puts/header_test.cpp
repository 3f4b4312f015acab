#include "shared/ca_header.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace {

TEST(CaHeader, ReadsBigEndianFields) {
  const std::uint8_t bytes[24] = {0x00, 0x04, 0x00, 0x08, 0x00, 0x06, 0x00, 0x01,
                                  0x12, 0x34, 0x56, 0x78, 0x9A, 0xBC, 0xDE, 0xF0};
  iocx_ca_header header;
  iocx_ca_read_header(bytes, &header, IOCX_CA_LARGE);
  EXPECT_EQ(header.command, 4u);
  EXPECT_EQ(header.size, 8u);
  EXPECT_EQ(header.type, 6u);
  EXPECT_EQ(header.count, 1u);
  EXPECT_EQ(header.parameter1, 0x12345678u);
  EXPECT_EQ(header.parameter2, 0x9ABCDEF0u);
  EXPECT_EQ(header.length, 16u);
  EXPECT_FALSE(iocx_ca_is_long(bytes));
}

TEST(CaHeader, ReadsLongForm) {
  const std::uint8_t bytes[24] = {0x00, 0x04, 0xFF, 0xFF, 0x00, 0x06, 0x00, 0x00, 0, 0, 0,    9,
                                  0,    0,    0,    1,    0x00, 0x0C, 0x35, 0x00, 0, 1, 0x86, 0xA0};
  iocx_ca_header header;
  iocx_ca_read_header(bytes, &header, IOCX_CA_LARGE);
  EXPECT_TRUE(iocx_ca_is_long(bytes));
  EXPECT_EQ(header.size, 800000u);
  EXPECT_EQ(header.count, 100000u);
  EXPECT_EQ(header.length, 24u);
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

}  // namespace

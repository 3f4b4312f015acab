#include "records/put_client_totals.h"

#include <gtest/gtest.h>

namespace {

using namespace ioc_exporter::records;

iocx_put_client_key key(std::uint64_t record, std::uint32_t tid, std::uint32_t slot = 3) {
  return {record, slot, tid, IOCX_PUT_CA, {}};
}

TEST(PutClientTotals, CountsGrowByWhatIsNew) {
  PutClientTotals totals;
  totals.add(key(0x10, 7), 5, "10.0.0.7", true);
  totals.add(key(0x10, 7), 5, "10.0.0.7", true);
  totals.add(key(0x10, 7), 11, "10.0.0.7", false);
  totals.add(key(0x20, 7), 1, "10.0.0.7", false);
  totals.add(key(0x10, 8), 2, "10.0.0.7", false);  // another circuit of the same client
  totals.add(key(0x10, 9), 3, "10.0.0.8", false);
  EXPECT_EQ(totals.of(3), (std::vector<ClientPuts>{{0x10, IOCX_PUT_CA, "10.0.0.7", 13},
                                                   {0x10, IOCX_PUT_CA, "10.0.0.8", 3},
                                                   {0x20, IOCX_PUT_CA, "10.0.0.7", 1}}));
  EXPECT_TRUE(totals.of(2).empty());
  EXPECT_TRUE(totals.of(4).empty());
}

TEST(PutClientTotals, WhatWasShownWithoutAClientKeepsNone) {
  PutClientTotals totals;
  totals.add(key(0x10, 7), 5, "", false);  // not on any page yet
  totals.add(key(0x10, 8), 5, "", true);
  totals.add(key(0x10, 7), 7, "a", true);
  totals.add(key(0x10, 8), 7, "b", true);
  EXPECT_EQ(totals.of(3),
            (std::vector<ClientPuts>{{0x10, IOCX_PUT_CA, "a", 7}, {0x10, IOCX_PUT_CA, "b", 2}}));
}

TEST(PutClientTotals, AThreadIdThatComesAgainIsAnotherThread) {
  PutClientTotals totals;
  totals.add(key(0x10, 7), 5, "a", true);
  totals.forget(key(0x10, 7));
  totals.add(key(0x10, 7), 2, "b", true);
  EXPECT_EQ(totals.of(3),
            (std::vector<ClientPuts>{{0x10, IOCX_PUT_CA, "a", 5}, {0x10, IOCX_PUT_CA, "b", 2}}));
  totals.add(key(0x10, 7, 4), 1, "c", true);
  totals.forget_slot(3);
  EXPECT_TRUE(totals.of(3).empty());
  EXPECT_EQ(totals.of(4).size(), 1u);
}

TEST(PutClientTotals, OverTheLimitThereIsNoClient) {
  PutClientTotals totals(1);
  totals.add(key(0x10, 7), 5, "a", true);
  totals.add(key(0x10, 8), 3, "b", true);
  totals.add(key(0x10, 7), 6, "a", true);
  EXPECT_EQ(totals.of(3), (std::vector<ClientPuts>{{0x10, IOCX_PUT_CA, "a", 6}}));
  EXPECT_EQ(totals.over_limit(), 3u);
}

}  // namespace

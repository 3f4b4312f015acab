#include "records/probe_seconds.h"

#include <gtest/gtest.h>

namespace ioc_exporter::records {
namespace {

constexpr records::HitCost kCost{1, 10};

TEST(ProbeSeconds, SumsWhatHitsCost) {
  ProbeSeconds seconds;
  EXPECT_EQ(seconds.total(), 0);
  seconds.add({{1, {7, 2}}, {3, {23, 0}}}, kCost);
  EXPECT_EQ(seconds.total(), 7 + 20 + 23);
  seconds.add({{1, {9, 3}}, {3, {23, 0}}}, kCost);
  EXPECT_EQ(seconds.total(), 50 + 2 + 10);
}

TEST(ProbeSeconds, NeverShrink) {
  ProbeSeconds seconds;
  seconds.add({{1, {7, 2}}}, kCost);
  seconds.add({}, kCost);  // the IOC has ended
  EXPECT_EQ(seconds.total(), 27);
  seconds.add({{1, {3, 1}}}, kCost);  // another one has its slot
  EXPECT_EQ(seconds.total(), 27 + 13);
  seconds.add({{1, {1, 0}}}, kCost);  // and another, between two looks
  EXPECT_EQ(seconds.total(), 40 + 1);
}

}  // namespace
}  // namespace ioc_exporter::records

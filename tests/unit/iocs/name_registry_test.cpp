#include "iocs/name_registry.h"

#include <gtest/gtest.h>

namespace ioc_exporter::iocs {
namespace {

TEST(NameRegistry, HolderKeepsItAndALaterOneGetsItsPid) {
  NameRegistry names;
  EXPECT_EQ(names.take("ps", {7, 1}), "ps");
  EXPECT_EQ(names.take("ps", {8, 2}), "ps-8");
  EXPECT_EQ(names.take("ps", {9, 3}), "ps-9");
  names.release("ps");
  EXPECT_EQ(names.take("ps", {10, 4}), "ps");
  names.release("ps-8");
  EXPECT_EQ(names.take("ps", {8, 9}), "ps-8");
}

TEST(NameRegistry, NamesThatLookLikeUniqueOnes) {
  NameRegistry names;
  EXPECT_EQ(names.take("ps-8", {7, 1}), "ps-8");
  EXPECT_EQ(names.take("ps", {3, 1}), "ps");
  EXPECT_EQ(names.take("ps", {8, 2}), "ps-8-8");
}

}  // namespace
}  // namespace ioc_exporter::iocs

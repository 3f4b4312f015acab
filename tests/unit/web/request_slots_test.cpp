#include "web/request_slots.h"

#include <gtest/gtest.h>

#include <list>
#include <string>

namespace ioc_exporter::web {
namespace {

using Kind = RequestSlots::Kind;

using Held = std::list<RequestSlots::Slot>;

int taken(Held& held, RequestSlots& slots, Kind kind, const std::string& holder, int tries) {
  int count = 0;
  for (int i = 0; i < tries; ++i) count += held.emplace_back(slots, kind, holder).has_place();
  return count;
}

TEST(RequestSlots, PagesTakeNoneOfTheScrapes) {
  RequestSlots slots(8);
  Held held;
  EXPECT_EQ(taken(held, slots, Kind::page, "a", 9), 2);
  EXPECT_EQ(taken(held, slots, Kind::page, "b", 9), 2);
  EXPECT_EQ(taken(held, slots, Kind::page, "c", 9), 0);
  EXPECT_EQ(taken(held, slots, Kind::scrape, "a", 9), 4);
  EXPECT_EQ(taken(held, slots, Kind::scrape, "b", 9), 4);
  EXPECT_EQ(taken(held, slots, Kind::scrape, "c", 9), 0);
  held.clear();
  EXPECT_EQ(taken(held, slots, Kind::scrape, "c", 9), 4);
  EXPECT_EQ(taken(held, slots, Kind::page, "c", 9), 2);
}

TEST(RequestSlots, OneOfEachIsAlwaysThere) {
  RequestSlots slots(1);
  Held held;
  EXPECT_EQ(taken(held, slots, Kind::page, "a", 2), 1);
  EXPECT_EQ(taken(held, slots, Kind::scrape, "a", 2), 1);
}

}  // namespace
}  // namespace ioc_exporter::web

// A full queue: which events it drops, and of which client.
#include "delivery/queue.h"

#include <gtest/gtest.h>

namespace ioc_exporter::delivery {
namespace {

using Strings = std::vector<std::string>;

std::map<char, std::size_t> by_owner(const Strings& items) {
  std::map<char, std::size_t> owners;
  for (const std::string& item : items) ++owners[item.front()];
  return owners;
}

TEST(Queue, ASingleProducerMayFillTheQueue) {
  Queue<std::string> queue({.events = 3, .bytes = 1000});
  for (const char* item : {"a1", "a2", "a3"}) EXPECT_EQ(queue.push(item, "a", 10), 0u);
  EXPECT_EQ(queue.push("a4", "a", 10), 1u);
  EXPECT_EQ(queue.take(2), (Strings{"a1", "a2"}));
  EXPECT_EQ(queue.push("a5", "a", 10), 0u);
  EXPECT_EQ(queue.take(9), (Strings{"a3", "a5"}));
}

TEST(Queue, TheNewestItemOfTheLargestOwnerMakesRoomForOthers) {
  Queue<std::string> queue({.events = 4, .bytes = 1000});
  for (const char* item : {"a1", "a2", "a3", "a4"}) queue.push(item, "a", 10);
  EXPECT_EQ(queue.push("b1", "b", 10), 1u);
  EXPECT_EQ(queue.push("a5", "a", 10), 1u);
  EXPECT_EQ(queue.push("b2", "b", 10), 1u);
  EXPECT_EQ(queue.push("b3", "b", 10), 1u);  // it has its half
  EXPECT_EQ(queue.take(9), (Strings{"a1", "a2", "b1", "b2"}));
}

TEST(Queue, AFloodCostsNobodyElseAPlace) {
  Queue<std::string> queue({.events = 1000, .bytes = 1u << 20});
  std::size_t dropped = 0;
  for (int i = 0; i < 5000; ++i) {
    dropped += queue.push("flood", "flood", 100);
    if (i % 100 == 0) dropped += queue.push("quiet", "quiet", 100);
  }
  const auto has = by_owner(queue.take(9999));
  EXPECT_EQ(has.at('q'), 50u);
  EXPECT_EQ(has.at('f'), 950u);
  EXPECT_EQ(dropped, 5050u - 1000u);
}

TEST(Queue, BytesAreSharedToo) {
  Queue<std::string> queue({.events = 1000, .bytes = 1000});
  for (int i = 0; i < 3; ++i) queue.push("a", "a", 300);
  EXPECT_EQ(queue.push("b", "b", 400), 1u);
  EXPECT_EQ(queue.push("b", "b", 200), 1u);   // more than half
  EXPECT_EQ(queue.push("c", "c", 2000), 1u);  // more than all: for it nobody goes
  EXPECT_EQ(by_owner(queue.take(9)), (std::map<char, std::size_t>{{'a', 2}, {'b', 1}}));
  EXPECT_EQ(queue.push("c", "c", 1000), 0u);
}

}  // namespace
}  // namespace ioc_exporter::delivery

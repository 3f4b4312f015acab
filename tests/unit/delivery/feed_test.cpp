// The ring between two processes, and each sink's account.
#include "delivery/feed.h"

#include <gtest/gtest.h>

#include <string>

#include "delivery/sink.h"

namespace ioc_exporter::delivery {
namespace {

// Lengths that are prime to the ring's: items lie across its end.
std::string item(std::size_t number) {
  return std::string(1 + number % 997, static_cast<char>('a' + number % 26)) +
         std::to_string(number);
}

TEST(Feed, GivesEachItemOnceInOrder) {
  Feed feed;
  feed.add_sink("test");
  std::size_t given = 0, taken = 0;
  while (given < 50'000) {  // the ring three times over
    for (std::size_t i = 0; i < 1 + given % 5000; ++i) feed.give(item(given++));
    for (auto one = feed.take(); one; one = feed.take()) ASSERT_EQ(*one, item(taken++));
  }
  EXPECT_EQ(taken, given);
  EXPECT_EQ(feed.samples()[0].dropped.at(kQueueFull), 0u);
}

TEST(Feed, ItemsWithoutRoomAreDroppedAndNoOthers) {
  Feed feed;
  feed.add_sink("test");
  const std::string large(Feed::kBytes / 4, 'x');
  for (int i = 0; i < 5; ++i) feed.give(large);
  SinkSample sample = feed.samples()[0];
  EXPECT_EQ(sample.received, 5u);
  EXPECT_EQ(sample.dropped.at(kQueueFull), 2u);
  EXPECT_EQ(sample.waiting, 3u);
  EXPECT_EQ(feed.take(), large);
  feed.give(large);
  EXPECT_EQ(feed.samples()[0].waiting, 4u);
}

// Three are taken, one of them is delivered, then the process ends: two are lost, two are not.
TEST(Feed, ItemsThatAnEndedProcessHadNotFinishedAreDropped) {
  Feed feed;
  SinkAccount& account = feed.add_sink("test");
  feed.begin();
  for (const char* one : {"1", "2", "3", "4", "5"}) feed.give(one);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(feed.take());
  ++account.delivered;
  feed.begin();
  const SinkSample sample = feed.samples()[0];
  EXPECT_EQ(sample.dropped.at(kRestart), 2u);
  EXPECT_EQ(sample.waiting, 2u);
  while (feed.take()) ++account.delivered;
  feed.begin();
  EXPECT_EQ(feed.samples()[0].dropped.at(kRestart), 2u);
  EXPECT_EQ(feed.samples()[0].waiting, 0u);
}

TEST(Feed, WithoutSinksNothingIsKept) {
  Feed feed;
  feed.give("1");
  EXPECT_FALSE(feed.take());
  EXPECT_TRUE(feed.samples().empty());
}

TEST(Feed, ASinkThatHoldsItemsAndDoesNotGoOnIsNamed) {
  Feed feed;
  SinkAccount& account = feed.add_sink("file");
  account.alive_at = std::chrono::steady_clock::now() - std::chrono::seconds(11);
  EXPECT_EQ(feed.why_stands(), "");
  feed.give("1");
  EXPECT_EQ(feed.why_stands(), "file (1 wait)");
  account.alive_at = std::chrono::steady_clock::now();
  EXPECT_EQ(feed.why_stands(), "");
}

}  // namespace
}  // namespace ioc_exporter::delivery

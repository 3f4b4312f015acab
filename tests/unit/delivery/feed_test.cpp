// The way to the delivery process, and each sink's account.
#include "delivery/feed.h"

#include <gtest/gtest.h>

#include <string>

#include "delivery/sink.h"

namespace ioc_exporter::delivery {
namespace {

using Way = Feed::Way;

// Of all lengths up to some parts of a batch.
std::string item(std::size_t number) {
  const std::size_t length = number % 1009 == 0 ? 150'000 : 1 + number % 997;
  return std::string(length, static_cast<char>('a' + number % 26)) + std::to_string(number);
}

// Gives one at a time, for batches of one.
void give_each(Feed& feed, const std::vector<std::string>& items, Way way = Way::plain) {
  for (const std::string& one : items) {
    feed.give(one, way);
    feed.send();
  }
}

TEST(Feed, GivesEachItemOnceInOrder) {
  Feed feed;
  feed.add_sink("test");
  std::size_t given = 0, taken = 0;
  while (given < 50'000) {
    for (std::size_t i = 0; i < 1 + given % 5000; ++i) feed.give(item(given++));
    for (bool all = false; !all;) {
      all = feed.send();
      for (auto one = feed.take(Way::plain); one; one = feed.take(Way::plain))
        ASSERT_EQ(*one, item(taken++));
    }
  }
  EXPECT_EQ(taken, given);
  EXPECT_EQ(feed.samples()[0].dropped.at(kQueueFull), 0u);
}

// What the sockets do not take waits in the exporter, up to a bound.
TEST(Feed, ItemsWithoutRoomAreDroppedAndNoOthers) {
  Feed feed;
  feed.add_sink("test");
  const std::string large(Feed::kBytes / 4, 'x');
  for (int i = 0; i < 5; ++i) feed.give(large);
  EXPECT_FALSE(feed.send());
  SinkSample sample = feed.samples()[0];
  EXPECT_EQ(sample.received, 5u);
  EXPECT_EQ(sample.dropped.at(kQueueFull), 2u);
  EXPECT_EQ(sample.waiting, 3u);
  std::optional<std::string> one;
  while (!one) {
    one = feed.take(Way::plain);
    feed.send();
  }
  EXPECT_EQ(*one, large);
  feed.give(large);
  EXPECT_EQ(feed.samples()[0].waiting, 4u);
}

TEST(Feed, AFloodTakesNoRoomFromUrgentItems) {
  Feed feed;
  feed.add_sink("test");
  const std::string one(400, 'x');
  while (feed.samples()[0].dropped.at(kQueueFull) < 1000) feed.give(one);
  feed.send();
  for (int i = 0; i < 626; ++i) feed.give("urgent", Way::urgent);
  feed.send();
  EXPECT_EQ(feed.samples()[0].dropped.at(kQueueFull), 1000u);
  for (int i = 0; i < 626; ++i) EXPECT_EQ(feed.take(Way::urgent), "urgent");
  EXPECT_FALSE(feed.take(Way::urgent));
}

// Three of the one kind and one of the other are taken, one of them is delivered, then the process
// ends: three are lost, the others are not.
TEST(Feed, ItemsThatAnEndedProcessHadNotFinishedAreDropped) {
  Feed feed;
  SinkAccount& account = feed.add_sink("test");
  feed.begin();
  give_each(feed, {"1", "2", "3", "4", "5"});
  give_each(feed, {"6", "7"}, Way::urgent);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(feed.take(Way::plain));
  ASSERT_TRUE(feed.take(Way::urgent));
  ++account.delivered;
  feed.begin();
  const SinkSample sample = feed.samples()[0];
  EXPECT_EQ(sample.dropped.at(kRestart), 3u);
  EXPECT_EQ(sample.waiting, 3u);
  for (const Way way : Feed::kWays)
    while (feed.take(way)) ++account.delivered;
  feed.begin();
  EXPECT_EQ(feed.samples()[0].dropped.at(kRestart), 3u);
  EXPECT_EQ(feed.samples()[0].waiting, 0u);
}

// Then the next process has no use for the end of it.
TEST(Feed, AnItemOfWhichAnEndedProcessHadTheBeginIsDroppedAlone) {
  Feed feed;
  SinkAccount& account = feed.add_sink("test");
  feed.begin();
  const std::string large(1u << 20, 'x');
  feed.give(large);
  EXPECT_FALSE(feed.send());
  EXPECT_FALSE(feed.take(Way::plain)) << "its end is not sent yet";
  feed.give("next");
  while (!feed.send()) {
    feed.begin();  // another process, each time
    EXPECT_FALSE(feed.take(Way::plain));
  }
  EXPECT_EQ(feed.take(Way::plain), "next");
  ++account.delivered;
  EXPECT_EQ(feed.samples()[0].dropped.at(kRestart), 1u);
  EXPECT_EQ(feed.samples()[0].waiting, 0u);
}

TEST(Feed, WithoutSinksNothingIsKept) {
  Feed feed;
  give_each(feed, {"1"});
  EXPECT_FALSE(feed.take(Way::plain));
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

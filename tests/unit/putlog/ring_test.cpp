#include "putlog/ring.h"

#include <gtest/gtest.h>

#include <thread>

#include "events.h"

namespace ioc_exporter::putlog {
namespace {

using namespace std::chrono_literals;

constexpr auto kAtOnce = 0ms, kSoon = 10'000ms;

class RingTest : public testing::Test {
 protected:
  void add(std::uint64_t first, std::uint64_t count) {
    std::vector<SharedEvent> some;
    for (PutEvent& one : events(first, count)) {
      one.time += std::chrono::seconds(one.seq);
      if (one.seq % 2 == 0) one.pv = "even";
      some.push_back(shared(std::move(one)));
    }
    ring_.add(some);
  }
  static std::vector<std::uint64_t> numbers(const std::vector<SharedEvent>& found) {
    std::vector<std::uint64_t> all;
    for (const SharedEvent& event : found) all.push_back(event->seq);
    return all;
  }
  static EventFilter even() {
    EventFilter filter;
    filter.pv.include = *Pattern::compile("even");
    return filter;
  }

  using Numbers = std::vector<std::uint64_t>;
  Ring ring_{{.items = 5, .bytes = 1 << 20}};
};

TEST_F(RingTest, KeepsTheNewest) {
  add(1, 3);
  EXPECT_EQ(numbers(*ring_.find({}, {})), (Numbers{1, 2, 3}));
  add(4, 4);
  EXPECT_EQ(numbers(*ring_.find({}, {})), (Numbers{3, 4, 5, 6, 7}));
  EXPECT_EQ(numbers(*ring_.find(even(), {})), (Numbers{4, 6}));
  EXPECT_EQ(numbers(*ring_.find({}, event(0).time + 6s)), (Numbers{6, 7}));
  EXPECT_EQ(numbers(*ring_.find({}, {}, {}, 2)), (Numbers{6, 7}));
  EXPECT_EQ(numbers(*ring_.find({}, {}, event(0).time + 5s, 2)), (Numbers{4, 5}));
}

// A flood of writes inside the IOCs takes no place of a client's put, nor of a forbidden write.
TEST_F(RingTest, WritesInsideHaveAShareOfTheirOwn) {
  Ring ring({.items = 8, .bytes = 1 << 20});
  EventFilter all;
  all.inside = true;
  const auto usual = ring.follow({}, {}, "a"), whole = ring.follow(all, {}, "a");
  EXPECT_FALSE(ring.whole_since({}));
  std::vector<SharedEvent> some;
  for (PutEvent& one : events(1, 40)) {
    one.time += std::chrono::seconds(one.seq);
    one.inside = one.seq % 8 != 0;
    if (one.seq == 17) one.action = "forbidden";
    some.push_back(shared(std::move(one)));
  }
  ring.add(some);
  EXPECT_EQ(numbers(*ring.find({}, {})), (Numbers{8, 16, 17, 24, 32, 40}));
  EXPECT_EQ(numbers(*ring.find(all, {})), (Numbers{8, 16, 17, 24, 32, 38, 39, 40}));
  EXPECT_EQ(numbers(*ring.find(all, {}, {}, 4)), (Numbers{32, 38, 39, 40}));
  EXPECT_EQ(numbers(usual->next(kAtOnce).items), (Numbers{8, 16, 17, 24, 32, 40}));
  EXPECT_EQ(whole->next(kAtOnce).lost, 32u);
  EXPECT_EQ(numbers(whole->next(kAtOnce).items), (Numbers{8, 16, 17, 24, 32, 38, 39, 40}));
  EXPECT_FALSE(ring.whole_since({}));
  EXPECT_EQ(ring.whole_since(all), event(0).time + 38s);
  EXPECT_EQ(ring.sample().delivered, 40u);
}

TEST_F(RingTest, MemoryBoundsItToo) {
  Ring ring({.items = 1000, .bytes = 200'000});
  PutEvent large = event(1);
  large.value = Value{std::vector<Element>(1000, 0.5), true};
  for (int i = 0; i < 50; ++i) ring.add(std::vector{shared(large)});
  const std::size_t kept = ring.find({}, {})->size();
  EXPECT_GE(kept, 1u);
  EXPECT_LT(kept, 10u);
}

TEST_F(RingTest, AFollowerSeesNewItems) {
  add(1, 2);
  const auto follower = ring_.follow({}, {}, "a");
  EXPECT_TRUE(follower->next(kAtOnce).items.empty());
  std::thread adds([this] { add(3, 2); });
  EXPECT_EQ(numbers(follower->next(kSoon).items), (Numbers{3, 4}));
  adds.join();
  EXPECT_TRUE(follower->next(kAtOnce).items.empty());
}

TEST_F(RingTest, AFollowerMayBeginWithOlderItems) {
  add(1, 4);
  const auto follower = ring_.follow(even(), event(0).time + 2s, "a");
  add(5, 2);
  EXPECT_EQ(numbers(follower->next(kAtOnce).items), (Numbers{2, 4, 6}));
}

TEST_F(RingTest, SlowFollowersAreTold) {
  const auto follower = ring_.follow({}, {}, "a");
  add(1, 8);
  const auto news = follower->next(kAtOnce);
  EXPECT_EQ(news.lost, 3u);
  EXPECT_TRUE(news.items.empty());
  EXPECT_EQ(numbers(follower->next(kAtOnce).items), (Numbers{4, 5, 6, 7, 8}));
}

TEST_F(RingTest, NobodyHasAllPlaces) {
  std::vector<std::unique_ptr<Ring::Follower>> all;
  for (std::size_t i = 0; i < delivery::Followers::kMostOfOne; ++i)
    all.push_back(ring_.follow({}, {}, "a"));
  EXPECT_FALSE(ring_.follow({}, {}, "a"));
  for (std::size_t i = all.size(); i < delivery::Followers::kMost; ++i)
    all.push_back(ring_.follow({}, {}, "b" + std::to_string(i)));
  EXPECT_FALSE(ring_.follow({}, {}, "c"));
  EXPECT_EQ(ring_.followers(), delivery::Followers::kMost);
  all.clear();
  EXPECT_EQ(ring_.followers(), 0u);
  EXPECT_TRUE(ring_.follow({}, {}, "a"));
}

TEST_F(RingTest, ItsEndWakesAllFollowers) {
  const auto follower = ring_.follow({}, {}, "a");
  std::thread ends([this] { ring_.end(); });
  EXPECT_TRUE(follower->next(kSoon).ended);
  ends.join();
}

}  // namespace
}  // namespace ioc_exporter::putlog

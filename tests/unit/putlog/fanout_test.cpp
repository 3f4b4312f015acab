// Events go to memory and to each sink.
#include "putlog/outlets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "events.h"
#include "support/delivery_thread.h"

namespace ioc_exporter::putlog {
namespace {

using namespace std::chrono_literals;

// Takes as much as it is allowed to.
class GatedSink : public Sink {
 public:
  struct State {
    std::mutex mutex;
    std::vector<Entry> taken;
    std::size_t may_take = SIZE_MAX;
    std::optional<Error> problem;
    std::uint64_t calls = 0;
  };
  explicit GatedSink(std::shared_ptr<State> state) : state_(std::move(state)) {}

  Delivered deliver(std::span<const Entry> entries) override {
    const std::scoped_lock lock(state_->mutex);
    ++state_->calls;
    const std::size_t count = std::min(entries.size(), state_->may_take);
    state_->taken.insert(state_->taken.end(), entries.begin(),
                         entries.begin() + static_cast<std::ptrdiff_t>(count));
    if (state_->may_take != SIZE_MAX) state_->may_take -= count;
    return {count, count == entries.size() ? std::nullopt : state_->problem};
  }

 private:
  std::shared_ptr<State> state_;
};

using StateOfSink = std::shared_ptr<GatedSink::State>;

SinkSetup setup(const std::string& name, const StateOfSink& state) {
  SinkSetup setup;
  setup.name = name;
  setup.window = 0ms;
  setup.sink = std::make_unique<GatedSink>(state);
  return setup;
}

std::uint64_t dropped(const SinkSample& sample) {
  std::uint64_t all = 0;
  for (const auto& [reason, count] : sample.dropped) all += count;
  return all;
}

void wait_until(const std::function<bool()>& done) {
  for (int i = 0; i < 6000 && !done(); ++i) std::this_thread::sleep_for(10ms);
  EXPECT_TRUE(done());
}

class Fanout : public Outlets {
 public:
  Fanout(Privacy privacy, std::vector<SinkSetup> sinks) : Outlets(std::move(privacy), {}) {
    for (SinkSetup& sink : sinks) add(std::move(sink));
    here_.emplace(std::vector<delivery::Cargo*>{this});
  }

 private:
  std::optional<delivery::DeliveryThread> here_;
};

class FanoutTest : public testing::Test {
 protected:
  StateOfSink open_ = std::make_shared<GatedSink::State>();
  StateOfSink shut_ = std::make_shared<GatedSink::State>();
  std::vector<SinkSetup> sinks_;
};

TEST_F(FanoutTest, EachSinkGetsItsSelectionInOrder) {
  sinks_.push_back(setup("all", open_));
  sinks_.push_back(setup("some", shut_));
  sinks_.back().filter.pv.include = *Pattern::compile("B");
  Fanout fanout(Privacy(), std::move(sinks_));
  std::vector<PutEvent> some = events(1, 3);
  some[1].pv = "B";
  fanout.receive(some);
  wait_until(
      [&] { return fanout.samples()[0].delivered == 3 && fanout.samples()[1].delivered == 1; });
  ASSERT_EQ(open_->taken.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(*open_->taken[i].event, some[i]);
  EXPECT_EQ(shut_->taken.at(0).event->seq, 2u);
  EXPECT_EQ(fanout.samples()[1].filtered, 2u);
  EXPECT_EQ(fanout.ring()->find({}, {})->size(), 3u);
}

TEST_F(FanoutTest, ASinkThatTakesNothingCostsItsOwnQueueAndEachPutIsAccountedFor) {
  shut_->may_take = 0;
  sinks_.push_back(setup("shut", shut_));
  sinks_.back().queue.events = 50;
  sinks_.push_back(setup("open", open_));
  sinks_.back().queue.events = 1'000'000;
  Fanout fanout(Privacy(), std::move(sinks_));
  constexpr std::uint64_t kPuts = 5000;
  for (std::uint64_t i = 0; i < kPuts; i += 10) fanout.receive(events(i + 1, 10));
  wait_until([&] {
    fanout.receive({});  // as the reader of the ring does: what waited for its socket goes on
    return fanout.samples()[1].delivered == kPuts;
  });
  const SinkSample shut = fanout.samples()[0];
  EXPECT_EQ(shut.received, kPuts);
  EXPECT_EQ(shut.delivered, 0u);
  EXPECT_EQ(shut.waiting + dropped(shut), kPuts);
  EXPECT_LE(shut.waiting, 50u + 1024u);  // in the queue, and in the sink's hands
  EXPECT_GT(dropped(shut), 0u);
  {
    const std::scoped_lock lock(shut_->mutex);
    shut_->may_take = SIZE_MAX;
  }
  wait_until([&] { return fanout.samples()[0].waiting == 0; });
  const SinkSample after = fanout.samples()[0];
  EXPECT_EQ(after.delivered + dropped(after), kPuts);
  EXPECT_EQ(shut_->taken.size(), after.delivered);
}

TEST_F(FanoutTest, MemoryBoundsAQueueToo) {
  shut_->may_take = 0;
  sinks_.push_back(setup("shut", shut_));
  sinks_.back().queue.bytes = 1 << 20;
  Fanout fanout(Privacy(), std::move(sinks_));
  std::vector<PutEvent> large = events(1, 1);
  large[0].value = Value{std::vector<Element>(10'000, 0.5), true};
  for (int i = 0; i < 100; ++i) fanout.receive(large);
  wait_until([&] {
    fanout.receive({});
    return dropped(fanout.samples()[0]) > 90;
  });
  const SinkSample sample = fanout.samples()[0];
  EXPECT_EQ(sample.waiting + dropped(sample), 100u);
}

TEST_F(FanoutTest, UndeliveredItemsAreTriedAgain) {
  shut_->may_take = 2;
  shut_->problem = error_in_words("the disk is full");
  sinks_.push_back(setup("shut", shut_));
  Fanout fanout(Privacy(), std::move(sinks_));
  fanout.receive(events(1, 7));
  wait_until([&] { return fanout.samples()[0].failures >= 2; });
  EXPECT_EQ(fanout.samples()[0].delivered, 2u);
  {
    const std::scoped_lock lock(shut_->mutex);
    shut_->may_take = SIZE_MAX;
  }
  wait_until([&] { return fanout.samples()[0].delivered == 7; });
  for (std::size_t i = 0; i < 7; ++i) EXPECT_EQ(shut_->taken[i].event->seq, i + 1);  // once
}

TEST_F(FanoutTest, AtTheEndWaitingItemsAndBurstsAreDelivered) {
  sinks_.push_back(setup("open", open_));
  sinks_.back().window = 1h;
  {
    Fanout fanout(Privacy(), std::move(sinks_));
    fanout.receive(events(1, 23));
    wait_until([&] { return fanout.samples()[0].delivered == 1; });
    EXPECT_EQ(fanout.samples()[0].waiting, 22u);
  }
  ASSERT_EQ(open_->taken.size(), 2u);
  EXPECT_EQ(open_->taken[1].puts, 22u);
  EXPECT_EQ(open_->taken[1].event->seq, 23u);
}

TEST_F(FanoutTest, ABurstEndsWithoutMorePuts) {
  sinks_.push_back(setup("open", open_));
  sinks_.back().window = 50ms;
  Fanout fanout(Privacy(), std::move(sinks_));
  fanout.receive(events(1, 23));
  wait_until([&] { return fanout.samples()[0].delivered == 23; });
}

TEST_F(FanoutTest, PrivateValuesAreHiddenFromAll) {
  sinks_.push_back(setup("open", open_));
  Fanout fanout(Privacy(*Pattern::compile(".*:Secret"), "0123456789abcdef"), std::move(sinks_));
  std::vector<PutEvent> two = {event(1, "SR:Secret"), event(2)};
  two[0].old = scalar(2.0);
  fanout.receive(two);
  wait_until([&] { return fanout.samples()[0].delivered == 2; });
  const auto kept = *fanout.ring()->find({}, {});
  const PutEvent& first = *open_->taken[0].event;
  EXPECT_EQ(first, *kept[0]);
  EXPECT_EQ(first.value, scalar(std::string("***")));
  EXPECT_EQ(first.old, scalar(std::string("***")));
  EXPECT_EQ(open_->taken[1].event->value, scalar(1.5));
  // printf ada | openssl dgst -sha256 -hmac 0123456789abcdef
  EXPECT_EQ(first.user, "sha256:83eeb38e004a2953");
  EXPECT_EQ(kept[1]->user, first.user);
}

TEST(PutPrivacy, NoSpellingOfAPvShowsItsValues) {
  Privacy privacy(*Pattern::compile(".*:Secret"));
  for (const char* pv :
       {"SR:Secret", "SR:Secret.VAL", "SR:Secret.VAL$", "SR:Secret.{\"ts\":{}}", ""}) {
    PutEvent one = event(1, pv);
    privacy.apply(one);
    EXPECT_EQ(one.value, scalar(std::string("***"))) << pv;
  }
  PutEvent other = event(1, "SR:Secret.DESC");
  privacy.apply(other);
  EXPECT_EQ(other.value, scalar(1.5));
}

TEST(PutPrivacy, AGroupShowsNoHiddenField) {
  Privacy privacy(*Pattern::compile(".*:Secret"));
  const auto hidden = std::optional(scalar(std::string("***"))), shown = std::optional(scalar(1.5));
  for (const char* group : {"SR:Group", "SR:Secret"}) {
    PutEvent one = event(1, group);
    one.fields = {{"SR:Secret.VAL", "DBR_DOUBLE", 1, shown, shown},
                  {"SR:Q.VAL", "DBR_DOUBLE", 1, shown, shown}};
    privacy.apply(one);
    EXPECT_TRUE(one.fields[0].value == hidden && one.fields[0].old == hidden) << group;
    const auto& other = group == std::string("SR:Group") ? shown : hidden;
    EXPECT_TRUE(one.fields[1].value == other && one.fields[1].old == other) << group;
  }
}

}  // namespace
}  // namespace ioc_exporter::putlog

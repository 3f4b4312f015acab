#include "putlog/bursts.h"

#include <gtest/gtest.h>

#include <cmath>

#include "events.h"
#include "support/value_of.h"

namespace ioc_exporter::putlog {
namespace {

using namespace std::chrono_literals;

class BurstsTest : public testing::Test {
 protected:
  static constexpr std::size_t kMost = 5;

  std::vector<Entry> take(PutEvent event) {
    std::vector<Entry> told;
    bursts_.take(shared(std::move(event)), now_, told);
    return told;
  }
  std::vector<Entry> end_due() {
    std::vector<Entry> told;
    bursts_.end_due(now_, told);
    return told;
  }

  Bursts bursts_{5s, kMost};

  Bursts::Clock::time_point now_{1000s};
};

TEST_F(BurstsTest, TheFirstIsToldAtOnceAndTheRestWhenTheTimeEnds) {
  PutEvent first = event(1, "A", 5.0);
  first.old = scalar(4.0);
  const auto at_once = take(first);
  EXPECT_EQ(*only(at_once).event, first);
  EXPECT_FALSE(only(at_once).burst);
  for (const auto& [seq, value, old] : {std::tuple{2, 7.0, 5.0}, {3, -1.0, 7.0}, {4, 2.0, -1.0}}) {
    PutEvent more = event(static_cast<std::uint64_t>(seq), "A", value);
    more.old = scalar(old);
    EXPECT_TRUE(take(more).empty());
  }
  EXPECT_EQ(bursts_.held(), 3u);
  now_ += 4999ms;
  EXPECT_TRUE(end_due().empty());
  now_ += 1ms;
  ASSERT_EQ(bursts_.next_due(), now_);
  const auto told = end_due();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].puts, 3u);
  EXPECT_EQ(told[0].event->seq, 4u);
  EXPECT_EQ(told[0].event->value, scalar(2.0));
  EXPECT_EQ(told[0].event->old, scalar(5.0));  // before the first that was put together
  EXPECT_EQ(told[0].burst, (Burst{Element(-1.0), Element(7.0)}));
  EXPECT_EQ(bursts_.held(), 0u);
}

// Whatever a member held between two others is told.
TEST_F(BurstsTest, PutsToGroupsAreToldEach) {
  const auto group = [](std::uint64_t seq, double value, double old) {
    PutEvent put = event(seq, "G");
    put.value.reset();
    put.fields = {{"x.VAL", "DBR_DOUBLE", 1, scalar(value), scalar(old)}};
    return put;
  };
  for (const auto& put : {group(1, 5, 4), group(2, 999, 5), group(3, 5, 999)}) {
    const auto told = take(put);
    EXPECT_EQ(*only(told).event, put);
    EXPECT_FALSE(only(told).burst);
  }
  EXPECT_EQ(bursts_.held(), 0u);
}

TEST_F(BurstsTest, LongBurstsAreToldOnceAWindowAndQuietOnesBeginAnew) {
  EXPECT_EQ(take(event(1)).size(), 1u);
  EXPECT_TRUE(take(event(2)).empty());
  now_ += 5s;
  EXPECT_EQ(take(event(3)).size(), 1u);  // the second, alone: as it is
  now_ += 5s;
  const auto third = end_due();
  EXPECT_EQ(only(third).event->seq, 3u);
  EXPECT_FALSE(only(third).burst);
  now_ += 5s;
  EXPECT_TRUE(end_due().empty());
  EXPECT_FALSE(bursts_.next_due());
  EXPECT_EQ(take(event(4)).size(), 1u);  // at once again
}

TEST_F(BurstsTest, DifferentPutsAreDifferentBursts) {
  EXPECT_EQ(take(event(1)).size(), 1u);
  for (const auto& [text, other] : {std::pair{&PutEvent::action, "forbidden"},
                                    {&PutEvent::status, "put_failed"},
                                    {&PutEvent::user, "bob"},
                                    {&PutEvent::client, "10.0.0.8:4711"}}) {
    PutEvent one = event(2);
    one.*text = other;
    EXPECT_EQ(take(one).size(), 1u) << other;
  }
  PutEvent one = event(3);
  one.client = "10.0.0.7:9";  // the same client, connected anew
  EXPECT_TRUE(take(one).empty());
}

TEST_F(BurstsTest, ArraysHaveNoLeastAndGreatest) {
  for (const std::uint64_t seq : {1u, 2u, 3u}) {
    PutEvent one = event(seq, "A");
    one.value = Value{{static_cast<double>(seq)}, true};
    take(one);
  }
  now_ += 5s;
  const auto told = end_due();
  EXPECT_EQ(only(told).burst, Burst());
  EXPECT_EQ(only(told).puts, 2u);
}

// A valve is opened and closed again at once: that it was open is told.
TEST_F(BurstsTest, NoTextAndNoNanIsHiddenBetweenOthers) {
  take(event(1, "A", std::string("Closed")));
  EXPECT_EQ(take(event(2, "A", std::string("Open"))).size(), 1u);
  EXPECT_TRUE(take(event(3, "A", std::string("Closed"))).empty());
  take(event(4, "B", 1.0));
  EXPECT_EQ(take(event(5, "B", std::nan(""))).size(), 1u);
  EXPECT_TRUE(take(event(6, "B", 1.0)).empty());
}

// As caput sends them.
TEST_F(BurstsTest, NumbersInTextsHaveALeastAndAGreatest) {
  for (const auto& [seq, text] : {std::pair{1u, "1"}, {2u, "1"}, {3u, "999"}, {4u, "1"}})
    take(event(seq, "A", std::string(text)));
  now_ += 5s;
  const auto told = end_due();
  EXPECT_EQ(only(told).puts, 3u);
  EXPECT_EQ(only(told).burst, (Burst{Element(1.0), Element(999.0)}));
}

TEST(Bursts, TakeSoMuchMemory) {
  constexpr std::size_t kBytes = 100'000;
  Bursts bursts(5s, 4096, kBytes);
  std::vector<Entry> told;
  std::uint64_t puts = 0;
  for (std::uint64_t seq = 1; seq <= 40; ++seq) {
    PutEvent one = event(seq, "P" + std::to_string(seq / 2));
    one.value = Value{std::vector<Element>(500, Element(1.0)), true};  // 20 kB
    bursts.take(shared(one), Bursts::Clock::time_point(1000s), told);
  }
  for (const Entry& entry : told) puts += entry.puts;
  EXPECT_EQ(puts + bursts.held(), 40u);
  EXPECT_LE(bursts.held(), 5u);
}

TEST_F(BurstsTest, AtTheLimitTheOldestBurstEndsEarlyAndNothingIsLost) {
  std::uint64_t told = 0, seq = 0;
  for (int round = 0; round < 4; ++round)
    for (const char* pv : {"A", "B", "C", "D", "E", "F", "G", "G"})
      for (const Entry& entry : take(event(++seq, pv))) told += entry.puts;
  EXPECT_EQ(told + bursts_.held(), seq);
  std::vector<Entry> rest;
  bursts_.end_all(rest);
  for (const Entry& entry : rest) told += entry.puts;
  EXPECT_EQ(told, seq);
  EXPECT_EQ(bursts_.held(), 0u);
}

TEST_F(BurstsTest, WithoutABurstTimeEachIsTold) {
  Bursts none(0s);
  std::vector<Entry> told;
  for (std::uint64_t seq = 1; seq <= 23; ++seq) none.take(shared(event(seq)), now_, told);
  EXPECT_EQ(told.size(), 23u);
}

}  // namespace
}  // namespace ioc_exporter::putlog

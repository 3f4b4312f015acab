#include "policy/scrapers.h"

#include <gtest/gtest.h>

#include <chrono>

namespace ioc_exporter::policy {
namespace {

using namespace std::chrono_literals;

constexpr auto kLongest = 60s;

class ScrapersTest : public testing::Test {
 protected:
  // Look `look` is served `after` the exporter began to listen.
  void serve(const std::string& who, std::uint64_t look, std::chrono::milliseconds after) {
    scrapers_.served(who, true, look, start_ + after);
  }
  std::uint64_t all_saw(std::chrono::milliseconds after) {
    return scrapers_.all_saw(kLongest, start_ + after);
  }

  const Scrapers::Clock::time_point start_{1000h};
  Scrapers scrapers_{start_};
};

TEST_F(ScrapersTest, NobodySawAnythingAtFirst) {
  EXPECT_EQ(all_saw(0s), 0u);
  EXPECT_EQ(all_saw(1h), 0u);
}

// One that comes every minute is known after a minute only.
TEST_F(ScrapersTest, InTheFirstIntervalSomebodyMayBeMissing) {
  for (unsigned i = 1; i <= 4; ++i) serve("a", i, i * 15s);
  EXPECT_EQ(all_saw(61s), 0u);
  serve("b", 5, 62s);
  serve("a", 6, 75s);
  EXPECT_EQ(all_saw(76s), 5u);
}

TEST_F(ScrapersTest, TheSlowestIsWaitedFor) {
  for (unsigned i = 0; i <= 40; ++i) serve("fast", 100 + i, i * 5s);
  serve("slow", 101, 50s);
  serve("slow", 120, 110s);
  EXPECT_EQ(all_saw(200s), 120u);
  serve("slow", 141, 201s);
  EXPECT_EQ(all_saw(202s), 140u);
}

TEST_F(ScrapersTest, OneThatStaysAwayIsForgotten) {
  for (unsigned i = 0; i <= 20; ++i) serve("here", 1 + i, i * 15s);
  serve("gone", 5, 61s);
  EXPECT_EQ(all_saw(190s), 5u);
  EXPECT_EQ(all_saw(300s), 21u);
  EXPECT_EQ(all_saw(300s + 133s), 0u);  // all stay away
}

TEST_F(ScrapersTest, WhoIsNoPrometheusIsNotWaitedForWhenThereIsOne) {
  scrapers_.served("browser", false, 3, start_ + 70s);
  EXPECT_EQ(all_saw(71s), 3u);
  serve("prometheus", 4, 75s);
  serve("prometheus", 5, 90s);
  EXPECT_EQ(all_saw(91s), 5u);
  scrapers_.served("", true, 1, start_ + 91s);
  EXPECT_EQ(all_saw(91s), 5u);
}

// Two servers that look alike come in uneven steps. Each has seen what one of them was served at
// least an interval ago.
TEST_F(ScrapersTest, ServersThatLookAlikeAreTakenApartByTheirSteps) {
  for (unsigned i = 0; i < 10; ++i) {
    serve("alike", 10 + 2 * i, i * 15s);
    serve("alike", 11 + 2 * i, i * 15s + 4s);
  }
  // The last answers: look 28 at 135 s, 29 at 139 s. 66 s before 140 s was look 18, at 60 s, and
  // 19 at 64 s.
  EXPECT_EQ(all_saw(140s), 19u);
}

TEST_F(ScrapersTest, AMissedScrapeMakesNoSecondServer) {
  for (unsigned i = 0; i < 10; ++i)
    if (i != 4 && i != 5) serve("one", 1 + i, i * 15s + (i % 3) * 40ms);
  EXPECT_EQ(all_saw(140s), 10u);
}

TEST_F(ScrapersTest, AnAnswerWithAnEarlierLookTakesNothingBack) {
  serve("a", 7, 70s);
  serve("a", 6, 85s);
  EXPECT_EQ(all_saw(90s), 7u);
}

TEST_F(ScrapersTest, TooManyAreNotKept) {
  for (unsigned i = 0; i < 1000; ++i) serve("client " + std::to_string(i), 1 + i, 70s + i * 1ms);
  EXPECT_EQ(all_saw(72s), 745u);  // the last 256
}

}  // namespace
}  // namespace ioc_exporter::policy

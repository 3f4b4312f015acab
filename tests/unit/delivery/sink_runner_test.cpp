// Answers of receivers that say when to go on; the rest: putlog's tests of its sinks.
#include "delivery/sink_runner.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

#include "number_kind.h"

namespace ioc_exporter::delivery {
namespace {

using namespace std::chrono_literals;

class SinkRunnerTest : public testing::Test {
 protected:
  void start(Answering answer) {
    runner_ = std::make_unique<SinkRunner<NumberKind>>(setup_of(std::move(answer)), account_);
    runner_->start();
  }
  void send(int from, int to) {
    const auto items = numbers(from, to);
    sent_ += items.size();
    runner_->receive(items);
  }
  void wait_until_none_waits() const {
    for (int i = 0; i < 6000 && account_.done() < sent_; ++i) std::this_thread::sleep_for(10ms);
    EXPECT_EQ(account_.done(), sent_);
  }

  std::uint64_t sent_ = 0;
  SinkAccount account_;
  std::unique_ptr<SinkRunner<NumberKind>> runner_;
};

// By its own patience, some are refused in part one after the other would take minutes.
TEST_F(SinkRunnerTest, AReceiverThatRefusesSomeIsGivenTheOthersAtOnce) {
  start([](std::span<const NumberKind::Entry> entries) {
    Delivered done;
    done.entries = 1;
    done.refused = std::min<std::size_t>(entries.size() - 1, 1);
    done.problem = error_in_words("one was refused");
    done.pause = 0ms;
    return done;
  });
  send(1, 200);
  wait_until_none_waits();
  EXPECT_EQ(account_.filtered, 100u);
  EXPECT_EQ(account_.delivered, 50u);
  EXPECT_EQ(account_.refused, 50u);
  EXPECT_EQ(account_.failures, 50u);
}

// The same: twenty pauses, each twice as long as the one before.
TEST_F(SinkRunnerTest, TheReceiverSaysHowLongToWait) {
  start([calls = 0](std::span<const NumberKind::Entry> entries) mutable {
    Delivered done;
    if (++calls > 20) {
      done.entries = entries.size();
      return done;
    }
    done.problem = error_in_words("busy");
    done.pause = 1ms;
    return done;
  });
  send(1, 9);
  wait_until_none_waits();
  EXPECT_EQ(account_.delivered, 5u);
  EXPECT_EQ(account_.failures, 20u);
}

TEST_F(SinkRunnerTest, AtTheEndOneThatWasToldToWaitIsAskedOnceMore) {
  auto calls = std::make_shared<std::atomic<int>>(0);
  start([calls](std::span<const NumberKind::Entry> entries) {
    if (++*calls > 1) return Delivered{.entries = entries.size()};
    return Delivered{.problem = error_in_words("busy"), .pause = 1h};
  });
  send(1, 9);
  for (int i = 0; i < 6000 && *calls == 0; ++i) std::this_thread::sleep_for(10ms);
  runner_.reset();
  EXPECT_EQ(*calls, 2);
}

}  // namespace
}  // namespace ioc_exporter::delivery

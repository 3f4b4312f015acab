// Answers of receivers that say when to go on; the rest: putlog's tests of its sinks.
#include "delivery/sink_runner.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "delivery/receiver.h"

namespace ioc_exporter::delivery {
namespace {

using namespace std::chrono_literals;

struct NumberKind {
  using Item = std::shared_ptr<const int>;
  using Entry = Item;
  struct Filter {
    bool wants(int number) const { return number % 2 == 1; }
  };
  struct Stage {  // nothing waits
    using Time = std::chrono::steady_clock::time_point;
    explicit Stage(std::chrono::milliseconds) {}
    void take(Item item, Time, std::vector<Item>& out) { out.push_back(std::move(item)); }
    void end_due(Time, std::vector<Item>&) {}
    void end_all(std::vector<Item>&) {}
    std::optional<Time> next_due() const { return {}; }
  };
  static std::size_t bytes(int) { return 100; }
  static std::string_view owner(int) { return "one"; }
  static std::uint64_t weight(const Item&) { return 1; }
  static constexpr const char* kLog = "numbers";
  static constexpr const char* kItems = "numbers";
};

using Answer = std::function<Delivered(std::span<const NumberKind::Entry>)>;

class Answers : public Sink<NumberKind::Entry> {
 public:
  explicit Answers(Answer answer) : answer_(std::move(answer)) {}
  Delivered deliver(std::span<const NumberKind::Entry> entries) override {
    return answer_(entries);
  }

 private:
  const Answer answer_;
};

class SinkRunnerTest : public testing::Test {
 protected:
  void start(Answer answer) {
    SinkSetup<NumberKind> setup;
    setup.name = "test";
    setup.sink = std::make_unique<Answers>(std::move(answer));
    runner_ = std::make_unique<SinkRunner<NumberKind>>(std::move(setup));
  }
  void send(int from, int to) {
    std::vector<NumberKind::Item> items;
    for (int i = from; i <= to; ++i) items.push_back(std::make_shared<const int>(i));
    runner_->receive(items);
  }
  SinkSample wait_until_none_waits() {
    for (int i = 0; i < 3000 && runner_->sample().waiting > 0; ++i)
      std::this_thread::sleep_for(10ms);
    EXPECT_EQ(runner_->sample().waiting, 0u);
    return runner_->sample();
  }

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
  const SinkSample sample = wait_until_none_waits();
  EXPECT_EQ(sample.received, 200u);
  EXPECT_EQ(sample.filtered, 100u);
  EXPECT_EQ(sample.delivered, 50u);
  EXPECT_EQ(sample.dropped.at(kRefused), 50u);
  EXPECT_EQ(sample.failures, 50u);
  EXPECT_EQ(sample.problem, "one was refused");
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
  const SinkSample sample = wait_until_none_waits();
  EXPECT_EQ(sample.delivered, 5u);
  EXPECT_EQ(sample.failures, 20u);
  EXPECT_EQ(sample.problem, "");
}

TEST_F(SinkRunnerTest, AtTheEndOneThatWasToldToWaitIsAskedOnceMore) {
  auto calls = std::make_shared<std::atomic<int>>(0);
  start([calls](std::span<const NumberKind::Entry> entries) {
    if (++*calls > 1) return Delivered{.entries = entries.size()};
    return Delivered{.problem = error_in_words("busy"), .pause = 1h};
  });
  send(1, 9);
  for (int i = 0; i < 3000 && *calls == 0; ++i) std::this_thread::sleep_for(10ms);
  runner_.reset();
  EXPECT_EQ(*calls, 2);
}

// Each has a listener that accepts and says nothing: one request under way, and more that waits.
TEST_F(SinkRunnerTest, AllThatAreSilentEndTogether) {
  const UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(listener.get(), 16), 0);
  ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size);
  const std::string url = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/";
  std::atomic<int> calls = 0;
  std::vector<std::unique_ptr<SinkRunner<NumberKind>>> runners;
  for (int i = 0; i < 4; ++i) {
    start([&](std::span<const NumberKind::Entry>) {
      ++calls;
      return push({{url, "text/plain", "x", {}, {}}, 1, "push"});
    });
    send(1, 9);
    runners.push_back(std::move(runner_));
  }
  for (int i = 0; i < 3000 && calls < 4; ++i) std::this_thread::sleep_for(10ms);
  const auto begun = std::chrono::steady_clock::now();
  for (const auto& runner : runners) runner->begin_end();
  runners.clear();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 4s);
}

}  // namespace
}  // namespace ioc_exporter::delivery

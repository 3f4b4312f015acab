// The process that delivers: what becomes of items when it hangs or ends.
#include "delivery/process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <thread>

#include "delivery/outlets.h"
#include "number_kind.h"

namespace ioc_exporter::delivery {
namespace {

using namespace std::chrono_literals;

class DeliveryProcess : public testing::Test {
 protected:
  // Shared by the process and the test.
  struct Shared {
    std::atomic<pid_t> pid = 0, keeper = 0;
    std::atomic<bool> takes = true, starts = true;
    std::atomic<std::uint64_t> told = 0;
  };

  void SetUp() override {
    outlets_.add(setup_of([this](std::span<const NumberKind::Entry> entries) -> Delivered {
      shared_->pid = ::getpid();
      if (!shared_->takes) return {};
      shared_->told += entries.size();
      return {.entries = entries.size()};
    }));
  }
  void start() {
    auto process = Process::start({.cargo = {&outlets_},
                                   .confine_keeper = [] { return Result<void>(); },
                                   .confine = [this]() -> Result<void> {
                                     shared_->keeper = ::getppid();
                                     if (shared_->starts) return {};
                                     return error_in_words("not now");
                                   }});
    ASSERT_TRUE(process) << process.error().message();
    process_ = std::move(*process);
  }
  SinkSample sample() const { return outlets_.sink_samples()[0]; }
  static void wait_until(const std::function<bool()>& done) {
    for (int i = 0; i < 6000 && !done(); ++i) std::this_thread::sleep_for(10ms);
    EXPECT_TRUE(done());
  }

  static void wait_until_gone(pid_t pid) {
    wait_until([=] {
      ::waitpid(pid, nullptr, WNOHANG);
      return ::kill(pid, 0) != 0;
    });
  }

  const SharedMemory<Shared> shared_ = make_shared_memory<Shared>();
  Outlets<NumberKind> outlets_;
  std::unique_ptr<Process> process_;
};

TEST_F(DeliveryProcess, OneThatIsKilledIsStartedAgainAndEachItemIsAccountedFor) {
  start();
  outlets_.give(numbers(1, 200));
  wait_until([this] { return sample().waiting == 0; });
  EXPECT_EQ(sample().delivered, 100u);
  EXPECT_EQ(sample().filtered, 100u);
  shared_->takes = false;
  outlets_.give(numbers(1, 20));
  wait_until([this] { return sample().filtered == 110; });
  ASSERT_EQ(::kill(shared_->pid, SIGKILL), 0);
  outlets_.give(numbers(1, 40));  // while there is none
  shared_->takes = true;
  wait_until([this] { return sample().waiting == 0; });
  EXPECT_EQ(process_->restarts(), 1u);
  EXPECT_EQ(sample().received, 260u);
  EXPECT_EQ(sample().delivered, 120u);
  EXPECT_EQ(sample().filtered, 130u);
  EXPECT_EQ(sample().dropped.at(kRestart), 10u);
  EXPECT_EQ(shared_->told, 120u);
}

TEST_F(DeliveryProcess, AtTheEndItGetsTheWaitingItems) {
  start();
  outlets_.give(numbers(1, 2000));
  process_.reset();
  EXPECT_EQ(shared_->told, 1000u);
}

TEST_F(DeliveryProcess, OneThatHangsCostsItemsAndIsEnded) {
  start();
  outlets_.give(numbers(1, 2));
  wait_until([this] { return sample().waiting == 0; });
  ASSERT_EQ(::kill(shared_->pid, SIGSTOP), 0);
  std::vector<NumberKind::Item> many = numbers(1, 1000);
  for (int i = 0; i < 1000; ++i) outlets_.give(many);
  EXPECT_EQ(sample().received, 1'000'002u);
  EXPECT_GT(sample().dropped.at(kQueueFull), 0u);
  EXPECT_EQ(sample().waiting + sample().dropped.at(kQueueFull), 1'000'000u);
  process_.reset();
  wait_until_gone(shared_->pid);
  wait_until_gone(shared_->keeper);
}

TEST_F(DeliveryProcess, OneThatDoesNotStartIsTriedLessAndLessOftenAndNotWithoutTheExporter) {
  start();
  outlets_.give(numbers(1, 2));
  wait_until([this] { return sample().waiting == 0; });
  shared_->starts = false;
  const auto killed = std::chrono::steady_clock::now();
  ASSERT_EQ(::kill(shared_->pid, SIGKILL), 0);
  wait_until([this] { return process_->restarts() >= 2; });
  EXPECT_GE(std::chrono::steady_clock::now() - killed, 3s) << "after one second and after two more";
  process_.reset();
  wait_until([this] { return ::waitpid(shared_->keeper, nullptr, WNOHANG) != 0; });
}

TEST_F(DeliveryProcess, ALostKeeperIsNoticed) {
  start();
  outlets_.give(numbers(1, 2));
  wait_until([this] { return sample().waiting == 0; });
  EXPECT_TRUE(process_->kept());
  ASSERT_EQ(::kill(shared_->keeper, SIGKILL), 0);
  wait_until([this] { return !process_->kept(); });
}

}  // namespace
}  // namespace ioc_exporter::delivery

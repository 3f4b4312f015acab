// The cost of a probe's hit, measured on a child process.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "records/hit_cost.h"
#include "records/hit_target.h"

namespace ioc_exporter::records {
namespace {

TEST(HitTarget, CallsAreCountedExactly) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  auto child = HitTarget::start();
  ASSERT_TRUE(child) << child.error().message();
  auto records = RecordProcess::start({});
  ASSERT_TRUE(records) << records.error().message();
  const auto target = child->target();
  ASSERT_TRUE(target) << target.error().message();
  auto slot = records->watch(*target);
  ASSERT_TRUE(slot) << slot.error().message();
  auto seconds = child->call(23 * 64);
  ASSERT_TRUE(seconds) << seconds.error().message();
  auto counted = records->collect(*slot);
  ASSERT_TRUE(counted) << counted.error().message();
  EXPECT_EQ(counted->size(), 64u);
  for (const RawRecord& record : *counted) {
    std::uint64_t calls = record.stats.untimed;
    for (const std::uint64_t bucket : record.stats.buckets) calls += bucket;
    EXPECT_EQ(calls, 23u);
    EXPECT_EQ(record.stats.skipped_active + record.stats.skipped_disabled, 0u);
  }
}

void expect_measured(const records::RecordProcessOptions& options) {
  auto records = RecordProcess::start(options);
  ASSERT_TRUE(records) << records.error().message();
  auto cost = measure_hit_cost(*records);
  ASSERT_TRUE(cost) << cost.error().message();
  EXPECT_GT(cost->entry_seconds, 0);
  EXPECT_GT(cost->return_seconds, 0);
  EXPECT_EQ(records->use()->attachments, 0u);
}

TEST(HitCost, IsMeasuredWhereEveryCallIsTimed) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  expect_measured({});
}

TEST(HitCost, IsMeasuredWhereSomeCallsAreTimed) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  records::RecordProcessOptions options;
  options.timed_rate = 100;
  expect_measured(options);
  options.timed_rate = 1;
  expect_measured(options);
}

// More processes than CPUs, of higher priority, that wake up all the time: what they do to the
// clock is not the probe's cost.
class BusyHost {
 public:
  BusyHost() {
    const long cpus = ::sysconf(_SC_NPROCESSORS_ONLN);
    for (long i = 0; i < 3 * cpus; ++i) {
      const pid_t pid = ::fork();
      if (pid == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        ::setpriority(PRIO_PROCESS, 0, -20);
        for (;;) {
          for (int spin = 0; spin < 100'000; ++spin) asm volatile("" ::: "memory");
          ::usleep(50);
        }
      }
      busy_.push_back(pid);
    }
  }
  ~BusyHost() {
    for (const pid_t pid : busy_) ::kill(pid, SIGKILL);
    for (const pid_t pid : busy_) ::waitpid(pid, nullptr, 0);
  }

 private:
  std::vector<pid_t> busy_;
};

TEST(HitCost, IsThatOfTheProbeOnABusyHost) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  records::RecordProcessOptions options;
  options.timed_rate = 100;
  const auto cost_of = [&options] {
    auto records = RecordProcess::start(options);
    EXPECT_TRUE(records) << records.error().message();
    auto cost = measure_hit_cost(*records);
    EXPECT_TRUE(cost) << cost.error().message();
    return cost ? cost->entry_seconds + cost->return_seconds : 0.0;
  };
  const double quiet = cost_of();
  const BusyHost busy;
  // By the wall clock a round that waits for its CPU costs many times as much.
  EXPECT_LT(cost_of(), 2 * quiet);
}

}  // namespace
}  // namespace ioc_exporter::records

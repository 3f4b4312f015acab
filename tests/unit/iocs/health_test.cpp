// Health of processes on a /proc that the test makes, where every number is known.
#include "iocs/health/health.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "support/temporary_folder.h"

namespace ioc_exporter::iocs {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kMs = 1'000'000;
std::size_t at(ThreadClass thread_class) {
  return static_cast<std::size_t>(thread_class);
}

class IocHealthTree : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& content) {
    folder_.write("/proc/7/" + name, content);
  }
  void thread(int tid, const std::string& comm, std::uint64_t run_ns, std::uint64_t wait_ns = 0) {
    const std::string task = "task/" + std::to_string(tid);
    write(task + "/comm", comm + "\n");
    write(task + "/schedstat", std::to_string(run_ns) + " " + std::to_string(wait_ns) + " 17\n");
  }
  void end_thread(int tid) {
    std::filesystem::remove_all(folder_.path("/proc/7/task/" + std::to_string(tid)));
  }
  void process(unsigned user, unsigned system, int start = 100) {
    write("stat", "7 (an ioc) S 1 0 0 0 0 4194560 0 0 0 0 " + std::to_string(user) + " " +
                      std::to_string(system) + " 99 98 20 0 3 0 " + std::to_string(start) +
                      " 1000000 53 0 94 95 140 0\n");
  }
  HealthSample look(milliseconds after = milliseconds(0)) {
    const auto sample = health_.read({7, 100}, now_ += after);
    EXPECT_TRUE(sample);
    return sample.value_or(HealthSample{});
  }

  const TemporaryFolder folder_;
  IocHealth health_{RootedFs(folder_.path()), ProcessUnits{100, 4096}};
  IocHealth::Clock::time_point now_ = IocHealth::Clock::now();
};

TEST_F(IocHealthTree, ClassesAndWhatEndedAddUpToTheProcess) {
  process(41, 6);  // 470 ms
  thread(7, "an ioc", 31 * kMs);
  thread(8, "scan-0.1", 200 * kMs);
  thread(9, "scan-1", 2 * kMs);
  thread(10, "cbLow", 13 * kMs);
  thread(11, "scanOnce", 5 * kMs);
  thread(12, "CAS-client", 100 * kMs);
  thread(13, "PVXTCP", 17 * kMs);
  thread(14, "errlog", 1 * kMs);
  const HealthSample sample = look();
  EXPECT_EQ(sample.cpu_ns, (std::array<std::uint64_t, kThreadClasses>{
                               202 * kMs, 13 * kMs, 5 * kMs, 100 * kMs, 17 * kMs, 31 * kMs, kMs}));
  EXPECT_EQ(sample.ended_cpu_ns, (470 - 369) * kMs);
  EXPECT_EQ(sample.threads, (std::array<std::uint64_t, kThreadClasses>{2, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(sample.resident_bytes, 53u * 4096);
}

TEST_F(IocHealthTree, AProcessWhoseMainThreadHasEnded) {
  process(41, 6);
  thread(7, "an ioc", 31 * kMs);
  thread(8, "scan-0.1", 200 * kMs);
  look();
  // Facts that only living processes have.
  write("stat", "7 (an ioc) Z 1 0 0 0 0 4194560 0 0 0 0 43 6 99 98 20 0 2 0 100 0 0 0 0 0 0\n");
  write("task/8/stat",
        "8 (scan-0.1) S 1 0 0 0 0 64 0 0 0 0 7 7 99 98 20 0 2 0 101 1000000 54 0 94 95 140\n");
  write("task/8/fd/3", "");
  folder_.link("/proc/7/task/8/exe", "/ioc");
  thread(8, "scan-0.1", 220 * kMs);
  const HealthSample sample = look();
  EXPECT_EQ(sample.cpu_ns[at(ThreadClass::main)], 31 * kMs);
  EXPECT_EQ(sample.cpu_ns[at(ThreadClass::scan)], 220 * kMs);
  EXPECT_EQ(sample.threads[at(ThreadClass::main)], 0u);
  EXPECT_EQ(sample.threads[at(ThreadClass::scan)], 1u);
  EXPECT_EQ(sample.resident_bytes, 54u * 4096);
  EXPECT_EQ(sample.open_fds, 1u);
}

TEST_F(IocHealthTree, TimeOfAThreadThatEndsStaysWithItsClass) {
  process(10, 0);
  thread(7, "an ioc", 0);
  thread(8, "CAS-client", 100 * kMs);
  EXPECT_EQ(look().ended_cpu_ns, 0u);
  process(17, 0);  // 70 ms more, then it ended
  end_thread(8);
  HealthSample sample = look();
  EXPECT_EQ(sample.cpu_ns[at(ThreadClass::ca)], 100 * kMs);
  EXPECT_EQ(sample.ended_cpu_ns, 70 * kMs);
  EXPECT_EQ(sample.threads[at(ThreadClass::ca)], 0u);
  // Another one with the same number.
  process(18, 0);
  thread(8, "scan-2", 10 * kMs);
  sample = look();
  EXPECT_EQ(sample.cpu_ns[at(ThreadClass::ca)], 100 * kMs);
  EXPECT_EQ(sample.cpu_ns[at(ThreadClass::scan)], 10 * kMs);
  EXPECT_EQ(sample.ended_cpu_ns, 70 * kMs);
}

TEST_F(IocHealthTree, TheProbeTellsWhatThreadsUsedThatEnded) {
  CpuByClass exited{};
  const auto look = [&] {
    return health_.read({7, 100}, std::chrono::steady_clock::now(), [&] { return exited; }).value();
  };
  process(15, 0);
  thread(7, "an ioc", 0);
  thread(8, "CAS-client", 100 * kMs);
  thread(9, "an ioc", 30 * kMs);
  EXPECT_EQ(look().ended_cpu_ns, 20 * kMs) << "before it was watched";
  process(29, 0);
  end_thread(8);
  exited[at(ThreadClass::ca)] = 170 * kMs;
  thread(9, "scan-1", 50 * kMs);             // its name came late
  exited[at(ThreadClass::scan)] = 50 * kMs;  // of one that was never seen
  HealthSample sample = look();
  EXPECT_EQ(sample.cpu_ns[at(ThreadClass::ca)], 170 * kMs);
  EXPECT_EQ(sample.cpu_ns[at(ThreadClass::other)], 30 * kMs);
  EXPECT_EQ(sample.cpu_ns[at(ThreadClass::scan)], 70 * kMs);
  EXPECT_EQ(sample.ended_cpu_ns, 20 * kMs);
  process(34, 0);
  end_thread(9);
  exited[at(ThreadClass::scan)] += 100 * kMs;
  sample = look();
  EXPECT_EQ(sample.cpu_ns[at(ThreadClass::other)], 30 * kMs);
  EXPECT_EQ(sample.cpu_ns[at(ThreadClass::scan)], 120 * kMs);
  EXPECT_EQ(sample.ended_cpu_ns, 20 * kMs);
}

TEST_F(IocHealthTree, AThreadThatEndsDuringALookIsTakenAtTheNext) {
  process(10, 0);
  thread(7, "an ioc", 0);
  thread(8, "CAS-client", 60 * kMs);
  std::uint64_t asked = 0;
  const auto sample = health_.read({7, 100}, std::chrono::steady_clock::now(), [&] {
    CpuByClass exited{};
    exited[at(ThreadClass::ca)] = ++asked * 40 * kMs;
    return exited;
  });
  EXPECT_EQ(sample.value().cpu_ns[at(ThreadClass::ca)], 60 * kMs);
  EXPECT_EQ(sample.value().ended_cpu_ns, 0u);
  health_.begin_anew({7, 100});
  EXPECT_EQ(look().ended_cpu_ns, 0u) << "they ended before";
  EXPECT_EQ(look().process_cpu_ns, 100 * kMs);
}

TEST_F(IocHealthTree, ARestartedCounterCountsFromTheLastLookOn) {
  process(20, 0);
  thread(7, "an ioc", 100 * kMs);
  thread(8, "scan-1", 50 * kMs);
  EXPECT_EQ(look().ended_cpu_ns, 50 * kMs);
  health_.begin_anew({7, 100});
  process(25, 0);
  thread(7, "an ioc", 130 * kMs);
  const HealthSample sample = look();
  EXPECT_EQ(sample.cpu_ns[at(ThreadClass::main)], 30 * kMs);
  EXPECT_EQ(sample.cpu_ns[at(ThreadClass::scan)], 0u);
  EXPECT_EQ(sample.ended_cpu_ns, 20 * kMs);
}

TEST_F(IocHealthTree, ANameThatComesLateTakesNothingAway) {
  process(1, 0);
  thread(7, "an ioc", 0);
  thread(8, "an ioc", 3 * kMs);
  look();
  thread(8, "scan-.5", 5 * kMs);
  const HealthSample sample = look();
  EXPECT_EQ(sample.cpu_ns[at(ThreadClass::other)], 3 * kMs);
  EXPECT_EQ(sample.cpu_ns[at(ThreadClass::scan)], 2 * kMs);
  EXPECT_EQ(sample.threads[at(ThreadClass::scan)], 1u);
}

TEST_F(IocHealthTree, ThreadsThatNeverRestSpin) {
  process(0, 0);
  const auto at_time = [this](std::uint64_t ms) {
    thread(7, "an ioc", 0);
    thread(8, "runs", ms * kMs * 89 / 100);
    thread(9, "spins", ms * kMs * 91 / 100);
    thread(10, "queues", ms * kMs / 2, ms * kMs * 41 / 100);
  };
  at_time(0);
  EXPECT_EQ(look().spinning, 0u);
  at_time(500);
  EXPECT_EQ(look(milliseconds(500)).spinning, 0u) << "too soon to tell";
  at_time(2000);
  EXPECT_EQ(look(milliseconds(1500)).spinning, 2u);
  EXPECT_EQ(look(milliseconds(100)).spinning, 2u) << "what was told last";
  EXPECT_EQ(look(milliseconds(1000)).spinning, 0u);
  thread(11, "new", 1000 * kMs);
  EXPECT_EQ(look(milliseconds(1000)).spinning, 0u) << "not there at the look before";
}

TEST_F(IocHealthTree, DescriptorsAndTheirLimit) {
  process(0, 0);
  thread(7, "an ioc", 0);
  write("limits",
        "Limit     Soft Limit  Hard Limit  Units\nMax open files   1021   4096   files\n");
  for (const char* fd : {"0", "1", "2", "17", "23"}) write(std::string("fd/") + fd, "");
  const HealthSample sample = look();
  EXPECT_EQ(sample.open_fds, 5u);
  EXPECT_EQ(sample.max_fds, 1021u);
}

TEST_F(IocHealthTree, WithoutSchedstatTicks) {
  process(9, 0);
  write("task/7/comm", "an ioc\n");
  write("task/7/stat", "7 (an ioc) S 1 0 0 0 0 0 0 0 0 0 3 4 0 0 20 0 1 0 100 1 1 0 1 1 1 0\n");
  const HealthSample sample = look();
  EXPECT_EQ(sample.cpu_ns[at(ThreadClass::main)], 70 * kMs);
  EXPECT_EQ(sample.ended_cpu_ns, 20 * kMs);
}

TEST_F(IocHealthTree, AnotherProcessUnderItsPidIsNotIt) {
  process(0, 0, 500);
  thread(7, "an ioc", 0);
  EXPECT_FALSE(health_.read({7, 100}, now_));
  EXPECT_FALSE(health_.read({8, 100}, now_));
}

TEST_F(IocHealthTree, TheNumberOfListedDescriptorsIsBounded) {
  process(1, 0);
  thread(7, "an ioc", 0);
  for (std::size_t i = 0; i < IocHealth::kMostListed + 100; ++i)
    folder_.link("/proc/7/fd/" + std::to_string(i), "/dev/null");
  const auto names = RootedFs(folder_.path()).list("/proc/7/fd", IocHealth::kMostListed);
  ASSERT_TRUE(names);
  EXPECT_EQ(names->size(), IocHealth::kMostListed);
  EXPECT_GE(look().open_fds.value_or(0), IocHealth::kMostListed);
}

}  // namespace
}  // namespace ioc_exporter::iocs

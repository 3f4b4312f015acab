// Threads of this very process that wait for mutexes, which are those of records as each Base lays
// them out.
#include "records/memory/record_locks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/ascii.h"
#include "iocs/find/process_stat.h"

namespace ioc_exporter::records {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

std::string call(long number, const std::string& arguments) {
  return std::to_string(number) + " " + arguments + " 0x7ffc0 0x7f12\n";
}

TEST(AwaitedMutex, OfEverySystemCall) {
  const auto futex = [](const std::string& arguments) {
    return awaited_mutex(call(SYS_futex, arguments));
  };
  EXPECT_EQ(futex("0x55aa10 0x80 0x2 0x0 0x0 0x0"), 0x55aa10u);
  EXPECT_EQ(futex("0x55aa10 0x0 0x2 0x0 0x0 0x0"), 0x55aa10u);
  EXPECT_EQ(futex("0x55aa10 0x80 0x7f0000000002 0x0 0x0 0x0"),
            0x55aa10u);  // the rest of a register
  EXPECT_EQ(futex("0x55aa10 0x86 0x0 0x0 0x0 0x0"), 0x55aa10u);
  EXPECT_EQ(futex("0x55aa10 0x8d 0x0 0x0 0x0 0x0"), 0x55aa10u);
  EXPECT_EQ(futex("0x55aa10 0x80 0x1 0x0 0x0 0x0"), 0u);          // a value of something else
  EXPECT_EQ(futex("0x55aa10 0x80 0x2 0x7ffe00 0x0 0x0"), 0u);     // for some time only
  EXPECT_EQ(futex("0x55aa10 0x189 0x2 0x0 0x0 0xffffffff"), 0u);  // pthread_cond_wait()
  EXPECT_EQ(awaited_mutex(call(SYS_read, "0x0 0x80 0x2 0x0 0x0 0x0")), 0u);
  EXPECT_EQ(awaited_mutex("-1 0x7ffc0 0x7f12\n"), 0u);
  EXPECT_EQ(awaited_mutex("running\n"), std::nullopt);
  EXPECT_EQ(awaited_mutex(""), std::nullopt);
  EXPECT_EQ(awaited_mutex("202 0x55"), std::nullopt);
}

enum class Layout { base_3_14, base_3_15, base_7_0_10 };

struct Node {
  void *next, *previous;
};
struct Parm {
  Node node;
  void* osd;
  long line = 0;
  pthread_mutex_t mutex{};  // of 7.0.10
};
struct Osd {
  long attributes = 0;
  pthread_mutex_t mutex{};
};
struct Set {
  Node node;
  Node list;
  long count = 0;
  Parm* lock = nullptr;
};
struct Record;
struct LockRecord {
  Node node;
  Set* set = nullptr;
  Record* record = nullptr;
};
struct Record {
  char name[16] = "";
  void *ppn = nullptr, *others[6] = {};
  LockRecord* lset = nullptr;
};

class RecordLocksOf : public testing::TestWithParam<std::tuple<Layout, int>> {
 protected:
  static constexpr std::size_t kRecords = 2500;  // more than are read at once

  RecordLocksOf() : records_(kRecords), lock_records_(kRecords) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutexattr_setprotocol(&attributes, std::get<1>(GetParam()));
    auto database = std::make_shared<Database>();
    database->types = {"ai"};
    for (std::size_t i = 0; i < kRecords; ++i) {
      // The last three have one lock set.
      Set& set = sets_[i < kRecords - 3 ? i % 7 : 7];
      lock_records_[i] = {{}, &set, &records_[i]};
      records_[i].lset = &lock_records_[i];
      database->records.push_back(
          {reinterpret_cast<std::uint64_t>(&records_[i]), "R" + std::to_string(9999 - i), 0});
    }
    for (std::size_t i = 0; i < sets_.size(); ++i) {
      sets_[i].lock = &parms_[i];
      pthread_mutex_init(mutex(i), &attributes);
      const bool after = std::get<0>(GetParam()) == Layout::base_3_14;
      parms_[i].osd = after ? static_cast<void*>(&osds_[i]) : &osds_[i].mutex;
    }
    pthread_mutex_init(&other_, &attributes);
    iocs::FieldOffsets offsets;
    offsets.ppn = offsetof(Record, ppn);
    database_ = database;
    locks_.emplace(database_, offsets);
  }

  pthread_mutex_t* mutex(std::size_t i) {
    return std::get<0>(GetParam()) == Layout::base_7_0_10 ? &parms_[i].mutex : &osds_[i].mutex;
  }

  static std::uint64_t run_ns(int tid) {
    const auto text = RootedFs().read("/proc/self/task/" + std::to_string(tid) + "/schedstat");
    return number_after(*text, "").value_or(0);
  }
  void start(const char* name, std::function<void()> work) {
    std::atomic<int> tid = 0;
    threads_.emplace_back([&tid, name, work = std::move(work)] {
      prctl(PR_SET_NAME, name);
      tid = static_cast<int>(::syscall(SYS_gettid));
      work();
    });
    while (tid == 0) std::this_thread::yield();
    tids_.push_back(tid);
  }
  void wait_for(const char* name, pthread_mutex_t* mutex) {
    start(name, [mutex] {
      pthread_mutex_lock(mutex);
      pthread_mutex_unlock(mutex);
    });
  }
  // Until all of them sleep, as two looks with so much time between them tell.
  std::vector<iocs::ThreadSeen> seen(std::chrono::milliseconds span = 1500ms) {
    std::vector<iocs::ThreadSeen> all;
    const auto now = std::chrono::steady_clock::now();
    for (const int tid : tids_) {
      const std::string path = "/proc/self/task/" + std::to_string(tid) + "/syscall";
      while (!RootedFs().read(path)->starts_with(std::to_string(SYS_futex)))
        std::this_thread::sleep_for(1ms);
      all.push_back({tid, run_ns(tid), now - span, now});
    }
    return all;
  }
  Result<void> look(
      const std::vector<iocs::ThreadSeen>& threads,
      RecordLocks::Clock::time_point deadline = RecordLocks::Clock::time_point::max()) {
    auto memory = reader_.memory(iocs::read_process_stat(RootedFs(), ::getpid())->id);
    EXPECT_TRUE(memory);
    return locks_->look(reader_, **memory, ::getpid(), threads, deadline);
  }
  void join() {
    for (std::thread& thread : threads_) thread.join();
  }

  std::vector<Record> records_;
  std::vector<LockRecord> lock_records_;
  std::array<Set, 8> sets_{};
  std::array<Parm, 8> parms_{};
  std::array<Osd, 8> osds_{};
  pthread_mutex_t other_{};
  std::shared_ptr<const Database> database_;
  iocs::ProcessReader reader_{RootedFs()};
  std::optional<RecordLocks> locks_;
  std::vector<std::thread> threads_;
  std::vector<int> tids_;
};

TEST_P(RecordLocksOf, ThreadsThatWaitAndWhoHoldsTheLock) {
  std::mutex plain;
  std::condition_variable condition;
  bool end = false;
  pthread_mutex_lock(mutex(7));
  pthread_mutex_lock(&other_);
  for (int i = 0; i < 3; ++i) wait_for("waits", mutex(7));
  wait_for("too", mutex(7));
  wait_for("else", &other_);
  start("sleeps", [&] {
    std::unique_lock lock(plain);
    condition.wait(lock, [&] { return end; });
  });
  auto threads = seen();
  ASSERT_TRUE(look(threads));
  const auto sample = locks_->sample();
  ASSERT_TRUE(sample);
  EXPECT_EQ(sample->threads, 4u);
  EXPECT_GE(sample->oldest_seconds, 1.5);
  ASSERT_EQ(sample->longest.size(), 1u);
  LockWait wait = sample->longest.front();
  EXPECT_EQ(locked_text(wait, *database_), "R7500 and 2 more of its lock set");
  EXPECT_EQ(wait.holder_tid, ::getpid());
  EXPECT_EQ(waiting_text(wait), "too, waits (3)");
  EXPECT_THAT(*wait.records, ElementsAre(2497, 2498, 2499));
  name_open_record(wait, std::vector<std::uint32_t>{3, 2498, 2497});
  EXPECT_EQ(locked_text(wait, *database_), "R7501 and 2 more of its lock set");
  EXPECT_THAT(holder_text(wait), HasSubstr(", which processes the record"));
  name_open_record(wait, {});
  EXPECT_FALSE(wait.is_open);

  // No longer than a second.
  for (iocs::ThreadSeen& thread : threads) thread.still_since = thread.seen - 999ms;
  ASSERT_TRUE(look(threads));
  EXPECT_EQ(locks_->sample()->threads, 0u);
  // They have run since they were seen.
  for (iocs::ThreadSeen& thread : threads) {
    thread.still_since = thread.seen - 2s;
    thread.run_ns -= 1;
  }
  ASSERT_TRUE(look(threads));
  EXPECT_EQ(locks_->sample()->threads, 0u);

  pthread_mutex_unlock(mutex(7));
  pthread_mutex_unlock(&other_);
  {
    const std::scoped_lock lock(plain);
    end = true;
  }
  condition.notify_all();
  join();
  ASSERT_TRUE(look({}));
  EXPECT_EQ(locks_->sample()->threads, 0u);
}

TEST_P(RecordLocksOf, AThirdThreadHoldsIt) {
  std::atomic<bool> holds = false;
  pthread_mutex_t gate;
  pthread_mutex_init(&gate, nullptr);
  pthread_mutex_lock(&gate);
  start("driver", [&] {
    pthread_mutex_lock(mutex(7));
    holds = true;
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(mutex(7));
  });
  while (!holds) std::this_thread::yield();
  wait_for("CAS-client", mutex(7));
  ASSERT_TRUE(look(seen()));
  ASSERT_EQ(locks_->sample()->longest.size(), 1u);
  EXPECT_EQ(holder_text(locks_->sample()->longest.front()), "driver");
  EXPECT_EQ(locks_->sample()->longest.front().holder_tid, tids_[0]);
  pthread_mutex_unlock(&gate);
  join();
}

TEST_P(RecordLocksOf, ALookThatHasNoTimeGoesOn) {
  pthread_mutex_lock(mutex(7));
  wait_for("waits", mutex(7));
  const auto threads = seen();
  ASSERT_TRUE(look(threads, RecordLocks::Clock::now()));
  EXPECT_EQ(locks_->sample()->threads, 0u);
  ASSERT_TRUE(look(threads));
  EXPECT_EQ(locks_->sample()->threads, 1u);
  pthread_mutex_unlock(mutex(7));
  join();
}

TEST_P(RecordLocksOf, WhatDoesNotLeadBackIsAnError) {
  pthread_mutex_lock(mutex(7));
  wait_for("waits", mutex(7));
  const auto threads = seen();
  lock_records_[1700].record = &records_[1];
  const auto wrong = look(threads);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message(), "R8299.LSET does not lead back to its record");
  EXPECT_FALSE(locks_->sample());
  lock_records_[1700] = {{}, reinterpret_cast<Set*>(0x1000), &records_[1700]};
  EXPECT_FALSE(look(threads));
  lock_records_[1700].set = &sets_[0];
  ASSERT_TRUE(look(threads));
  EXPECT_EQ(locks_->sample()->threads, 1u);
  pthread_mutex_unlock(mutex(7));
  join();
}

INSTANTIATE_TEST_SUITE_P(
    EachBase, RecordLocksOf,
    testing::Combine(testing::Values(Layout::base_3_14, Layout::base_3_15, Layout::base_7_0_10),
                     testing::Values(PTHREAD_PRIO_NONE, PTHREAD_PRIO_INHERIT)));

}  // namespace
}  // namespace ioc_exporter::records

#include "base/shared_work.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace ioc_exporter {
namespace {

// Tells how many threads have looked for one: they do it under the lock, so whoever has looked
// while the work is under way has found it.
struct Key {
  int number = 0;
  static inline std::atomic<int> looked = 0;

  bool operator<(const Key& other) const {
    thread_local bool counted = false;
    if (!counted) ++looked;
    counted = true;
    return number < other.number;
  }
};

TEST(SharedWork, WhoComesWhileItIsUnderWayGetsTheSame) {
  constexpr int kOthers = 7;
  SharedWork<Key, std::string> work;
  std::latch begun(1), go_on(1);
  std::vector<SharedWork<Key, std::string>::Shared> got(kOthers + 1);
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    got[0] = work.get({1}, [&] {
      begun.count_down();
      go_on.wait();
      return std::string("answer");
    });
  });
  begun.wait();
  Key::looked = 0;
  for (std::size_t i = 1; i <= kOthers; ++i)
    threads.emplace_back(
        [&, i] { got[i] = work.get({1}, [] { return std::string("made again"); }); });
  while (Key::looked < kOthers) std::this_thread::yield();
  EXPECT_EQ(*work.get({2}, [] { return std::string("another key"); }), "another key");
  go_on.count_down();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(*got[0], "answer");
  for (const auto& one : got) EXPECT_EQ(one, got[0]);
}

TEST(SharedWork, NothingIsKept) {
  SharedWork<int, int> work;
  int made = 0;
  EXPECT_EQ(*work.get(1, [&] { return ++made; }), 1);
  EXPECT_EQ(*work.get(1, [&] { return ++made; }), 2);
}

TEST(SharedWork, AFailureReachesAllAndIsForgotten) {
  SharedWork<int, int> work;
  std::latch begun(1), go_on(1);
  std::thread first([&] {
    EXPECT_THROW(work.get(1,
                          [&]() -> int {
                            begun.count_down();
                            go_on.wait();
                            throw std::runtime_error("no");
                          }),
                 std::runtime_error);
  });
  begun.wait();
  go_on.count_down();
  first.join();
  EXPECT_EQ(*work.get(1, [] { return 23; }), 23);
}

}  // namespace
}  // namespace ioc_exporter

// A sink behind a queue on disk: what comes out is what came in, in order, whatever ends.
#include "delivery/spool_sink.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <numeric>

#include "delivery/sink_runner.h"

namespace ioc_exporter::delivery {
namespace {

using namespace std::chrono_literals;
using Numbers = std::vector<int>;

struct NumberKind {
  using Item = std::shared_ptr<const int>;
  using Entry = Item;
  struct Filter {
    bool wants(int) const { return true; }
  };
  struct Stage {  // nothing waits
    using Time = std::chrono::steady_clock::time_point;
    void take(Item item, Time, std::vector<Item>& out) { out.push_back(std::move(item)); }
    void end_due(Time, std::vector<Item>&) {}
    void end_all(std::vector<Item>&) {}
    std::optional<Time> next_due() const { return {}; }
  };
  static std::size_t bytes(int) { return 100; }
  static std::string_view owner(int) { return "one"; }
  static std::uint64_t weight(const Item&) { return 1; }
  static std::size_t entry_bytes(const Item&) { return 300; }
  static std::string to_bytes(const Item& item) {
    const std::string digits = std::to_string(*item);
    return std::string(200 - digits.size(), '0') + digits;
  }
  static std::optional<Item> from_bytes(std::string_view bytes) {
    const std::string text(bytes);
    if (text.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
    return std::make_shared<const int>(std::stoi(text));
  }
  static constexpr const char* kLog = "numbers";
  static constexpr const char* kItems = "numbers";
};

// A receiver that is away, or takes all; or hangs, or takes a few and then fails, again and again.
struct Receiver {
  std::atomic<bool> is_there = false, is_mute = false, hangs = false, flaps = false;
  std::atomic<int> calls = 0;
  std::mutex mutex;
  Numbers came;

  Numbers all() {
    const std::scoped_lock lock(mutex);
    return came;
  }
};

class ReceiverSink : public Sink<NumberKind::Entry> {
 public:
  explicit ReceiverSink(Receiver& receiver) : receiver_(receiver) {}
  Delivered deliver(std::span<const NumberKind::Entry> entries) override {
    const int call = ++receiver_.calls;
    while (receiver_.hangs) std::this_thread::sleep_for(1ms);
    if (receiver_.is_mute) return {};
    if (receiver_.flaps) {
      if (call % 2 == 0) return {.entries = std::min<std::size_t>(entries.size(), 10)};
      std::this_thread::sleep_for(50ms);
    }
    if (!receiver_.is_there) return {.problem = error_in_words("away"), .pause = 1ms};
    const std::scoped_lock lock(receiver_.mutex);
    for (const auto& entry : entries) receiver_.came.push_back(*entry);
    return {.entries = entries.size()};
  }

 private:
  Receiver& receiver_;
};

Numbers from_to(int first, int last) {
  Numbers all(static_cast<std::size_t>(last - first + 1));
  std::iota(all.begin(), all.end(), first);
  return all;
}

class SpoolSinkTest : public testing::Test {
 protected:
  SpoolSinkTest() {
    std::string name = testing::TempDir() + "spool_sink.XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~SpoolSinkTest() override {
    runner_.reset();
    std::filesystem::remove_all(folder_);
  }

  std::string path() const { return folder_ + "/a.sqlite"; }
  std::shared_ptr<Spool> open(std::uint64_t size) const {
    auto database = open_database_file(folder_, "a.sqlite", DatabaseFile::database);
    auto log = open_database_file(folder_, "a.sqlite", DatabaseFile::log);
    auto spool = Spool::open(path(), {std::move(*database), std::move(*log)}, size);
    EXPECT_TRUE(spool) << spool.error().message();
    return spool ? std::move(*spool) : nullptr;
  }
  void start(QueueBounds memory = {}, std::uint64_t size = 1u << 30, QueueBounds queue = {}) {
    SinkSetup<NumberKind> setup;
    setup.name = "test";
    setup.queue = queue;
    setup.sink =
        std::make_unique<SpoolSink<NumberKind>>("test", std::make_unique<ReceiverSink>(receiver_),
                                                memory, [spool = open(size)] { return spool; });
    runner_ = std::make_unique<SinkRunner<NumberKind>>(std::move(setup), NumberKind::Stage());
  }
  void send(int first, int last) {
    std::vector<NumberKind::Item> items;
    for (int i = first; i <= last; ++i) items.push_back(std::make_shared<const int>(i));
    runner_->receive(items);
  }
  // What came and what was found is accounted for, at any moment.
  SinkSample sample() {
    const SinkSample sample = runner_->sample();
    std::uint64_t known = sample.delivered + sample.waiting + sample.filtered;
    for (const auto& [reason, count] : sample.dropped) known += count;
    EXPECT_EQ(known, sample.received + (sample.spool ? sample.spool->found : 0));
    return sample;
  }
  template <class Check>
  void wait_until(Check check) {
    for (int i = 0; i < 3000 && !check(sample()); ++i) std::this_thread::sleep_for(10ms);
    EXPECT_TRUE(check(sample()));
  }
  // None of it in memory alone.
  void wait_until_on_disk(std::uint64_t count) {
    wait_until([count](const SinkSample& told) { return told.spool->waiting == count; });
  }
  void begin() {
    runner_->receive({});
    wait_until([](const SinkSample& told) { return told.spool.has_value(); });
  }
  void wait_until_none_waits() {
    wait_until([](const SinkSample& told) { return told.waiting == 0; });
  }

  // In a process of its own, which may limit itself. `check`: it went well.
  void in_child(const std::function<bool()>& check) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::signal(SIGXFSZ, SIG_IGN);
      ::_exit(check() && !HasFailure() ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  // RLIMIT_FSIZE stands for a disk that is full: nothing can be written behind so many bytes.
  static void limit_files(rlim_t size) {
    rlimit limit{};
    ::getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = size;
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }

  std::string folder_;
  Receiver receiver_;
  std::unique_ptr<SinkRunner<NumberKind>> runner_;
};

TEST_F(SpoolSinkTest, AReceiverThatWorksIsGivenAllFromMemory) {
  receiver_.is_there = true;
  start();
  send(1, 5'000);
  wait_until_none_waits();
  EXPECT_EQ(receiver_.all(), from_to(1, 5'000));
  EXPECT_EQ(sample().spool->waiting, 0u);
  EXPECT_EQ(sample().spool->found, 0u);
}

TEST_F(SpoolSinkTest, WhatWaitsForOneThatIsAwayIsOnDiskAndComesInOrder) {
  start({.events = 100});
  begin();
  send(1, 50);
  wait_until_on_disk(50);
  for (int i = 1; i < 20; ++i) send(i * 50 + 1, i * 50 + 50);
  wait_until_on_disk(1000);
  EXPECT_EQ(sample().waiting, 1000u);
  EXPECT_GT(sample().spool->bytes, 1000u);
  receiver_.is_there = true;
  wait_until_none_waits();
  send(1001, 1003);
  wait_until_none_waits();
  EXPECT_EQ(receiver_.all(), from_to(1, 1003));
  EXPECT_GT(sample().failures, 0u);
  EXPECT_EQ(sample().problem, "");
}

// It takes some, and then hangs: what has no room in memory goes to disk.
TEST_F(SpoolSinkTest, WhatHasNoRoomInMemoryGoesToDisk) {
  receiver_.is_there = true;
  start({.events = 10});
  begin();
  {
    const std::scoped_lock lock(receiver_.mutex);
    send(1, 1);
    for (int i = 0; i < 3000 && receiver_.calls == 0; ++i) std::this_thread::sleep_for(10ms);
    send(2, 1000);
    wait_until_on_disk(989);
  }
  wait_until_none_waits();
  EXPECT_EQ(receiver_.all(), from_to(1, 1000));
}

// Without a word: what waits for it is on disk all the same, in a while.
TEST_F(SpoolSinkTest, WhatWaitsForOneThatTakesNothingIsOnDisk) {
  receiver_.is_there = receiver_.is_mute = true;
  start();
  begin();
  send(1, 2'000);
  wait_until_on_disk(2'000);
  receiver_.is_mute = false;
  wait_until_none_waits();
  EXPECT_EQ(receiver_.all(), from_to(1, 2'000));
}

TEST_F(SpoolSinkTest, TheNextExporterSendsWhatTheOneBeforeCouldNot) {
  start();
  send(1, 3'000);
  runner_.reset();
  start();
  receiver_.is_there = true;
  begin();
  wait_until_none_waits();
  EXPECT_EQ(sample().spool->found, 3'000u);
  EXPECT_EQ(sample().delivered, 3'000u);
  send(3'001, 3'001);
  wait_until_none_waits();
  runner_.reset();
  EXPECT_EQ(receiver_.all(), from_to(1, 3'001));
}

TEST_F(SpoolSinkTest, WhatIsOnDiskSurvivesAKill) {
  const pid_t child = ::fork();
  if (child == 0) {
    start();
    begin();
    send(1, 2'500);
    for (int i = 0; i < 3000 && sample().spool->waiting < 2'500; ++i) ::usleep(10'000);
    ::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  receiver_.is_there = true;
  start();
  begin();
  wait_until_none_waits();
  EXPECT_EQ(receiver_.all(), from_to(1, 2'500));
}

TEST_F(SpoolSinkTest, WhatDoesNotFitItsBoundIsCounted) {
  start({.events = 10}, 64u << 10);
  begin();
  int sent = 0;
  for (; sample().dropped.at(kQueueFull) == 0 && sent < 500'000; sent += 500)
    send(sent + 1, sent + 500);
  EXPECT_LE(sample().spool->bytes, 64u << 10);
  const auto dropped = sample().dropped.at(kQueueFull);
  EXPECT_GT(dropped, 0u);
  receiver_.is_there = true;
  wait_until_none_waits();
  EXPECT_EQ(sample().delivered, static_cast<std::uint64_t>(sent) - dropped);
  const Numbers came = receiver_.all();
  EXPECT_TRUE(std::ranges::is_sorted(came));
  EXPECT_EQ(came.size(), sample().delivered);
}

TEST_F(SpoolSinkTest, ADiskThatIsFullLeavesItToMemory) {
  in_child([this] {
    start({.events = 100});
    limit_files(8192);
    send(1, 5'000);
    for (int i = 0; i < 3000 && sample().failures == 0; ++i) ::usleep(10'000);
    receiver_.is_there = true;
    wait_until_none_waits();
    return receiver_.all() == from_to(1, 5'000);
  });
}

TEST_F(SpoolSinkTest, MemoryHasItsBoundWhileTheDiskIsFullAndTheReceiverFailsNowAndThen) {
  in_child([this] {
    start({.events = 5000}, 1u << 30, {.events = 1000});
    begin();
    limit_files(8192);
    receiver_.flaps = true;
    std::uint64_t most = 0;
    for (int i = 0; receiver_.calls < 140; i += 1000) {
      send(i + 1, i + 1000);
      most = std::max(most, sample().waiting);
      ::usleep(1000);
    }
    // Both queues, and what is under way from each.
    EXPECT_LE(most, 1000 + 1024 + 5000 + 1024u);
    receiver_.flaps = false;
    receiver_.is_there = true;
    wait_until_none_waits();
    return true;
  });
}

// Nobody asks the spool for anything any more once all is sent.
TEST_F(SpoolSinkTest, WhatWasSentWhileTheDiskWasFullLeavesItOnceThereIsRoom) {
  in_child([this] {
    start();
    begin();
    send(1, 5'000);
    wait_until_on_disk(5'000);
    limit_files(8192);
    receiver_.is_there = true;
    wait_until_none_waits();
    wait_until_on_disk(0);
    EXPECT_GT(sample().spool->bytes, 1'000'000u);
    limit_files(RLIM_INFINITY);
    wait_until([](const SinkSample& told) { return told.spool->bytes < 100'000; });
    return true;
  });
  EXPECT_EQ(open(1u << 30)->rows(), 0u);
}

// What came last has no place on disk that what is older in memory needs.
TEST_F(SpoolSinkTest, OneThatIsStoppedWithAFullQueueOnDiskKeepsTheOldest) {
  receiver_.hangs = true;
  start({.bytes = 256u << 10}, 1u << 20);
  begin();
  for (int sent = 0; sample().dropped.at(kQueueFull) == 0 && sent < 500'000; sent += 500)
    send(sent + 1, sent + 500);
  EXPECT_GT(sample().spool->waiting, 0u);
  receiver_.hangs = false;
  runner_.reset();
  const auto spool = open(1u << 30);
  const auto first = spool->first(1000);
  ASSERT_TRUE(first);
  for (std::size_t i = 0; i < first->size(); ++i)
    ASSERT_EQ(**NumberKind::from_bytes(first->at(i).bytes), static_cast<int>(i) + 1);
  EXPECT_GT(spool->rows(), 500u);
}

TEST_F(SpoolSinkTest, RowsThatAreNoneAreCountedAndTheOthersSent) {
  {
    const auto spool = open(1u << 30);
    ASSERT_TRUE(spool->append(
        std::vector<Spool::Row>{{1, "1"}, {1, "x"}, {1, "2"}, {7, "y"}, {9, "3"}, {1, "4"}}));
  }
  receiver_.is_there = true;
  start();
  begin();
  wait_until_none_waits();
  EXPECT_EQ(receiver_.all(), (Numbers{1, 2, 4}));
  EXPECT_EQ(sample().dropped.at(kSpoolBroken), 17u);
  EXPECT_EQ(sample().spool->found, 20u);
}

// Under the exporter's hands: what it held is counted, and what comes goes on from memory.
TEST_F(SpoolSinkTest, AFileThatBreaksIsCountedAndDoneWithout) {
  start();
  begin();
  send(1, 20'000);
  wait_until_on_disk(20'000);
  for (const char* file : {"a.sqlite", "a.sqlite-wal"})
    std::ofstream(folder_ + "/" + file, std::ios::binary | std::ios::in | std::ios::out)
        << std::string(1u << 20, 'x');
  receiver_.is_there = true;
  wait_until_none_waits();
  const auto lost = sample().dropped.at(kSpoolBroken);
  send(20'001, 20'003);
  wait_until_none_waits();
  const Numbers came = receiver_.all();
  EXPECT_EQ(came.size() + lost, 20'003u);
  EXPECT_GT(lost, 0u);
  EXPECT_EQ(came.back(), 20'003);
  EXPECT_TRUE(std::ranges::is_sorted(came));
}

}  // namespace
}  // namespace ioc_exporter::delivery

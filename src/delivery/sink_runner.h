// SinkRunner: one sink with its filter, its queue, its stage and its thread. A sink that is slow or
// away costs its own queue, and then counted drops.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.h"
#include "delivery/feed.h"
#include "delivery/sink.h"

namespace ioc_exporter::delivery {

template <class Kind>
class SinkRunner {
 public:
  using Item = typename Kind::Item;
  using Entry = typename Kind::Entry;
  using Stage = typename Kind::Stage;
  using Clock = std::chrono::steady_clock;

  SinkRunner(SinkSetup<Kind> setup, SinkAccount& account)
      : filter_(std::move(setup.filter)),
        account_(account),
        queue_(setup.queue),
        name_(std::move(setup.name)),
        sink_(std::move(setup.sink)),
        stage_(setup.window) {}
  // Waits for the sink.
  ~SinkRunner() {
    begin_end();
    if (thread_.joinable()) thread_.join();
  }
  SinkRunner(const SinkRunner&) = delete;
  SinkRunner& operator=(const SinkRunner&) = delete;

  // Starts the thread. All is then in any thread, and waits for the sink where it says so only.
  void start() {
    thread_ = std::thread([this] { run(); });
  }
  // The error: of opening it. None where that is not done by then.
  Result<void> wait_until_open(Clock::time_point until) {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, until, [this] { return opened_.has_value(); });
    return opened_.value_or(Result<void>());
  }
  void receive(std::span<const Item> items) {
    std::vector<const Item*> wanted;
    wanted.reserve(items.size());
    for (const Item& item : items)
      if (filter_.wants(*item)) wanted.push_back(&item);
    const std::scoped_lock lock(mutex_);
    account_.filtered += items.size() - wanted.size();
    for (const Item* item : wanted)
      account_.queue_full += queue_.push(*item, Kind::owner(**item), Kind::bytes(**item));
    changed_.notify_all();
  }
  // The sink is given what waits, until it does not take it.
  void begin_end() {
    const std::scoped_lock lock(mutex_);
    ends_ = true;
    changed_.notify_all();
  }
  void wait_until_ended(Clock::time_point until) {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, until, [this] { return ended_; });
  }

 private:
  static constexpr std::size_t kBatch = 1024;
  static constexpr std::chrono::milliseconds kFirstPause{100}, kLongestPause{10'000};
  // How often it says that it goes on.
  static constexpr std::chrono::seconds kAlive{1};

  void run() {
    std::unique_lock lock(mutex_);
    open(lock);
    while (!ends_) {
      const auto now = Clock::now();
      account_.alive_at = now;
      take_some(lock);
      if (entries_.empty()) {
        const auto wakes = [this] { return ends_ || !queue_.empty(); };
        changed_.wait_until(lock, std::min(stage_.next_due().value_or(now + kAlive), now + kAlive),
                            wakes);
      } else if (again_at_ > now || !deliver_some(lock)) {
        changed_.wait_until(lock, std::min(again_at_, now + kAlive), [this] { return ends_; });
      }
    }
    while (true) {
      take_some(lock);
      if (queue_.empty()) stage_.end_all(entries_);
      if (entries_.empty() ? queue_.empty() : !deliver_some(lock)) break;
    }
    lock.unlock();
    sink_.reset();
    lock.lock();
    ended_ = true;
    changed_.notify_all();
  }
  void open(std::unique_lock<std::mutex>& lock) {
    lock.unlock();
    const Result<void> opened = sink_->open();
    report("open " + name_, opened);
    lock.lock();
    opened_ = opened;
    changed_.notify_all();
  }
  // Nothing more while some could not be delivered: they wait in the queue, which has its bound.
  void take_some(std::unique_lock<std::mutex>& lock) {
    if (!entries_.empty()) return;
    std::vector<Item> items = queue_.take(kBatch);
    lock.unlock();
    const auto now = Clock::now();
    for (Item& item : items) stage_.take(std::move(item), now, entries_);
    stage_.end_due(now, entries_);
    lock.lock();
  }
  // False: nothing is to be delivered until again_at_.
  bool deliver_some(std::unique_lock<std::mutex>& lock) {
    lock.unlock();
    const Delivered done = deliver();
    const std::size_t taken = std::min(done.entries, entries_.size()),
                      refused = std::min(done.refused, entries_.size() - taken);
    account_.delivered += take_off(taken);
    account_.refused += take_off(refused);
    account_.failures += done.problem ? 1u : 0u;
    report(name_, done.problem ? Result<void>(*done.problem) : Result<void>());
    lock.lock();
    if (!done.problem) {
      pause_ = kFirstPause;
      again_at_ = Clock::now() + pause_;
      if (!entries_.empty() && taken == 0) return false;
      again_at_ = {};
      return true;
    }
    // A pause of 0: the receiver answered, so that there is no reason to wait.
    const bool goes_on = done.pause && done.pause->count() == 0;
    pause_ = goes_on ? kFirstPause : std::clamp(pause_ * 2, kFirstPause, kLongestPause);
    again_at_ = Clock::now() + done.pause.value_or(pause_);
    return goes_on;
  }
  Delivered deliver() {
    try {
      return sink_->deliver(entries_);
    } catch (const std::exception& failure) {  // memory, mostly
      return {.problem = error_in_words(failure.what())};
    }
  }
  // The first ones; how many items they stood for.
  std::uint64_t take_off(std::size_t entries) {
    const auto end = entries_.begin() + static_cast<std::ptrdiff_t>(entries);
    std::uint64_t items = 0;
    for (auto entry = entries_.begin(); entry != end; ++entry) items += Kind::weight(*entry);
    entries_.erase(entries_.begin(), end);
    return items;
  }
  void report(const std::string& action, const Result<void>& result) {
    trouble_.report(std::string(Kind::kLog) + ": " + action, result);
  }

  const typename Kind::Filter filter_;
  SinkAccount& account_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Queue<Item> queue_;
  std::optional<Result<void>> opened_;
  bool ends_ = false, ended_ = false;

  // The thread's.
  const std::string name_;
  std::unique_ptr<Sink<Entry>> sink_;
  std::vector<Entry> entries_;  // that are to be delivered now, in order
  Stage stage_;
  std::chrono::milliseconds pause_{};  // the last one of its own
  Clock::time_point again_at_{};       // when the sink is given more
  TroubleLog trouble_;

  std::thread thread_;  // last: it ends first
};

}  // namespace ioc_exporter::delivery

// SinkRunner: one sink with its filter, its queue, its stage and its thread. A sink that is slow or
// away costs its own queue, and then counted drops.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/trouble_log.h"
#include "delivery/end_deadline.h"
#include "delivery/sink.h"

namespace ioc_exporter::delivery {

inline constexpr const char* kQueueFull = "queue_full";
inline constexpr const char* kRefused = "refused";
inline constexpr const char* kAtEnd = "at_end";

template <class Kind>
class SinkRunner {
 public:
  using Item = typename Kind::Item;
  using Entry = typename Kind::Entry;
  using Stage = typename Kind::Stage;

  // How long it goes on with what waits when the exporter ends, once the sink does not take it.
  static constexpr std::chrono::seconds kEndPatience{2};

  SinkRunner(SinkSetup<Kind> setup, Stage stage);
  // Gives the sink what waits, for a while from begin_end() on.
  ~SinkRunner();
  SinkRunner(const SinkRunner&) = delete;
  SinkRunner& operator=(const SinkRunner&) = delete;

  // In any thread; does not wait for the sink. The first call starts the thread, which then has the
  // rights that the caller has.
  void receive(std::span<const Item> items);
  SinkSample sample() const;

  // Does not wait. To be called for all before one of them is destroyed, so that they end together.
  void begin_end();

 private:
  using Clock = std::chrono::steady_clock;

  static constexpr std::size_t kBatch = 1024;
  static constexpr std::chrono::milliseconds kFirstPause{100}, kLongestPause{10'000};

  void run();
  void take_some(std::unique_lock<std::mutex>& lock);
  bool deliver_some(std::unique_lock<std::mutex>& lock);
  void tend(std::unique_lock<std::mutex>& lock);
  std::uint64_t take_off(std::size_t entries);
  void end(std::unique_lock<std::mutex>& lock);
  static std::string told(const std::string& what) { return std::string(Kind::kLog) + ": " + what; }

  const typename Kind::Filter filter_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Queue<Item> queue_;
  SinkSample counts_;
  bool ends_ = false;
  EndDeadline end_;

  // The thread's.
  std::unique_ptr<Sink<Entry>> sink_;
  Stage stage_;
  std::vector<Entry> entries_;         // that are to be delivered now
  std::chrono::milliseconds pause_{};  // the last one of its own
  Clock::time_point again_at_{};       // after a problem
  TroubleLog trouble_;
  const std::chrono::milliseconds tend_every_;
  Clock::time_point tend_at_;

  std::thread thread_;  // last: it ends first
};

template <class Kind>
SinkRunner<Kind>::SinkRunner(SinkSetup<Kind> setup, Stage stage)
    : filter_(std::move(setup.filter)),
      queue_(setup.queue),
      sink_(std::move(setup.sink)),
      stage_(std::move(stage)),
      tend_every_(setup.tend_every),
      tend_at_(Clock::now() + tend_every_) {
  counts_.sink = std::move(setup.name);
  counts_.dropped = {{kQueueFull, 0}, {kRefused, 0}, {kAtEnd, 0}};
}

template <class Kind>
SinkRunner<Kind>::~SinkRunner() {
  begin_end();
  if (thread_.joinable()) thread_.join();
}

template <class Kind>
void SinkRunner<Kind>::begin_end() {
  const std::scoped_lock lock(mutex_);
  if (std::exchange(ends_, true)) return;
  end_.set(Clock::now() + kEndPatience);
  changed_.notify_all();
}

template <class Kind>
void SinkRunner<Kind>::receive(std::span<const Item> items) {
  std::vector<const Item*> wanted;
  wanted.reserve(items.size());
  for (const Item& item : items)
    if (filter_.wants(*item)) wanted.push_back(&item);
  const std::scoped_lock lock(mutex_);
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  counts_.received += items.size();
  counts_.filtered += items.size() - wanted.size();
  std::uint64_t& dropped = counts_.dropped[kQueueFull];
  for (const Item* item : wanted) {
    if (queue_.push(*item, Kind::bytes(**item)))
      ++counts_.waiting;
    else
      ++dropped;
  }
  changed_.notify_all();
}

template <class Kind>
SinkSample SinkRunner<Kind>::sample() const {
  const std::scoped_lock lock(mutex_);
  return counts_;
}

template <class Kind>
void SinkRunner<Kind>::run() {
  end_.use_in_this_thread();
  std::unique_lock lock(mutex_);
  while (!ends_) {
    tend(lock);
    take_some(lock);
    if (entries_.empty()) {
      const auto wakes = [this] { return ends_ || !queue_.empty(); };
      changed_.wait_until(lock, std::min(stage_.next_due().value_or(tend_at_), tend_at_), wakes);
    } else if (!deliver_some(lock)) {
      changed_.wait_until(lock, again_at_, [this] { return ends_; });
    }
  }
  end(lock);
}

// Nothing more while some could not be delivered: they wait in the queue, which has its bound.
template <class Kind>
void SinkRunner<Kind>::take_some(std::unique_lock<std::mutex>& lock) {
  if (!entries_.empty()) return;
  std::vector<Item> items = queue_.take(kBatch);
  lock.unlock();
  const auto now = Clock::now();
  for (Item& item : items) stage_.take(std::move(item), now, entries_);
  stage_.end_due(now, entries_);
  lock.lock();
}

// The first ones of those that are to be delivered; how many items they stood for.
template <class Kind>
std::uint64_t SinkRunner<Kind>::take_off(std::size_t entries) {
  const auto end =
      entries_.begin() + static_cast<std::ptrdiff_t>(std::min(entries, entries_.size()));
  std::uint64_t items = 0;
  for (auto entry = entries_.begin(); entry != end; ++entry) items += Kind::weight(*entry);
  entries_.erase(entries_.begin(), end);
  return items;
}

// False: the sink is to be left alone until again_at_.
template <class Kind>
bool SinkRunner<Kind>::deliver_some(std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  Delivered done;
  try {
    done = sink_->deliver(entries_);
  } catch (const std::exception& failure) {  // memory, mostly
    done.problem = error_in_words(failure.what());
  }
  const std::uint64_t taken = take_off(done.entries), refused = take_off(done.refused);
  trouble_.report(told(counts_.sink), done.problem ? Result<void>(*done.problem) : Result<void>());
  lock.lock();
  counts_.delivered += taken;
  counts_.waiting -= taken + refused;
  counts_.dropped[kRefused] += refused;
  counts_.failures += done.problem ? 1u : 0u;
  counts_.problem = done.problem ? done.problem->message() : "";
  if (!done.problem) {
    pause_ = kFirstPause;
    again_at_ = Clock::now() + pause_;
    return entries_.empty() || taken > 0;
  }
  // Who was told to go on has not failed to reach the receiver.
  const bool goes_on = done.pause && done.pause->count() == 0;
  pause_ = goes_on ? kFirstPause : std::clamp(pause_ * 2, kFirstPause, kLongestPause);
  again_at_ = Clock::now() + done.pause.value_or(pause_);
  return goes_on;
}

template <class Kind>
void SinkRunner<Kind>::tend(std::unique_lock<std::mutex>& lock) {
  if (Clock::now() < tend_at_) return;
  lock.unlock();
  trouble_.report(told("tend " + counts_.sink), sink_->tend());
  lock.lock();
  tend_at_ = Clock::now() + tend_every_;
}

template <class Kind>
void SinkRunner<Kind>::end(std::unique_lock<std::mutex>& lock) {
  do {
    take_some(lock);
    if (queue_.empty()) stage_.end_all(entries_);
    if (entries_.empty()) break;
  } while (deliver_some(lock) && Clock::now() < end_.at());
  counts_.dropped[kAtEnd] += std::exchange(counts_.waiting, 0);
  if (const std::uint64_t lost = counts_.dropped[kAtEnd]; lost > 0)
    log::warn("{}: {}: {} {} were not taken before the end", Kind::kLog, counts_.sink, lost,
              Kind::kItems);
}

}  // namespace ioc_exporter::delivery

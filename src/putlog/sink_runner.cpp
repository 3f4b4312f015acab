#include "putlog/sink_runner.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/log.h"

namespace ioc_exporter::putlog {
namespace {

constexpr std::size_t kBatch = 1024;
constexpr std::chrono::milliseconds kFirstPause{100}, kLongestPause{10'000};

}  // namespace

SinkRunner::SinkRunner(SinkSetup setup)
    : filter_(std::move(setup.filter)),
      queue_(setup.queue),
      sink_(std::move(setup.sink)),
      bursts_(setup.burst),
      tend_every_(setup.tend_every),
      tend_at_(Clock::now() + tend_every_) {
  counts_.sink = std::move(setup.name);
  counts_.dropped = {{kQueueFull, 0}, {kRefused, 0}, {kAtEnd, 0}};
}

SinkRunner::~SinkRunner() {
  {
    const std::scoped_lock lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void SinkRunner::receive(std::span<const SharedEvent> events) {
  std::vector<const SharedEvent*> wanted;
  wanted.reserve(events.size());
  for (const SharedEvent& event : events)
    if (filter_.wants(*event)) wanted.push_back(&event);
  const std::scoped_lock lock(mutex_);
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  counts_.received += events.size();
  counts_.filtered += events.size() - wanted.size();
  std::uint64_t& dropped = counts_.dropped[kQueueFull];
  for (const SharedEvent* event : wanted) {
    if (queue_.push(*event, footprint(**event)))
      ++counts_.waiting;
    else
      ++dropped;
  }
  changed_.notify_all();
}

SinkSample SinkRunner::sample() const {
  const std::scoped_lock lock(mutex_);
  return counts_;
}

void SinkRunner::run() {
  std::unique_lock lock(mutex_);
  while (!ends_) {
    tend(lock);
    take_some(lock);
    if (entries_.empty()) {
      const auto wakes = [this] { return ends_ || !queue_.empty(); };
      changed_.wait_until(lock, std::min(bursts_.next_due().value_or(tend_at_), tend_at_), wakes);
    } else if (!deliver_some(lock)) {
      changed_.wait_for(lock, pause_, [this] { return ends_; });
    }
  }
  end(lock);
}

// Nothing more while some could not be delivered: they wait in the queue, which has its bound.
void SinkRunner::take_some(std::unique_lock<std::mutex>& lock) {
  if (!entries_.empty()) return;
  std::vector<SharedEvent> events = queue_.take(kBatch);
  lock.unlock();
  const auto now = Clock::now();
  for (SharedEvent& event : events) bursts_.take(std::move(event), now, entries_);
  bursts_.end_due(now, entries_);
  lock.lock();
}

// The first ones of those that are to be delivered; how many puts they stood for.
std::uint64_t SinkRunner::take_off(std::size_t entries) {
  const auto end =
      entries_.begin() + static_cast<std::ptrdiff_t>(std::min(entries, entries_.size()));
  std::uint64_t puts = 0;
  for (auto entry = entries_.begin(); entry != end; ++entry) puts += entry->puts;
  entries_.erase(entries_.begin(), end);
  return puts;
}

// False: the sink did not take all.
bool SinkRunner::deliver_some(std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  Sink::Delivered done;
  try {
    done = sink_->deliver(entries_);
  } catch (const std::exception& failure) {  // memory, mostly
    done.problem = error_in_words(failure.what());
  }
  const std::uint64_t puts = take_off(done.entries), refused = take_off(done.refused);
  trouble_.report("put log: " + counts_.sink,
                  done.problem ? Result<void>(*done.problem) : Result<void>());
  lock.lock();
  counts_.delivered += puts;
  counts_.waiting -= puts + refused;
  counts_.dropped[kRefused] += refused;
  counts_.failures += done.problem ? 1u : 0u;
  counts_.problem = done.problem ? done.problem->message() : "";
  if (!done.problem) {
    pause_ = kFirstPause;
    return entries_.empty() || puts > 0;
  }
  pause_ = std::clamp(pause_ * 2, kFirstPause, kLongestPause);
  return false;
}

void SinkRunner::tend(std::unique_lock<std::mutex>& lock) {
  if (Clock::now() < tend_at_) return;
  lock.unlock();
  trouble_.report("put log: tend " + counts_.sink, sink_->tend());
  lock.lock();
  tend_at_ = Clock::now() + tend_every_;
}

void SinkRunner::end(std::unique_lock<std::mutex>& lock) {
  const auto deadline = Clock::now() + kEndPatience;
  do {
    take_some(lock);
    if (queue_.empty()) bursts_.end_all(entries_);
    if (entries_.empty()) break;
  } while (deliver_some(lock) && Clock::now() < deadline);
  counts_.dropped[kAtEnd] += std::exchange(counts_.waiting, 0);
  if (const std::uint64_t lost = counts_.dropped[kAtEnd]; lost > 0)
    log::warn("put log: {}: {} puts were not taken before the end", counts_.sink, lost);
}

}  // namespace ioc_exporter::putlog

// SinkRunner: one sink with its filter, its queue, its bursts and its thread. A sink that is slow
// or away costs its own queue, and then counted drops.
#pragma once

#include <condition_variable>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "base/trouble_log.h"
#include "putlog/bursts.h"
#include "putlog/sink.h"

namespace ioc_exporter::putlog {

inline constexpr const char* kQueueFull = "queue_full";
inline constexpr const char* kRefused = "refused";
inline constexpr const char* kAtEnd = "at_end";

class SinkRunner {
 public:
  // How long it goes on with what waits when the exporter ends, once the sink does not take it.
  static constexpr std::chrono::seconds kEndPatience{2};

  explicit SinkRunner(SinkSetup setup);
  // Gives the sink what waits, for a while.
  ~SinkRunner();
  SinkRunner(const SinkRunner&) = delete;
  SinkRunner& operator=(const SinkRunner&) = delete;

  // In any thread; does not wait for the sink. The first call starts the thread, which then has the
  // rights that the caller has.
  void receive(std::span<const SharedEvent> events);
  SinkSample sample() const;

 private:
  using Clock = std::chrono::steady_clock;

  void run();
  void take_some(std::unique_lock<std::mutex>& lock);
  bool deliver_some(std::unique_lock<std::mutex>& lock);
  void tend(std::unique_lock<std::mutex>& lock);
  std::uint64_t take_off(std::size_t entries);
  void end(std::unique_lock<std::mutex>& lock);

  const EventFilter filter_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Queue queue_;
  SinkSample counts_;
  bool ends_ = false;

  // The thread's.
  std::unique_ptr<Sink> sink_;
  Bursts bursts_;
  std::vector<Entry> entries_;  // that are to be delivered now
  std::chrono::milliseconds pause_{0};
  TroubleLog trouble_;
  const std::chrono::milliseconds tend_every_;
  Clock::time_point tend_at_;

  std::thread thread_;  // last: it ends first
};

}  // namespace ioc_exporter::putlog

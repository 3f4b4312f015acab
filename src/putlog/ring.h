// Ring: the newest events in memory, bounded by their number and by what they take, for who asks
// what was, and for who follows.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "putlog/filter.h"
#include "putlog/queue.h"

namespace ioc_exporter::putlog {

using Since = std::optional<std::chrono::sys_time<std::chrono::nanoseconds>>;

struct FollowerSample {
  std::uint64_t followers = 0;  // now
  std::uint64_t too_slow = 0;   // that were dropped, so far
  std::uint64_t refused = 0;    // for want of places, so far
};

class Ring {
 public:
  // How many may follow at a time, and of one holder (a user, or an address without one).
  static constexpr std::size_t kMostFollowers = 16, kMostOfOne = 4;

  explicit Ring(QueueBounds bounds) : bounds_(bounds) {}

  void add(std::span<const SharedEvent> events);

  // Those that are there, the oldest first; at most the last `most`. `first`: the sequence number
  // of the oldest that is in memory then, wanted or not; UINT64_MAX: there is none. Nothing: asking
  // the filter was not done `until` then.
  using Clock = std::chrono::steady_clock;
  std::optional<std::vector<SharedEvent>> find(
      const EventFilter& filter, const Since& since, std::size_t most = SIZE_MAX,
      std::uint64_t* first = nullptr, Clock::time_point until = Clock::time_point::max()) const;

  // One who follows. Not thread-safe, but for its ring. It must not outlive the ring.
  class Follower {
   public:
    ~Follower();
    Follower(const Follower&) = delete;
    Follower& operator=(const Follower&) = delete;

    struct News {
      std::vector<SharedEvent> events;  // that the filter wants
      std::uint64_t lost = 0;           // so many left the memory before: the follower is too slow
      bool ended = false;               // of the ring: nothing more will come
    };
    // At once, when there are some; else after `patience`, with none.
    News next(std::chrono::milliseconds patience);

   private:
    friend class Ring;
    Follower(Ring& ring, std::string holder, EventFilter filter, std::uint64_t next)
        : ring_(ring), holder_(std::move(holder)), filter_(std::move(filter)), next_(next) {}

    Ring& ring_;
    const std::string holder_;
    const EventFilter filter_;
    std::uint64_t next_;  // the number of the event that comes next
  };

  // With those since then that are there already; without `since`, from now on. Null: there are too
  // many followers, of all or of this holder.
  std::unique_ptr<Follower> follow(EventFilter filter, const Since& since,
                                   const std::string& holder);
  FollowerSample sample() const;
  // The exporter ends: wakes all who follow.
  void end();

 private:
  struct Kept {
    SharedEvent event;
    std::size_t bytes = 0;
  };

  const QueueBounds bounds_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Kept> kept_;
  std::uint64_t first_ = 0;  // the number of kept_.front()
  std::size_t bytes_ = 0;
  std::map<std::string, std::size_t> holders_;
  FollowerSample counts_;
  bool ended_ = false;
};

}  // namespace ioc_exporter::putlog

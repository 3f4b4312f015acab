// Ring: bounded buffer of recent items, for queries and followers; bounded by their number and
// their memory.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "delivery/followers.h"
#include "delivery/sink_sample.h"

namespace ioc_exporter::delivery {

using Since = std::optional<std::chrono::sys_time<std::chrono::nanoseconds>>;

struct RingBounds {
  std::size_t items = 10'000;
  std::size_t bytes = 32u << 20;
};

// The Kind says what is kept: its Item is a shared pointer to what never changes, its
// Filter `wants()` what that points to, bytes() is what that takes in memory, about, and time() is
// when it was.
template <class Kind>
class Ring {
 public:
  using Item = typename Kind::Item;
  using Filter = typename Kind::Filter;
  using Clock = std::chrono::steady_clock;

  static constexpr std::size_t kMostFollowers = Followers::kMost,
                               kMostOfOne = Followers::kMostOfOne;

  explicit Ring(RingBounds bounds) : bounds_(bounds) {}

  void add(std::span<const Item> items) {
    std::vector<Kept> gone;  // freed without the lock
    const std::scoped_lock lock(mutex_);
    for (const Item& item : items) {
      const std::size_t bytes = Kind::bytes(*item);
      kept_.push_back({item, bytes});
      bytes_ += bytes;
      while (kept_.size() > bounds_.items || (bytes_ > bounds_.bytes && kept_.size() > 1)) {
        bytes_ -= kept_.front().bytes;
        gone.push_back(std::move(kept_.front()));
        kept_.pop_front();
        ++first_;
      }
    }
    if (followers_.count() > 0) changed_.notify_all();
  }

  // Those that are there, the oldest first; at most the last `most`. `oldest`: the oldest that is
  // in memory then, wanted or not; null: there is none. Nothing: asking the filter was not done
  // `until` then.
  std::optional<std::vector<Item>> find(const Filter& filter, const Since& since,
                                        std::size_t most = SIZE_MAX, Item* oldest = nullptr,
                                        Clock::time_point until = Clock::time_point::max()) const {
    std::vector<Item> all, found;
    {
      const std::scoped_lock lock(mutex_);
      if (oldest != nullptr) *oldest = kept_.empty() ? Item() : kept_.front().item;
      for (const Kept& kept : kept_)
        if (!since || Kind::time(*kept.item) >= *since) all.push_back(kept.item);
    }
    for (; !all.empty() && found.size() < most; all.pop_back()) {
      if (filter.wants(*all.back())) found.push_back(std::move(all.back()));
      if (Clock::now() >= until) return std::nullopt;
    }
    std::ranges::reverse(found);
    return found;
  }

  // A follower. Not thread-safe, but for its ring. It must not outlive the ring.
  class Follower {
   public:
    ~Follower() {
      if (!holder_) return;
      const std::scoped_lock lock(ring_.mutex_);
      ring_.followers_.leave(*holder_);
    }
    Follower(const Follower&) = delete;
    Follower& operator=(const Follower&) = delete;

    struct News {
      std::vector<Item> items;  // that the filter wants
      std::uint64_t lost = 0;   // so many left the memory before: the follower is too slow
      bool ended = false;       // of the ring: nothing more will come
    };
    // At once, when there are some; else after `patience`, with none.
    News next(std::chrono::milliseconds patience) {
      News news;
      {
        std::unique_lock lock(ring_.mutex_);
        const auto end = [this] { return ring_.first_ + ring_.kept_.size(); };
        ring_.changed_.wait_for(lock, patience, [&] { return ring_.ended_ || next_ < end(); });
        news.ended = ring_.ended_;
        if (next_ < ring_.first_) {
          news.lost = ring_.first_ - next_;
          next_ = ring_.first_;
          return news;
        }
        for (; next_ < end() && news.items.size() < kAtATime; ++next_)
          news.items.push_back(ring_.kept_[next_ - ring_.first_].item);
      }
      std::erase_if(news.items, [this](const Item& item) { return !filter_.wants(*item); });
      return news;
    }

   private:
    friend class Ring;
    Follower(Ring& ring, std::optional<std::string> holder, Filter filter, std::uint64_t next)
        : ring_(ring), holder_(std::move(holder)), filter_(std::move(filter)), next_(next) {}

    Ring& ring_;
    const std::optional<std::string> holder_;  // nothing: the exporter itself
    const Filter filter_;
    std::uint64_t next_;  // the number of the item that comes next
  };

  // With those since then that are there already; without `since`, from now on. Null: there are too
  // many followers, of all or of this holder.
  std::unique_ptr<Follower> follow(Filter filter, const Since& since, const std::string& holder) {
    const std::scoped_lock lock(mutex_);
    if (!followers_.take(holder)) return nullptr;
    std::uint64_t next = first_ + kept_.size();
    if (since) {
      const auto begin = std::ranges::find_if(
          kept_, [&since](const Kept& kept) { return Kind::time(*kept.item) >= *since; });
      next = first_ + static_cast<std::uint64_t>(begin - kept_.begin());
    }
    return std::unique_ptr<Follower>(new Follower(*this, holder, std::move(filter), next));
  }
  // For the exporter itself, from now on: takes no place, and is not counted, nor woken.
  std::unique_ptr<Follower> follow_inside() {
    const std::scoped_lock lock(mutex_);
    return std::unique_ptr<Follower>(new Follower(*this, {}, {}, first_ + kept_.size()));
  }
  std::size_t followers() const {
    const std::scoped_lock lock(mutex_);
    return followers_.count();
  }
  SinkSample sample() const {
    const std::scoped_lock lock(mutex_);
    const std::uint64_t all = first_ + kept_.size();
    return {.sink = kMemory, .received = all, .delivered = all};
  }
  // The exporter ends: wakes all followers.
  void end() {
    const std::scoped_lock lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }

 private:
  // Items that a follower takes at a time: its filter is asked without the ring's lock.
  static constexpr std::size_t kAtATime = 4096;

  struct Kept {
    Item item;
    std::size_t bytes = 0;
  };

  const RingBounds bounds_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Kept> kept_;
  std::uint64_t first_ = 0;  // the number of kept_.front()
  std::size_t bytes_ = 0;
  Followers followers_;
  bool ended_ = false;
};

}  // namespace ioc_exporter::delivery

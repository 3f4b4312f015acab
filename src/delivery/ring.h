// Ring: bounded buffer of recent items, for queries and followers; bounded by their number and
// their memory.
#pragma once

#include <algorithm>
#include <array>
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
// when it was. share() is the part of the memory that an item takes room in: those in one push none
// out of another. takes(): a filter may want items of that share.
template <class Kind>
class Ring {
 public:
  using Item = typename Kind::Item;
  using Filter = typename Kind::Filter;
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kShares = Kind::kShares;

  // The shares but the first have this part of the bounds each, on top of them.
  static constexpr std::size_t kPart = 4;

  explicit Ring(RingBounds bounds) {
    for (Share& share : shares_)
      share.bounds = {std::max<std::size_t>(1, bounds.items / kPart), bounds.bytes / kPart};
    shares_.front().bounds = bounds;
  }

  void add(std::span<const Item> items) {
    std::vector<Kept> gone;  // freed without the lock
    const std::scoped_lock lock(mutex_);
    for (const Item& item : items) {
      const std::size_t bytes = Kind::bytes(*item);
      Share& share = shares_[Kind::share(*item)];
      share.kept.push_back({item, bytes, next_++});
      share.bytes += bytes;
      while (share.kept.size() > share.bounds.items ||
             (share.bytes > share.bounds.bytes && share.kept.size() > 1)) {
        share.bytes -= share.kept.front().bytes;
        gone.push_back(std::move(share.kept.front()));
        share.kept.pop_front();
        ++share.first;
      }
    }
    if (followers_.count() > 0) changed_.notify_all();
  }

  // Those that are there, the oldest first; at most the last `most`. Nothing: the filter
  // was still being asked when it was `enough`.
  std::optional<std::vector<Item>> find(const Filter& filter, const Since& since,
                                        const Since& until = {}, std::size_t most = SIZE_MAX,
                                        Clock::time_point enough = Clock::time_point::max()) const {
    std::vector<std::pair<std::uint64_t, Item>> all;
    std::vector<Item> found;
    {
      const std::scoped_lock lock(mutex_);
      for (std::size_t i = 0; i < kShares; ++i) {
        const auto& kept = shares_[i].kept;
        if (!Kind::takes(filter, i)) continue;
        for (const Kept& one : kept)
          if (const auto time = Kind::time(*one.item);
              (!since || time >= *since) && (!until || time <= *until))
            all.emplace_back(one.number, one.item);
      }
    }
    if (kShares > 1) std::ranges::sort(all, {}, [](const auto& one) { return one.first; });
    for (; !all.empty() && found.size() < most; all.pop_back()) {
      if (filter.wants(*all.back().second)) found.push_back(std::move(all.back().second));
      if (Clock::now() >= enough) return std::nullopt;
    }
    std::ranges::reverse(found);
    return found;
  }
  // From there on it has all that the filter wants and that was added; nothing: none has left.
  Since whole_since(const Filter& filter) const {
    Since since;
    const std::scoped_lock lock(mutex_);
    for (std::size_t i = 0; i < kShares; ++i)
      if (const Share& share = shares_[i]; Kind::takes(filter, i) && share.first > 0)
        since = std::max(since, Since(Kind::time(*share.kept.front().item)));
    return since;
  }

  // Numbers of items in each share, from its first on.
  using Places = std::array<std::uint64_t, kShares>;

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
        ring_.changed_.wait_for(lock, patience,
                                [this] { return ring_.ended_ || ring_.oldest(next_, filter_); });
        news.ended = ring_.ended_;
        for (std::size_t i = 0; i < kShares; ++i) {
          const std::uint64_t first = ring_.shares_[i].first;
          if (Kind::takes(filter_, i) && next_[i] < first) news.lost += first - next_[i];
          next_[i] = std::max(next_[i], first);
        }
        if (news.lost > 0) return news;
        while (news.items.size() < kAtATime) {
          const auto share = ring_.oldest(next_, filter_);
          if (!share) break;
          const Share& from = ring_.shares_[*share];
          news.items.push_back(from.kept[next_[*share]++ - from.first].item);
        }
      }
      std::erase_if(news.items, [this](const Item& item) { return !filter_.wants(*item); });
      return news;
    }

   private:
    friend class Ring;
    Follower(Ring& ring, std::optional<std::string> holder, Filter filter, const Places& next)
        : ring_(ring), holder_(std::move(holder)), filter_(std::move(filter)), next_(next) {}

    Ring& ring_;
    const std::optional<std::string> holder_;  // nothing: the exporter itself
    const Filter filter_;
    Places next_;  // the place of the item that comes next
  };

  // With those since then that are there already; without `since`, from now on. Null: there are too
  // many followers, of all or of this holder.
  std::unique_ptr<Follower> follow(Filter filter, const Since& since, const std::string& holder) {
    const std::scoped_lock lock(mutex_);
    if (!followers_.take(holder)) return nullptr;
    Places next = next_places();
    for (std::size_t i = 0; since && i < kShares; ++i) {
      const auto& kept = shares_[i].kept;
      const auto begin = std::ranges::find_if(
          kept, [&since](const Kept& one) { return Kind::time(*one.item) >= *since; });
      next[i] = shares_[i].first + static_cast<std::uint64_t>(begin - kept.begin());
    }
    return std::unique_ptr<Follower>(new Follower(*this, holder, std::move(filter), next));
  }
  // For the exporter itself, from now on: takes no place, and is not counted, nor woken.
  std::unique_ptr<Follower> follow_inside(Filter filter) {
    const std::scoped_lock lock(mutex_);
    return std::unique_ptr<Follower>(new Follower(*this, {}, std::move(filter), next_places()));
  }
  std::size_t followers() const {
    const std::scoped_lock lock(mutex_);
    return followers_.count();
  }
  SinkSample sample() const {
    const std::scoped_lock lock(mutex_);
    return {.sink = kMemory, .received = next_, .delivered = next_};
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
    std::uint64_t number = 0;  // among all items
  };
  struct Share {
    RingBounds bounds;
    std::deque<Kept> kept;
    std::uint64_t first = 0;  // the place of kept.front()
    std::size_t bytes = 0;
  };

  Places next_places() const {
    Places all;
    for (std::size_t i = 0; i < kShares; ++i) all[i] = shares_[i].first + shares_[i].kept.size();
    return all;
  }
  // Share of the oldest item from these places on that a filter may want; nothing: there is none.
  std::optional<std::size_t> oldest(const Places& from, const Filter& filter) const {
    std::optional<std::size_t> found;
    std::uint64_t least = UINT64_MAX;
    for (std::size_t i = 0; i < kShares; ++i) {
      const auto& [bounds, kept, first, bytes] = shares_[i];
      const std::uint64_t at = std::max(from[i], first) - first;
      if (!Kind::takes(filter, i) || at >= kept.size() || kept[at].number >= least) continue;
      least = kept[at].number;
      found = i;
    }
    return found;
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::array<Share, kShares> shares_;
  std::uint64_t next_ = 0;  // the number of the next item
  Followers followers_;
  bool ended_ = false;
};

}  // namespace ioc_exporter::delivery

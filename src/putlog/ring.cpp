#include "putlog/ring.h"

#include <algorithm>
#include <utility>

namespace ioc_exporter::putlog {
namespace {

// What a follower takes at a time: its filter is asked without the ring's lock.
constexpr std::size_t kAtATime = 4096;

}  // namespace

void Ring::add(std::span<const SharedEvent> events) {
  std::vector<Kept> gone;  // freed without the lock
  const std::scoped_lock lock(mutex_);
  for (const SharedEvent& event : events) {
    const std::size_t bytes = footprint(*event);
    kept_.push_back({event, bytes});
    bytes_ += bytes;
    while (kept_.size() > bounds_.events || (bytes_ > bounds_.bytes && kept_.size() > 1)) {
      bytes_ -= kept_.front().bytes;
      gone.push_back(std::move(kept_.front()));
      kept_.pop_front();
      ++first_;
    }
  }
  if (counts_.followers > 0) changed_.notify_all();
}

std::optional<std::vector<SharedEvent>> Ring::find(const EventFilter& filter, const Since& since,
                                                   std::size_t most, std::uint64_t* first,
                                                   Clock::time_point until) const {
  std::vector<SharedEvent> all, found;
  {
    const std::scoped_lock lock(mutex_);
    if (first != nullptr) *first = kept_.empty() ? UINT64_MAX : kept_.front().event->seq;
    for (const Kept& kept : kept_)
      if (!since || kept.event->time >= *since) all.push_back(kept.event);
  }
  for (; !all.empty() && found.size() < most; all.pop_back()) {
    if (filter.wants(*all.back())) found.push_back(std::move(all.back()));
    if (Clock::now() >= until) return std::nullopt;
  }
  std::ranges::reverse(found);
  return found;
}

std::unique_ptr<Ring::Follower> Ring::follow(EventFilter filter, const Since& since,
                                             const std::string& holder) {
  const std::scoped_lock lock(mutex_);
  if (counts_.followers >= kMostFollowers || holders_[holder] >= kMostOfOne) {
    ++counts_.refused;
    if (holders_[holder] == 0) holders_.erase(holder);
    return nullptr;
  }
  std::uint64_t next = first_ + kept_.size();
  if (since) {
    const auto begin = std::ranges::find_if(
        kept_, [&since](const Kept& kept) { return kept.event->time >= *since; });
    next = first_ + static_cast<std::uint64_t>(begin - kept_.begin());
  }
  ++counts_.followers;
  ++holders_[holder];
  return std::unique_ptr<Follower>(new Follower(*this, holder, std::move(filter), next));
}

FollowerSample Ring::sample() const {
  const std::scoped_lock lock(mutex_);
  return counts_;
}

void Ring::end() {
  const std::scoped_lock lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

Ring::Follower::~Follower() {
  const std::scoped_lock lock(ring_.mutex_);
  --ring_.counts_.followers;
  const auto own = ring_.holders_.find(holder_);
  if (--own->second == 0) ring_.holders_.erase(own);
}

Ring::Follower::News Ring::Follower::next(std::chrono::milliseconds patience) {
  News news;
  {
    std::unique_lock lock(ring_.mutex_);
    const auto end = [this] { return ring_.first_ + ring_.kept_.size(); };
    ring_.changed_.wait_for(lock, patience, [&] { return ring_.ended_ || next_ < end(); });
    news.ended = ring_.ended_;
    if (next_ < ring_.first_) {
      news.lost = ring_.first_ - next_;
      ++ring_.counts_.too_slow;
      next_ = ring_.first_;
      return news;
    }
    for (; next_ < end() && news.events.size() < kAtATime; ++next_)
      news.events.push_back(ring_.kept_[next_ - ring_.first_].event);
  }
  std::erase_if(news.events, [this](const SharedEvent& event) { return !filter_.wants(*event); });
  return news;
}

}  // namespace ioc_exporter::putlog

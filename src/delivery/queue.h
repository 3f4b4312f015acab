// Queue: what waits for one sink, bounded by its number and by what it takes in memory. Who puts in
// never waits. Not thread-safe.
#pragma once

#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

namespace ioc_exporter::delivery {

struct QueueBounds {
  std::size_t events = 20'000;
  std::size_t bytes = 16u << 20;
};

template <class Item>
class Queue {
 public:
  explicit Queue(QueueBounds bounds) : bounds_(bounds) {}

  // False: there is no room for it.
  bool push(Item item, std::size_t bytes) {
    if (waiting_.size() >= bounds_.events || bytes_ + bytes > bounds_.bytes) return false;
    bytes_ += bytes;
    waiting_.emplace_back(std::move(item), bytes);
    return true;
  }
  // The first ones, at most `most`.
  std::vector<Item> take(std::size_t most) {
    std::vector<Item> taken;
    while (!waiting_.empty() && taken.size() < most) {
      bytes_ -= waiting_.front().second;
      taken.push_back(std::move(waiting_.front().first));
      waiting_.pop_front();
    }
    return taken;
  }
  bool empty() const { return waiting_.empty(); }
  std::size_t size() const { return waiting_.size(); }

 private:
  QueueBounds bounds_;
  std::deque<std::pair<Item, std::size_t>> waiting_;
  std::size_t bytes_ = 0;
};

}  // namespace ioc_exporter::delivery

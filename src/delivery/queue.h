// Queue: what waits for one sink, bounded by its number and by what it takes in memory. A producer
// never waits. Not thread-safe.
//
// In a full queue an owner with its equal part or more gets no place. Else the newest item of
// whoever has most makes room: nobody loses a place to another who floods.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
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

  // How many were dropped for it, itself included: 0, there was room. `owner`: whose it is.
  std::size_t push(Item item, std::string_view owner, std::size_t bytes) {
    std::size_t dropped = 0;
    auto own = owners_.find(owner);
    for (; is_full(bytes); ++dropped) {
      if (has_equal_part(own == owners_.end() ? Held() : own->second, bytes)) return dropped + 1;
      drop_newest(most_of());
    }
    if (own == owners_.end()) own = owners_.emplace(owner, Held()).first;
    ++own->second.items;
    own->second.bytes += bytes;
    bytes_ += bytes;
    waiting_.push_back({std::move(item), bytes, own});
    return dropped;
  }
  // The first ones, at most `most`.
  std::vector<Item> take(std::size_t most) {
    std::vector<Item> taken;
    while (!waiting_.empty() && taken.size() < most) {
      leave(waiting_.front());
      taken.push_back(std::move(waiting_.front().item));
      waiting_.pop_front();
    }
    return taken;
  }
  bool empty() const { return waiting_.empty(); }

 private:
  struct Held {
    std::size_t items = 0, bytes = 0;
  };
  using Owners = std::map<std::string, Held, std::less<>>;  // of owners that hold items
  struct Waiting {
    Item item;
    std::size_t bytes = 0;
    typename Owners::iterator owner;
  };

  bool lacks_places() const { return waiting_.size() >= bounds_.events; }
  bool is_full(std::size_t bytes) const { return lacks_places() || bytes_ + bytes > bounds_.bytes; }
  // With one more, of what there is too little of.
  bool has_equal_part(const Held& has, std::size_t bytes) const {
    const std::size_t parts = owners_.size() + (has.items == 0 ? 1 : 0);
    return lacks_places() ? (has.items + 1) * parts > bounds_.events
                          : (has.bytes + bytes) * parts > bounds_.bytes;
  }
  typename Owners::iterator most_of() {
    const bool places = lacks_places();
    return std::ranges::max_element(owners_, {}, [places](const auto& owner) {
      return places ? owner.second.items : owner.second.bytes;
    });
  }
  void drop_newest(typename Owners::iterator owner) {
    const auto newest =
        std::ranges::find(waiting_.rbegin(), waiting_.rend(), owner, &Waiting::owner);
    leave(*newest);
    waiting_.erase(std::next(newest).base());
  }
  void leave(const Waiting& one) {
    bytes_ -= one.bytes;
    Held& held = one.owner->second;
    held.bytes -= one.bytes;
    if (--held.items == 0) owners_.erase(one.owner);
  }

  QueueBounds bounds_;
  std::deque<Waiting> waiting_;
  std::size_t bytes_ = 0;
  Owners owners_;
};

}  // namespace ioc_exporter::delivery

// Overdue: what has been gone for long enough to be freed.
#pragma once

#include <chrono>
#include <map>
#include <set>
#include <vector>

namespace ioc_exporter::puts {

template <class Key>
class Overdue {
 public:
  using Clock = std::chrono::steady_clock;

  // Keeps the keys of `gone` alone, and gives those that have been gone for `wait`.
  std::vector<Key> due(const std::set<Key>& gone, Clock::time_point now,
                       std::chrono::seconds wait) {
    std::erase_if(since_, [&gone](const auto& entry) { return !gone.contains(entry.first); });
    std::vector<Key> due;
    for (const Key& key : gone) {
      const auto [entry, is_new] = since_.try_emplace(key, now);
      if (!is_new && now - entry->second >= wait) due.push_back(key);
    }
    return due;
  }
  void forget(const Key& key) { since_.erase(key); }

 private:
  std::map<Key, Clock::time_point> since_;
};

}  // namespace ioc_exporter::puts

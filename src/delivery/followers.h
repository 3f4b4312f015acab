// Followers: the places of followers, and their holders. Not thread-safe.
#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace ioc_exporter::delivery {

class Followers {
 public:
  // How many may follow at a time, and of one holder (a user, or an address without one).
  static constexpr std::size_t kMost = 16, kMostOfOne = 4;

  // False: there is no place, for anybody or for this holder.
  bool take(const std::string& holder) {
    const auto own = holders_.find(holder);
    if (count_ >= kMost || (own != holders_.end() && own->second >= kMostOfOne)) return false;
    ++count_;
    ++holders_[holder];
    return true;
  }
  void leave(const std::string& holder) {
    --count_;
    const auto own = holders_.find(holder);
    if (--own->second == 0) holders_.erase(own);
  }
  std::size_t count() const { return count_; }

 private:
  std::map<std::string, std::size_t> holders_;
  std::size_t count_ = 0;
};

}  // namespace ioc_exporter::delivery

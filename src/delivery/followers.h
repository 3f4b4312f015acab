// Followers: the places for who follows what comes, and who holds them. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace ioc_exporter::delivery {

struct FollowerSample {
  std::uint64_t followers = 0;  // now
  std::uint64_t too_slow = 0;   // that were dropped, so far
  std::uint64_t refused = 0;    // for want of places, so far
};

class Followers {
 public:
  // How many may follow at a time, and of one holder (a user, or an address without one).
  static constexpr std::size_t kMost = 16, kMostOfOne = 4;

  // False: there is no place, for anybody or for this holder.
  bool take(const std::string& holder);
  void leave(const std::string& holder);
  void note_too_slow() { ++counts_.too_slow; }
  const FollowerSample& sample() const { return counts_; }

 private:
  std::map<std::string, std::size_t> holders_;
  FollowerSample counts_;
};

}  // namespace ioc_exporter::delivery

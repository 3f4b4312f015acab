#include "delivery/followers.h"

namespace ioc_exporter::delivery {

bool Followers::take(const std::string& holder) {
  const auto own = holders_.find(holder);
  if (count_ >= kMost || (own != holders_.end() && own->second >= kMostOfOne)) return false;
  ++count_;
  ++holders_[holder];
  return true;
}

void Followers::leave(const std::string& holder) {
  --count_;
  const auto own = holders_.find(holder);
  if (--own->second == 0) holders_.erase(own);
}

}  // namespace ioc_exporter::delivery

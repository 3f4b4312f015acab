#include "delivery/followers.h"

namespace ioc_exporter::delivery {

bool Followers::take(const std::string& holder) {
  const auto own = holders_.find(holder);
  if (counts_.followers >= kMost || (own != holders_.end() && own->second >= kMostOfOne)) {
    ++counts_.refused;
    return false;
  }
  ++counts_.followers;
  ++holders_[holder];
  return true;
}

void Followers::leave(const std::string& holder) {
  --counts_.followers;
  const auto own = holders_.find(holder);
  if (--own->second == 0) holders_.erase(own);
}

}  // namespace ioc_exporter::delivery

#include "base/fair_shares.h"

#include <algorithm>

namespace ioc_exporter {

std::vector<std::uint64_t> fair_shares(std::uint64_t total, const std::vector<Claim>& claims) {
  const auto at = [&claims](std::uint64_t level) {
    std::vector<std::uint64_t> shares;
    shares.reserve(claims.size());
    for (const Claim& claim : claims)
      shares.push_back(std::max(claim.least, std::min(claim.most, level)));
    return shares;
  };
  const auto is_within = [&](std::uint64_t level) {
    std::uint64_t sum = 0;
    for (const std::uint64_t share : at(level)) sum += share;
    return sum <= total;
  };
  std::uint64_t low = 0, high = total + 1;  // the level: low is within the total, if any is
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (is_within(middle) ? low : high) = middle;
  }
  return at(low);
}

}  // namespace ioc_exporter

// Fair shares of what there is too little of. Pure.
#pragma once

#include <cstdint>
#include <vector>

namespace ioc_exporter {

// Amount that one holds and keeps, and the most that it wants.
struct Claim {
  std::uint64_t least = 0;
  std::uint64_t most = 0;
};

// Share of each. The one with least gets more first: all rise to the same level, or to their most.
// Together no more than `total`, unless they have more already.
std::vector<std::uint64_t> fair_shares(std::uint64_t total, const std::vector<Claim>& claims);

}  // namespace ioc_exporter

#include "records/probe/memory_shares.h"

#include <algorithm>
#include <map>

namespace ioc_exporter::records {
namespace {

struct Range {
  std::uint64_t least = 0;
  std::uint64_t most = 0;
};

// Each gets its least, and what is left of `total` goes to those who have least so far: all get up
// to the same level, or their most.
std::vector<std::uint64_t> fill(std::uint64_t total, const std::vector<Range>& ranges) {
  const auto at = [](const Range& range, std::uint64_t level) {
    return std::max(range.least, std::min(range.most, level));
  };
  const auto sum = [&](std::uint64_t level) {
    std::uint64_t all = 0;
    for (const Range& range : ranges) all += at(range, level);
    return all;
  };
  std::uint64_t low = 0, high = total + 1;  // the level: low is within the total, if any is
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (sum(middle) <= total ? low : high) = middle;
  }
  std::vector<std::uint64_t> filled;
  filled.reserve(ranges.size());
  for (const Range& range : ranges) filled.push_back(at(range, low));
  return filled;
}

using Claims = std::vector<const MemoryClaim*>;
using Granted = std::map<const MemoryClaim*, std::uint64_t>;

// What the claim has now, and the most that it is to get in this round.
struct Round {
  const Granted& granted;
  std::uint64_t MemoryClaim::*goal;

  Range of(const MemoryClaim& claim) const {
    const std::uint64_t least = granted.at(&claim);
    return {least, std::max(least, std::min(claim.*goal, claim.wanted))};
  }
};

// To users equally, within `bound` each; then to the IOCs of each.
void give(std::uint64_t total, std::uint64_t bound, const std::map<std::uint32_t, Claims>& users,
          std::uint64_t MemoryClaim::*goal, Granted& granted) {
  std::vector<Range> by_user;
  for (const auto& [user, claims] : users) {
    Range& range = by_user.emplace_back();
    for (const MemoryClaim* claim : claims) {
      const Range one = Round{granted, goal}.of(*claim);
      range.least += one.least;
      range.most += one.most;
    }
    range.most = std::max(range.least, std::min(range.most, bound));
  }
  const auto shares = fill(total, by_user);
  std::size_t index = 0;
  for (const auto& [user, claims] : users) {
    std::vector<Range> ranges;
    for (const MemoryClaim* claim : claims) ranges.push_back(Round{granted, goal}.of(*claim));
    const auto parts = fill(shares[index++], ranges);
    for (std::size_t i = 0; i < claims.size(); ++i) granted[claims[i]] = parts[i];
  }
}

}  // namespace

std::vector<std::uint64_t> share_memory(std::uint64_t limit,
                                        const std::vector<MemoryClaim>& claims) {
  std::map<std::uint32_t, Claims> first, rest;
  Granted granted;
  std::uint64_t held_by_rest = 0;
  for (const MemoryClaim& claim : claims) {
    (claim.comes_first ? first : rest)[claim.user].push_back(&claim);
    if (!claim.comes_first) held_by_rest += claim.held;
    granted[&claim] = claim.held;
  }
  const std::uint64_t for_first = limit > held_by_rest ? limit - held_by_rest : 0;
  for (const auto goal : {&MemoryClaim::likely, &MemoryClaim::wanted})
    give(for_first, limit, first, goal, granted);
  std::uint64_t taken = 0;
  for (const auto& [user, of_user] : first)
    for (const MemoryClaim* claim : of_user) taken += granted[claim];
  const std::uint64_t for_rest = limit > taken ? limit - taken : 0;
  for (const auto goal : {&MemoryClaim::likely, &MemoryClaim::wanted})
    give(for_rest, limit / 2, rest, goal, granted);
  std::vector<std::uint64_t> shares;
  shares.reserve(claims.size());
  for (const MemoryClaim& claim : claims) shares.push_back(granted[&claim]);
  return shares;
}

}  // namespace ioc_exporter::records

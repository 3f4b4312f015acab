#include "records/probe/memory_shares.h"

#include <algorithm>
#include <map>

#include "base/fair_shares.h"

namespace ioc_exporter::records {
namespace {

using Claims = std::vector<const MemoryClaim*>;
using Granted = std::map<const MemoryClaim*, std::uint64_t>;

// To users equally, within `bound` each; then to the IOCs of each. `goal`: the most that a claim is
// to get in this round.
void give(std::uint64_t total, std::uint64_t bound, const std::map<std::uint32_t, Claims>& users,
          std::uint64_t MemoryClaim::*goal, Granted& granted) {
  std::vector<Claim> by_user;
  std::vector<std::vector<Claim>> by_ioc;
  for (const auto& [user, claims] : users) {
    Claim& all = by_user.emplace_back();
    std::vector<Claim>& iocs = by_ioc.emplace_back();
    for (const MemoryClaim* claim : claims) {
      const std::uint64_t has = granted.at(claim);
      iocs.push_back({has, std::max(has, std::min(claim->*goal, claim->wanted))});
      all.least += iocs.back().least;
      all.most += iocs.back().most;
    }
    all.most = std::max(all.least, std::min(all.most, bound));
  }
  const auto shares = fair_shares(total, by_user);
  std::size_t index = 0;
  for (const auto& [user, claims] : users) {
    const auto parts = fair_shares(shares[index], by_ioc[index]);
    ++index;
    for (std::size_t i = 0; i < claims.size(); ++i) granted[claims[i]] = parts[i];
  }
}

}  // namespace

std::vector<std::uint64_t> share_memory(std::uint64_t limit,
                                        const std::vector<MemoryClaim>& claims) {
  std::map<std::uint32_t, Claims> users;
  Granted granted;
  for (const MemoryClaim& claim : claims) {
    users[claim.user].push_back(&claim);
    granted[&claim] = claim.held;
  }
  for (const auto goal : {&MemoryClaim::likely, &MemoryClaim::wanted})
    give(limit, limit / 2, users, goal, granted);
  std::vector<std::uint64_t> shares;
  shares.reserve(claims.size());
  for (const MemoryClaim& claim : claims) shares.push_back(granted[&claim]);
  return shares;
}

}  // namespace ioc_exporter::records

#include "iocs/find/places.h"

#include <algorithm>
#include <map>

#include "base/fair_shares.h"

namespace ioc_exporter::iocs {

std::vector<bool> share_places(const std::vector<PlaceWanted>& wanted, std::size_t places) {
  std::map<uid_t, std::vector<std::size_t>> users;
  for (const bool holders : {true, false})
    for (std::size_t i = 0; i < wanted.size(); ++i)
      if (wanted[i].has_one == holders) users[wanted[i].user].push_back(i);
  std::vector<Claim> claims;
  for (const auto& [user, iocs] : users) claims.push_back({0, iocs.size()});
  std::vector<bool> given(wanted.size(), false);
  const std::vector<std::uint64_t> shares = fair_shares(places, claims);
  auto share = shares.begin();
  for (const auto& [user, iocs] : users) {
    for (std::size_t i = 0; i < *share; ++i) given[iocs[i]] = true;
    ++share;
  }
  return given;
}

}  // namespace ioc_exporter::iocs

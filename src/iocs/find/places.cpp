#include "iocs/find/places.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace ioc_exporter::iocs {
namespace {

using Indices = std::vector<std::size_t>;

// So many that each user gets as many as he wants of them, or this.
std::size_t fair_share(const std::map<uid_t, Indices>& by_user, std::size_t places) {
  std::vector<std::size_t> counts;
  for (const auto& [user, indices] : by_user) counts.push_back(indices.size());
  std::ranges::sort(counts);
  std::size_t share = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    share = places / (counts.size() - i);
    if (counts[i] > share) return share;
    places -= counts[i];
    share = counts[i];
  }
  return share;
}

}  // namespace

std::vector<bool> share_places(const std::vector<PlaceWanted>& wanted, std::size_t places,
                               std::size_t most_others) {
  std::vector<bool> given(wanted.size(), false);
  Indices first;
  std::map<uid_t, Indices> others;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    (wanted[i].goes_first ? first : others[wanted[i].user]).push_back(i);
  const auto give = [&](Indices& indices, std::size_t most) {
    std::ranges::sort(indices, {}, [&wanted](std::size_t i) {
      const PlaceWanted& one = wanted[i];
      return std::tuple(!one.has_one, one.id.start_ticks, one.id.pid);
    });
    for (std::size_t i = 0; i < std::min(indices.size(), most); ++i) given[indices[i]] = true;
  };
  give(first, places);
  places = std::min(places - std::min(first.size(), places), most_others);
  const std::size_t share = fair_share(others, places);
  for (auto& [user, indices] : others) give(indices, share);
  return given;
}

}  // namespace ioc_exporter::iocs

#include "functions/crowds.h"

#include <algorithm>

#include "shared/shares.h"

namespace ioc_exporter::functions {

bool Crowds::come_together(Clock::time_point now) {
  std::size_t over = 0;
  for (auto& [place, users] : resting_)
    over += std::erase_if(users, [now](const auto& one) { return now >= one.second; });
  std::erase_if(resting_, [](const auto& one) { return one.second.empty(); });
  return over > 0;
}

std::set<iocs::IocId> Crowds::choose(const Place& place, bool has_symbol,
                                     const std::vector<CrowdMember>& members) const {
  const auto resting = resting_.find(place);
  const auto is_calm = [&](const CrowdMember& one) {
    return resting == resting_.end() || !resting->second.contains(one.user);
  };
  const auto calm = static_cast<std::size_t>(std::ranges::count_if(members, is_calm));
  if (has_symbol && (resting == resting_.end() || calm > kMostApart)) return {Attachments::kAll};
  std::set<iocs::IocId> processes;
  if (has_symbol)
    for (const CrowdMember& one : members)
      if (is_calm(one) || members.size() <= kMostApart) processes.insert(one.id);
  // Of the others, those that are attached stay, and each user gets some.
  constexpr iocx_table_bound kBound{kMostApart, kMostApart / 2};
  std::map<std::uint32_t, std::uint32_t> by_user;
  for (const bool attached : {true, false})
    for (const CrowdMember& one : members) {
      if (one.is_attached != attached || processes.contains(one.id)) continue;
      std::uint32_t& of_user = by_user[one.user];
      const auto all = static_cast<std::uint32_t>(processes.size());
      if (all >= kMostApart ||
          (!attached &&
           !iocx_share_may(kBound, IOCX_SHARE_FIRST, IOCX_SHARE_FIRST + 1, all, 0, of_user)))
        continue;
      ++of_user;
      processes.insert(one.id);
    }
  return processes;
}

}  // namespace ioc_exporter::functions

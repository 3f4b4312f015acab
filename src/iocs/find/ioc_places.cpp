#include "iocs/find/ioc_places.h"

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

bool IocPlaces::share_out(FoundProcesses& processes, FinderClock::time_point now,
                          Changes& changes) {
  if (!std::exchange(stale_, false)) return false;
  left_out_.by_user.clear();
  bool others = false;
  for (const IocKind kind : {IocKind::base, IocKind::ca_server, IocKind::pva_server})
    others = share_out(kind, processes, now, changes) || others;
  return others;
}

bool IocPlaces::share_out(IocKind kind, FoundProcesses& processes, FinderClock::time_point now,
                          Changes& changes) {
  std::vector<FoundProcess*> those;
  for (auto& [pid, process] : processes)
    if (process.tracked && process.tracked->wanted && process.tracked->ioc.kind == kind)
      those.push_back(&process);
  // The older ones choose their names first.
  std::ranges::sort(those, {},
                    [](const auto* process) { return age_of(process->tracked->ioc.id); });
  std::vector<PlaceWanted> wanted;
  for (const FoundProcess* process : those)
    wanted.push_back({process->tracked->ioc.user, process->tracked->followed});
  const std::vector<bool> given = share_places(wanted, places_);
  bool others = false;
  for (std::size_t i = 0; i < given.size(); ++i) {
    TrackedIoc& tracked = *those[i]->tracked;
    if (given[i]) continue;
    ++left_out_.by_user[tracked.ioc.user_name];
    if (!std::exchange(tracked.followed, false)) continue;
    others = true;
    ++left_out_.evicted;
    names_.release(tracked.ioc.name, now);
    tracked.memory = {};
    tracked.status = {};
    if (std::exchange(tracked.told, false)) changes.evicted.push_back(tracked.ioc);
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    TrackedIoc& tracked = *those[i]->tracked;
    if (!given[i] || (tracked.followed && keeps_name(tracked.ioc))) continue;
    const std::string before = tracked.ioc.name;
    take_name(tracked, now);
    if (!std::exchange(tracked.followed, true)) {
      others = true;
      keep_open(fs_, *those[i]);
    } else if (tracked.ioc.name != before) {
      // A name with a pid is given up when the one without it is free: the other IOC has ended.
      names_.release(before, now);
      tracked.changed = true;
    }
  }
  return others;
}

void IocPlaces::take_name(TrackedIoc& tracked, FinderClock::time_point now) {
  Ioc& ioc = tracked.ioc;
  auto [name, contested_with] =
      names_.take(ioc.claimed_name, {ioc.id, ioc.user, ioc.user_name}, now);
  ioc.name = std::move(name);
  ioc.contested_with = std::move(contested_with);
}

}  // namespace ioc_exporter::iocs

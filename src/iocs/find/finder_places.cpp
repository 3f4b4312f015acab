// The part of Finder that says which IOCs are followed, and by which names.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/fair_shares.h"
#include "iocs/find/finder.h"

namespace ioc_exporter::iocs {

namespace {

NameClaim claim_of(const Ioc& ioc) {
  return {ioc.id, ioc.user, ioc.user_name};
}

}  // namespace

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

void Finder::share_out(Clock::time_point now, Changes& changes) {
  if (!std::exchange(places_stale_, false)) return;
  left_out_.by_user.clear();
  share_out(IocKind::base, now, changes);
  share_out(IocKind::ca_server, now, changes);
}

void Finder::share_out(IocKind kind, Clock::time_point now, Changes& changes) {
  std::vector<Process*> processes;
  for (auto& [pid, process] : processes_)
    if (process.tracked && process.tracked->wanted && process.tracked->ioc.kind == kind)
      processes.push_back(&process);
  // The older ones choose their names first.
  std::ranges::sort(processes, {}, [](const Process* process) {
    return std::pair(process->tracked->ioc.id.start_ticks, process->tracked->ioc.id.pid);
  });
  std::vector<PlaceWanted> wanted;
  for (const Process* process : processes) {
    const Ioc& ioc = process->tracked->ioc;
    wanted.push_back({ioc.user, process->tracked->followed});
  }
  const std::vector<bool> given = share_places(wanted, options_.places);
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i]) continue;
    ++left_out_.by_user[processes[i]->tracked->ioc.user_name];
    if (processes[i]->tracked->followed) evict(*processes[i], now, changes);
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    Tracked& tracked = *processes[i]->tracked;
    if (given[i] && !tracked.followed)
      follow(*processes[i], now);
    else if (given[i] && !keeps_name(tracked.ioc))
      rename(tracked, now);
  }
}

void Finder::take_name(Tracked& tracked, Clock::time_point now) {
  Ioc& ioc = tracked.ioc;
  auto [name, contested_with] = names_.take(ioc.claimed_name, claim_of(ioc), now);
  ioc.name = std::move(name);
  ioc.contested_with = std::move(contested_with);
}

// A name with a pid is given up when the one without it is free: the other IOC has ended.
void Finder::rename(Tracked& tracked, Clock::time_point now) {
  const std::string before = tracked.ioc.name;
  take_name(tracked, now);
  if (tracked.ioc.name == before) return;
  names_.release(before, now);
  tracked.changed = true;
}

void Finder::follow(Process& process, Clock::time_point now) {
  Tracked& tracked = *process.tracked;
  tracked.followed = true;
  owners_stale_ = true;
  take_name(tracked, now);
  keep_open(process);
}

void Finder::keep_open(Process& process) const {
  if (!fs_.is_host()) return;
  const std::string folder = folder_of(process);
  process.tracked->memory = KeptFile::open(fs_, folder + "/pagemap");
  process.tracked->status = KeptFile::open(fs_, folder + "/status");
}

void Finder::evict(Process& process, Clock::time_point now, Changes& changes) {
  Tracked& tracked = *process.tracked;
  tracked.followed = false;
  owners_stale_ = true;
  ++left_out_.evicted;
  names_.release(tracked.ioc.name, now);
  tracked.memory = {};
  tracked.status = {};
  if (std::exchange(tracked.told, false)) changes.evicted.push_back(tracked.ioc);
}

}  // namespace ioc_exporter::iocs

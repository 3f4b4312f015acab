// The part of Finder that says which IOCs are followed, and by which names.
#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "iocs/find/finder.h"

namespace ioc_exporter::iocs {

namespace {

NameClaim claim_of(const Ioc& ioc) {
  return {ioc.id, ioc.user, ioc.user_name, ioc.goes_first};
}

}  // namespace

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
  // Those whose users go first before others, then the older ones: they choose their names so.
  std::ranges::sort(processes, {}, [](const Process* process) {
    const Ioc& ioc = process->tracked->ioc;
    return std::tuple(!ioc.goes_first, ioc.id.start_ticks, ioc.id.pid);
  });
  std::vector<PlaceWanted> wanted;
  for (const Process* process : processes) {
    const Ioc& ioc = process->tracked->ioc;
    wanted.push_back({ioc.id, ioc.user, ioc.goes_first, process->tracked->followed});
  }
  const std::size_t most_others =
      options_.first_users.leaves_some_out() ? options_.places / kShareOfOthers : options_.places;
  const std::vector<bool> given = share_places(wanted, options_.places, most_others);
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i]) continue;
    ++left_out_.by_user[processes[i]->tracked->ioc.user_name];
    if (processes[i]->tracked->followed) evict(*processes[i], now, changes);
  }
  for (std::size_t i = 0; i < given.size(); ++i)
    if (given[i] && !processes[i]->tracked->followed) follow(*processes[i], now, changes);
}

void Finder::take_name(Tracked& tracked, Clock::time_point now) {
  Ioc& ioc = tracked.ioc;
  auto [name, contested_with] = names_.take(ioc.claimed_name, claim_of(ioc), now);
  ioc.name = std::move(name);
  ioc.contested_with = std::move(contested_with);
}

void Finder::follow(Process& process, Clock::time_point now, Changes& changes) {
  Tracked& tracked = *process.tracked;
  tracked.followed = true;
  owners_stale_ = true;
  Tracked* loser = nullptr;
  if (const auto id = names_.yields_to(tracked.ioc.claimed_name, claim_of(tracked.ioc)))
    if (const auto other = processes_.find(id->pid);
        other != processes_.end() && other->second.tracked)
      loser = &*other->second.tracked;
  if (loser != nullptr) names_.release(loser->ioc.name, now);
  take_name(tracked, now);
  if (loser != nullptr) {  // it goes on as another one
    if (std::exchange(loser->told, false)) changes.ended.push_back(loser->ioc);
    take_name(*loser, now);
  }
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

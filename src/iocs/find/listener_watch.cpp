#include "iocs/find/listener_watch.h"

namespace ioc_exporter::iocs {
namespace {

// A listener whose holder is in none of /proc's processes (it came since they were listed, or is in
// a pid namespace that is not seen) is searched for so many times.
constexpr unsigned kMostSearches = 5;
// The files of another namespace take milliseconds: while none of its IOCs is young, they are read
// so often.
constexpr std::chrono::seconds kOthersInterval{5};

}  // namespace

void ListenerWatch::update(FoundProcesses& processes, FinderClock::time_point now) {
  NamespaceListeners listeners = read_all(processes, now);
  const bool same = listeners == listeners_;
  listeners_ = std::move(listeners);
  if (!same || std::exchange(stale_, false)) find_owners(processes, now);
}

// Owners of listeners, as far as known.
void ListenerWatch::find_owners(FoundProcesses& processes, FinderClock::time_point now) {
  std::set<std::pair<std::uint64_t, std::uint64_t>> claimed;  // namespace, inode
  const auto claim = [&](std::uint64_t net, const OwnedSockets& sockets) {
    for (const std::uint64_t inode : sockets.inodes()) claimed.emplace(net, inode);
  };
  for (auto& [pid, process] : processes) {
    if (!process.tracked) continue;
    TrackedIoc& tracked = *process.tracked;
    const auto near = listeners_.find(tracked.ioc.net_namespace);
    if (near == listeners_.end()) continue;
    const bool young = now - tracked.found < young_;
    stale_ = stale_ || young;
    auto listening = tracked.sockets.update(fs_, pid, near->second, young);
    if (listening != tracked.ioc.listening) {
      tracked.ioc.listening = std::move(listening);
      tracked.changed = true;
    }
    claim(near->first, tracked.sockets);
  }
  if (const auto own = listeners_.find(own_namespace_); own != listeners_.end()) {
    own_sockets_.update(fs_, ::getpid(), own->second, false);
    claim(own->first, own_sockets_);
  }
  unclaimed_.clear();
  for (const auto& [net, in_it] : listeners_)
    for (const auto& [inode, socket] : in_it)
      if (!claimed.contains({net, inode})) unclaimed_.insert({net, inode, socket});
  std::erase_if(speaking_, [this](const auto& one) { return !unclaimed_.contains(one.first); });
}

// In the exporter's namespace, and in those of the IOCs that are watched.
ListenerWatch::NamespaceListeners ListenerWatch::read_all(const FoundProcesses& processes,
                                                          FinderClock::time_point now) {
  NamespaceListeners listeners;
  std::set<std::uint64_t> changing;
  for (const auto& [pid, process] : processes)
    if (is_followed(process) && now - process.tracked->found < young_)
      changing.insert(process.tracked->ioc.net_namespace);
  if (auto own = read_listeners(own_table_)) listeners.emplace(own_namespace_, std::move(*own));
  for (const auto& [pid, process] : processes) {
    if (!is_followed(process)) continue;
    // Through the first of the namespace that still answers.
    const std::uint64_t net = process.tracked->ioc.net_namespace;
    if (listeners.contains(net)) continue;
    const auto kept = listeners_.find(net);
    if (kept != listeners_.end() && !changing.contains(net) && now - read_[net] < kOthersInterval) {
      listeners.insert(*kept);
      continue;
    }
    auto table = SocketTable::of_process(fs_, pid);
    auto its = table ? read_listeners(*table) : Result<Listeners>(table.error());
    if (!its) continue;
    listeners.emplace(net, std::move(*its));
    read_[net] = now;
  }
  std::erase_if(read_, [&](const auto& one) { return !listeners.contains(one.first); });
  return listeners;
}

std::map<Listener, IocKind> ListenerWatch::searched() const {
  std::map<Listener, IocKind> those;
  for (const auto& [listener, speaking] : speaking_)
    if (speaking.searches < kMostSearches) those.emplace(listener, speaking.kind);
  return those;
}

std::vector<Listener> ListenerWatch::ownerless() const {
  std::vector<Listener> found;
  for (const auto& [listener, speaking] : speaking_)
    if (speaking.kind == IocKind::other_ca && speaking.searches >= kMostSearches)
      found.push_back(listener);
  return found;
}

void ListenerWatch::claim(FoundProcess& process, std::uint64_t net,
                          const std::set<std::uint64_t>& inodes) {
  TrackedIoc& tracked = *process.tracked;
  if (const auto near = listeners_.find(net); near != listeners_.end())
    tracked.ioc.listening = tracked.sockets.update(fs_, process.stat.id.pid, near->second, true);
  std::erase_if(unclaimed_, [&](const Listener& one) { return inodes.contains(one.inode); });
  std::erase_if(speaking_, [&](const auto& one) { return inodes.contains(one.first.inode); });
}

}  // namespace ioc_exporter::iocs

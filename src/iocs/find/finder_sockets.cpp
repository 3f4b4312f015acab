// The part of Finder that looks at listening sockets: whose they are, and which of them tell a CA
// server that is no IOC.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "iocs/find/finder.h"

namespace ioc_exporter::iocs {
namespace {

// A listener whose holder is in none of /proc's processes (it came since they were listed, or is in
// a pid namespace that is not seen) is looked for so many times.
constexpr unsigned kMostSearches = 5;

// Passes on what comes to its ports, searches too: what is behind it is the server.
bool is_forwarder(const ProcessStat& process) {
  constexpr std::array<std::string_view, 5> kForwarders{"docker-proxy", "rootlessport", "socat",
                                                        "ssh", "sshd"};
  return std::ranges::find(kForwarders, process.comm) != kForwarders.end();
}

}  // namespace

void Finder::speaks_ca(const Listener& listener) {
  if (unclaimed_.contains(listener)) speaking_.try_emplace(listener, 0);
  settled_ = false;
}

void Finder::update_sockets(Clock::time_point now) {
  NamespaceListeners listeners = read_all_listeners();
  const bool same = listeners == listeners_;
  listeners_ = std::move(listeners);
  if (!same || std::exchange(owners_stale_, false)) find_owners(now);
  start_servers(listeners_, now);
}

// Owners of listeners, as far as known.
void Finder::find_owners(Clock::time_point now) {
  const NamespaceListeners& listeners = listeners_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> claimed;  // namespace, inode
  const auto claim = [&](std::uint64_t net, const OwnedSockets& sockets) {
    for (const std::uint64_t inode : sockets.inodes()) claimed.emplace(net, inode);
  };
  for (auto& [pid, process] : processes_) {
    if (!process.tracked) continue;
    Tracked& tracked = *process.tracked;
    const auto near = listeners.find(tracked.ioc.net_namespace);
    if (near == listeners.end()) continue;
    const bool young = now - tracked.found < options_.young;
    owners_stale_ = owners_stale_ || young;
    auto listening = tracked.sockets.update(fs_, pid, near->second, young);
    if (listening != tracked.ioc.listening) {
      tracked.ioc.listening = std::move(listening);
      tracked.changed = true;
    }
    claim(near->first, tracked.sockets);
  }
  if (const auto own = listeners.find(own_namespace_); own != listeners.end()) {
    own_sockets_.update(fs_, ::getpid(), own->second, false);
    claim(own->first, own_sockets_);
  }
  unclaimed_.clear();
  for (const auto& [net, in_it] : listeners)
    for (const auto& [inode, socket] : in_it)
      if (!claimed.contains({net, inode})) unclaimed_.insert({net, inode, socket});
  std::erase_if(speaking_, [this](const auto& one) { return !unclaimed_.contains(one.first); });
}

// In the exporter's namespace, and in those of the IOCs that are watched.
Finder::NamespaceListeners Finder::read_all_listeners() {
  NamespaceListeners listeners;
  read_namespace(own_namespace_, nullptr, listeners);
  for (const auto& [pid, process] : processes_) {
    if (!process.tracked || !process.tracked->followed) continue;
    // Through the first of the namespace that still answers.
    const std::uint64_t net = process.tracked->ioc.net_namespace;
    if (!listeners.contains(net)) read_namespace(net, &process, listeners);
  }
  // A table keeps its namespace alive.
  std::erase_if(socket_tables_,
                [&](const auto& table) { return !listeners.contains(table.first); });
  return listeners;
}

// `near`: a process in that namespace; null: the exporter. False: its sockets cannot be read.
bool Finder::read_namespace(std::uint64_t net, const Process* near, NamespaceListeners& into) {
  auto table = socket_tables_.find(net);
  if (table == socket_tables_.end()) {
    auto opened = near == nullptr ? Result<SocketTable>(SocketTable::of_thread(fs_))
                                  : SocketTable::of_process(fs_, near->stat.id.pid);
    if (!opened) return false;
    table = socket_tables_.emplace(net, std::move(*opened)).first;
  }
  auto listeners = read_listeners(table->second);
  if (listeners)
    into.emplace(net, std::move(*listeners));
  else
    socket_tables_.erase(table);
  return listeners.ok();
}

std::vector<Listener> Finder::ownerless() const {
  std::vector<Listener> found;
  for (const auto& [listener, searches] : speaking_)
    if (searches >= kMostSearches) found.push_back(listener);
  return found;
}

// Of several processes that hold a listener (a server's children) the oldest is the server.
void Finder::start_servers(const NamespaceListeners& listeners, Clock::time_point now) {
  for (const Listener& listener : unclaimed_)
    if (options_.server_ports.contains(listener.socket.port)) speaking_.try_emplace(listener, 0);
  std::set<Listener> searched;
  for (const auto& [listener, searches] : speaking_)
    if (searches < kMostSearches) searched.insert(listener);
  if (searched.empty()) return;

  std::vector<Process*> oldest_first;
  for (auto& [pid, process] : processes_) oldest_first.push_back(&process);
  std::ranges::sort(oldest_first, {}, [](const Process* process) {
    return std::pair(process->stat.id.start_ticks, process->stat.id.pid);
  });
  for (Process* process : oldest_first) {
    if (searched.empty() || process->tracked) continue;
    const std::set<std::uint64_t> inodes = socket_inodes(fs_, process->stat.id.pid);
    const auto held = [&inodes](const Listener& one) { return inodes.contains(one.inode); };
    const auto first = std::ranges::find_if(searched, held);
    if (first == searched.end()) continue;
    const bool is_given = options_.server_ports.contains(first->socket.port);
    if (!is_given && is_forwarder(process->stat)) {
      std::erase_if(searched, held);
      continue;
    }
    const Listener found = *first;
    // It may have become an IOC since it was looked at.
    if (look(*process, true, now) && process->inspection->is_ioc()) continue;
    if (!start(*process, IocKind::ca_server, now)) {
      std::erase_if(searched, held);  // its holder is found, it is looked for again
      continue;
    }
    Tracked& tracked = *process->tracked;
    tracked.ioc.ca_port = found.socket.port;
    if (const auto near = listeners.find(found.net_namespace); near != listeners.end())
      tracked.ioc.listening = tracked.sockets.update(fs_, process->stat.id.pid, near->second, true);
    std::erase_if(searched, held);
    std::erase_if(unclaimed_, held);
    std::erase_if(speaking_, [&](const auto& one) { return held(one.first); });
  }
  for (const Listener& listener : searched) ++speaking_[listener];
}

}  // namespace ioc_exporter::iocs

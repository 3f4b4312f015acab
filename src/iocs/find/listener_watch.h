// ListenerWatch: the listening sockets of the exporter's network namespace and of those of the
// followed IOCs, and whose they are. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "base/rooted_fs.h"
#include "base/socket_table.h"
#include "iocs/find/found_process.h"
#include "iocs/find/listening_sockets.h"

namespace ioc_exporter::iocs {

// A listening socket in a network namespace that is watched.
struct Listener {
  std::uint64_t net_namespace = 0;
  std::uint64_t inode = 0;
  ListeningSocket socket;

  auto operator<=>(const Listener&) const = default;
};

class ListenerWatch {
 public:
  // `young`: for so long an IOC's descriptors are read at each scan.
  ListenerWatch(const RootedFs& fs, std::chrono::milliseconds young)
      : fs_(fs), young_(young), own_namespace_(net_namespace(fs, "/proc/self")) {}

  // An IOC came, went, or is followed from now on.
  void note_change() { stale_ = true; }
  void update(FoundProcesses& processes, FinderClock::time_point now);
  // Without a known owner, at the last scan.
  const std::set<Listener>& unclaimed() const { return unclaimed_; }
  // A server's of that kind, if it is nobody's who is known.
  void speaks(const Listener& listener, IocKind kind) {
    if (unclaimed_.contains(listener)) speaking_.try_emplace(listener, Speaking{kind});
  }
  // Of those, the ones whose process is to be searched for; and the ones whose process was not
  // found.
  std::map<Listener, IocKind> searched() const;
  std::vector<Listener> ownerless() const;
  // Its process is searched for again at the next scan.
  void not_found(const Listener& listener) { ++speaking_.at(listener).searches; }
  // All of `inodes` are that process' from now on.
  void claim(FoundProcess& process, std::uint64_t net, const std::set<std::uint64_t>& inodes);
  std::uint64_t own_namespace() const { return own_namespace_; }

 private:
  struct Speaking {
    IocKind kind;
    unsigned searches = 0;  // how often no holder was found
  };
  using NamespaceListeners = std::map<std::uint64_t, Listeners>;  // by network namespace

  NamespaceListeners read_all(const FoundProcesses& processes, FinderClock::time_point now);
  void find_owners(FoundProcesses& processes, FinderClock::time_point now);

  const RootedFs& fs_;
  std::chrono::milliseconds young_;
  std::uint64_t own_namespace_;
  bool stale_ = true;
  SocketTable own_table_{SocketTable::of_thread(fs_)};
  NamespaceListeners listeners_;                           // at the last scan
  std::map<std::uint64_t, FinderClock::time_point> read_;  // of other namespaces, when
  std::set<Listener> unclaimed_;
  std::map<Listener, Speaking> speaking_;  // of unclaimed ones
  OwnedSockets own_sockets_;               // the exporter's
};

}  // namespace ioc_exporter::iocs

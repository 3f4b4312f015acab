// Finder: which IOCs run on this host, and what changed since the last look.
//
// A process is an IOC when a file that it maps executable defines dbProcess (libdbCore since Base
// 3.15, libdbIoc before, or its own executable), or when its threads have an IOC's names although
// no dbProcess can be found (then it has no probe target, and a problem in words). What it has
// only forked, whose threads did not come along, is none.
//
// Other programs that serve Channel Access cannot be told by looking at them: a process is taken
// for one when it holds a listening socket of which speaks_ca() was said, or on one of the given
// ports.
//
// When there are more than places, some are not followed: as if they were not there, but counted.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/pattern.h"
#include "base/rooted_fs.h"
#include "iocs/elf/file_cache.h"
#include "iocs/find/inspector.h"
#include "iocs/find/ioc_name.h"
#include "iocs/find/listening_sockets.h"
#include "iocs/find/name_registry.h"
#include "iocs/find/process_signs.h"
#include "iocs/find/process_stat.h"
#include "iocs/ioc.h"
#include "iocs/memory/process_reader.h"
#include "iocs/samples.h"

namespace ioc_exporter::iocs {

// Which of the IOCs that run are followed, when there are more of them than places. Pure.

// At most: the kernel's tables have so many slots.
inline constexpr std::size_t kMostIocs = 1024;

struct PlaceWanted {
  uid_t user = 0;
  bool has_one = false;  // already
};

// For each IOC, oldest first, whether it gets a place. Each user gets as many as he wants while
// there are enough, else a fair share. Among the IOCs of a user, those that have one keep it, then
// the oldest come.
std::vector<bool> share_places(const std::vector<PlaceWanted>& wanted, std::size_t places);

struct FinderOptions {
  std::vector<NameSource> name_sources = default_name_sources();
  NameFilter filter;
  // A process whose size changed is looked at again this long after the last time at the earliest,
  // and one that did not seem to change after `recheck_interval`, spread over the processes.
  std::chrono::milliseconds maps_interval{2000};
  std::chrono::milliseconds recheck_interval{120000};
  // Any listener on these ports serves Channel Access.
  std::set<std::uint16_t> server_ports;
  // For so long a process is looked at with each poll, and an IOC's descriptors; later, when there
  // is a sign that it changed (process_signs.h), and when a new listener has come to its network
  // namespace.
  std::chrono::milliseconds young{10000};
  // Of each kind, this many are followed at most: see share_places().
  std::size_t places = kMostIocs;
};

// In this order: a process that becomes another IOC by exec ends and starts under the same IocId.
struct Changes {
  std::vector<Ioc> ended;    // as they were last
  std::vector<Ioc> started;  // oldest first
  std::vector<Ioc> changed;  // the same IOC with other ports, addresses, name, problem, ...
  std::vector<Ioc> evicted;  // they run, and are not followed any more: others have their places

  bool empty() const {
    return ended.empty() && started.empty() && changed.empty() && evicted.empty();
  }
};

// A listening socket in a network namespace that is looked at.
struct Listener {
  std::uint64_t net_namespace = 0;
  std::uint64_t inode = 0;
  ListeningSocket socket;

  auto operator<=>(const Listener&) const = default;
};

// Cost of looking, since the start.
struct FinderCosts {
  std::uint64_t processes = 0;   // there at the last poll, kernel threads left out
  std::uint64_t unreadable = 0;  // of those, the ones whose maps we may not read (not root?)
  std::uint64_t maps_read = 0;
  std::uint64_t files_read = 0;  // ELF files whose symbols were read
};

// Not thread-safe.
class Finder {
 public:
  using Clock = std::chrono::steady_clock;

  // `reader`: what reads of others; null: this thread does.
  Finder(RootedFs fs, FinderOptions options, std::shared_ptr<ProcessReader> reader = nullptr);
  Finder(const Finder&) = delete;
  Finder& operator=(const Finder&) = delete;

  // One look at all processes; to be called every second or two. Processes that end meanwhile are
  // normal; an error means that /proc itself cannot be read. `now` is an argument for tests.
  Result<Changes> poll(Clock::time_point now = Clock::now());

  // How often an IOC may have been stopped or traced anew by now. While it stays the same, IOCs are
  // asked seldom who holds them; nothing: it is not known, and they are asked all the time.
  void tell_hold_changes(std::optional<std::uint64_t> changes, Clock::time_point now);
  // The last poll looked for signs of change only, and there were none: no process or thread was
  // started on the host.
  bool rested() const { return rested_; }
  // How many polls found that threads had started or ended on the host since the one before.
  std::uint64_t task_changes() const { return task_changes_; }
  // The IOCs that run, as of the last poll, oldest first.
  std::vector<Ioc> iocs() const;
  // The listeners in the exporter's network namespace, and in those of IOCs, as of the last poll,
  // that have no known owner: not of an IOC (also one that the filter leaves out) or another
  // known server, and not the exporter's.
  const std::set<Listener>& unclaimed() const { return unclaimed_; }
  // NameRegistry::reserve().
  void reserve_names(std::map<std::string, NameClaim> names) { names_.reserve(std::move(names)); }
  // The next poll takes the process that holds this listener for a CA server.
  void speaks_ca(const Listener& listener);
  // Of those, the ones whose process cannot be found.
  std::vector<Listener> ownerless() const;
  FinderCosts costs() const;
  const LeftOut& left_out() const { return left_out_; }
  // Inode of the exporter's network namespace.
  std::uint64_t own_namespace() const { return own_namespace_; }

 private:
  struct Tracked {  // a process that is an IOC
    Ioc ioc;
    bool wanted = true;     // by the filter
    bool followed = false;  // it is wanted and has a place
    bool told = false;      // of its start
    bool changed = false;   // since it was told
    Clock::time_point found;
    std::optional<Clock::time_point> asked_who_holds;
    KeptFile memory;  // pagemap, status
    KeptFile status;
    OwnedSockets sockets;
  };
  using NamespaceListeners = std::map<std::uint64_t, Listeners>;  // by network namespace
  struct Process {
    ProcessStat stat;
    std::optional<Inspection> inspection;
    std::uint64_t vsize_looked_at = 0;
    std::optional<MemorySizes> sizes;
    Clock::time_point seen{};  // first, or as what it is since its exec
    Clock::time_point next_recheck = Clock::time_point::min();
    Clock::time_point last_look{};
    Clock::time_point next_check = Clock::time_point::min();
    Clock::time_point next_thread_look = Clock::time_point::min();
    std::uint64_t threads_looked_at = 0;
    bool runs_database = false;  // told by those threads
    unsigned denials = 0;        // in a row
    unsigned doubts = 0;         // looks in a row that could not read all
    bool unreadable = false;
    bool stale = true;    // new, or another program runs in it, and not looked at since
    bool execed = false;  // the tracked program ran before the exec
    std::optional<Tracked> tracked;
  };

  Result<void> read_processes(Clock::time_point now, Changes& changes);
  bool may_rest(Clock::time_point now) const;
  std::vector<pid_t> suspects(const Folder& proc, Clock::time_point now);
  bool must_read(const Folder& proc, Process& process, Clock::time_point now);
  std::optional<ProcessStat> read_stat(const Folder& proc, pid_t pid) const;
  void take_stat(Process& process, ProcessStat stat, Clock::time_point now);
  void visit(Process& process, Clock::time_point now, Changes& changes);
  bool look(Process& process, bool thorough, Clock::time_point now);
  void judge(Process& process, Clock::time_point now, Changes& changes);
  void keep_open(Process& process) const;
  void ask_who_holds(Process& process, Clock::time_point now) const;
  Clock::duration rest_of_holds(const Tracked& tracked, Clock::time_point now) const;
  bool is_mere_fork(Process& process, Clock::time_point now) const;
  bool start(Process& process, IocKind kind, Clock::time_point now);
  void end(Process& process, Clock::time_point now, Changes& changes);
  void describe(Process& process);
  void share_out(Clock::time_point now, Changes& changes);
  void share_out(IocKind kind, Clock::time_point now, Changes& changes);
  void follow(Process& process, Clock::time_point now);
  void evict(Process& process, Clock::time_point now, Changes& changes);
  void take_name(Tracked& tracked, Clock::time_point now);
  void rename(Tracked& tracked, Clock::time_point now);
  void update_sockets(Clock::time_point now);
  void find_owners(Clock::time_point now);
  NamespaceListeners read_all_listeners();
  bool read_namespace(std::uint64_t net, const Process* near, NamespaceListeners& into);
  void start_servers(const NamespaceListeners& listeners, Clock::time_point now);
  // That shows the process.
  static std::string folder_of(const Process& process);
  std::uint64_t net_namespace(const std::string& folder) const;
  double time_of_day(std::uint64_t start_ticks) const;

  RootedFs fs_;
  FinderOptions options_;
  std::shared_ptr<ProcessReader> reader_;
  FileCache files_;
  Inspector inspector_;
  NameRegistry names_;
  UserNames user_names_;
  LeftOut left_out_;
  bool places_stale_ = false;  // an IOC came or went
  std::uint64_t own_namespace_;
  std::uint64_t maps_read_ = 0;
  std::map<std::uint64_t, SocketTable> socket_tables_;  // by network namespace
  NamespaceListeners listeners_;                        // at the last poll
  bool owners_stale_ = true;                            // an IOC is young, came or went
  std::set<Listener> unclaimed_;
  std::map<Listener, unsigned> speaking_;  // of unclaimed ones: how often no holder was found
  OwnedSockets own_sockets_;               // the exporter's
  std::map<pid_t, Process> processes_;
  std::set<pid_t> kernel_threads_;
  std::optional<ProcessSigns> signs_;  // at the last listing
  std::uint64_t task_changes_ = 0;
  std::optional<std::uint64_t> hold_changes_;
  Clock::time_point hold_changed_{};
  bool rested_ = false;
  bool settled_ = false;           // nothing is young, nothing changes
  Clock::time_point last_poll_{};  // that looked at all
  Clock::time_point next_listing_{};
  Clock::time_point next_kernel_threads_{};
};

}  // namespace ioc_exporter::iocs

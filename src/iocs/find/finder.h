// Finder: which IOCs run on this host, and what changed since the last poll.
//
// A process is an IOC when a file that it maps executable defines dbProcess, or when its threads
// have an IOC's names (then it has no probe target, and a problem in words). A mere fork of one,
// without its threads, is none. A process is taken for another server of Channel Access or PV
// Access by its listening socket: on one of the given ports, or after speaks(). IOCs over the limit
// are counted, and not followed.
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
#include "iocs/find/file_cache.h"
#include "iocs/find/found_process.h"
#include "iocs/find/inspector.h"
#include "iocs/find/ioc_name.h"
#include "iocs/find/listener_watch.h"
#include "iocs/find/name_registry.h"
#include "iocs/memory/process_reader.h"

namespace ioc_exporter::iocs {

// The kernel's tables have so many slots.
inline constexpr std::size_t kMostIocs = 1024;

// In this order: a process that becomes another IOC by exec ends and starts under the same IocId.
struct Changes {
  std::vector<Ioc> ended;    // as they were last
  std::vector<Ioc> started;  // oldest first
  std::vector<Ioc> changed;  // the same IOC with other ports, addresses, name, problem, ...

  bool empty() const { return ended.empty() && started.empty() && changed.empty(); }
};

struct FinderOptions {
  std::vector<NameSource> name_sources = default_name_sources();
  NameFilter filter;
  // A process whose size changed is inspected again this long after the last time at the earliest,
  // and one that did not seem to change after `recheck_interval`, spread over the processes.
  std::chrono::milliseconds maps_interval{2000};
  std::chrono::milliseconds recheck_interval{120000};
  // Any listener on these ports serves Channel Access.
  std::set<std::uint16_t> server_ports;
  // For so long a process is checked at each poll, and an IOC's descriptors; later, when there
  // is a sign that it changed (process_signs.h), and when a new listener has come to its network
  // namespace.
  std::chrono::milliseconds young{10000};
  // Of each kind, this many are followed at most.
  std::size_t places = kMostIocs;
};

// Costs since the start.
struct FinderCosts {
  std::uint64_t unreadable = 0;  // processes whose maps we may not read (not root?)
  std::uint64_t maps_read = 0;
  std::uint64_t files_read = 0;  // ELF files whose symbols were read
};

// Not thread-safe.
class Finder {
 public:
  using Clock = FinderClock;

  // `reader`: what reads of others; null: this thread does.
  Finder(RootedFs fs, FinderOptions options, std::shared_ptr<ProcessReader> reader = nullptr);
  Finder(const Finder&) = delete;
  Finder& operator=(const Finder&) = delete;

  // Checks all processes; to be called every second or two. Processes that end meanwhile are
  // normal; an error means that /proc itself cannot be read. `now` is an argument for tests.
  Result<Changes> poll(Clock::time_point now = Clock::now());

  // The last poll read signs of change only, and there were none: no process or thread was
  // started on the host.
  bool was_idle() const { return idle_; }
  // How many polls found that threads had started or ended on the host since the one before.
  std::uint64_t task_changes() const { return task_changes_; }
  // The IOCs that run, as of the last poll, oldest first.
  std::vector<Ioc> iocs() const;
  // The listeners in the exporter's network namespace, and in those of IOCs, as of the last poll,
  // that have no known owner: not of an IOC (also one that the filter leaves out) or another
  // known server, and not the exporter's.
  const std::set<Listener>& unclaimed() const { return listeners_.unclaimed(); }
  // NameRegistry::reserve().
  void reserve_names(std::map<std::string, NameClaim> names) { names_.reserve(std::move(names)); }
  // The next poll takes the process that holds this listener for a server of that kind.
  void speaks(const Listener& listener, IocKind kind);
  // Of those, the ones whose process cannot be found.
  std::vector<Listener> ownerless() const { return listeners_.ownerless(); }
  FinderCosts costs() const;
  // IOCs that run and are not followed: all places are taken.
  std::uint64_t left_out() const { return left_out_; }
  // Inode of the exporter's network namespace.
  std::uint64_t own_namespace() const { return listeners_.own_namespace(); }

 private:
  Result<void> read_processes(Clock::time_point now, Changes& changes);
  bool may_idle(Clock::time_point now) const;
  std::vector<pid_t> suspects(const Folder& proc, Clock::time_point now);
  bool must_read(const Folder& proc, FoundProcess& process, Clock::time_point now);
  std::optional<ProcessStat> read_stat(const Folder& proc, pid_t pid) const;
  void take_stat(FoundProcess& process, ProcessStat stat, Clock::time_point now);
  void visit(FoundProcess& process, Clock::time_point now, Changes& changes);
  bool inspect(FoundProcess& process, bool thorough, Clock::time_point now);
  void judge(FoundProcess& process, Clock::time_point now, Changes& changes);
  void ask_who_holds(FoundProcess& process, Clock::time_point now) const;
  bool is_mere_fork(FoundProcess& process, Clock::time_point now) const;
  bool start(FoundProcess& process, IocKind kind, Clock::time_point now);
  void end(FoundProcess& process, Changes& changes);
  void describe(FoundProcess& process);
  bool give_places();
  void take_name(Ioc& ioc);
  void start_servers(Clock::time_point now);

  RootedFs fs_;
  FinderOptions options_;
  std::shared_ptr<ProcessReader> reader_;
  FileCache files_;
  Inspector inspector_;
  NameRegistry names_;
  std::uint64_t left_out_ = 0;
  bool came_or_went_ = false;
  ListenerWatch listeners_;
  UserNames user_names_;
  std::uint64_t maps_read_ = 0;
  FoundProcesses processes_;
  std::set<pid_t> kernel_threads_;
  std::optional<ProcessSigns> signs_;  // at the last listing
  std::uint64_t task_changes_ = 0;
  bool idle_ = false;
  bool settled_ = false;           // nothing is young, nothing changes
  Clock::time_point last_poll_{};  // that read all
  Clock::time_point next_listing_{};
  Clock::time_point next_kernel_threads_{};
};

}  // namespace ioc_exporter::iocs

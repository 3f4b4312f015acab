#include "iocs/find/finder.h"

#include "base/ascii.h"
#include "iocs/find/supervisor.h"
#include "kernel/load_error.h"

namespace ioc_exporter::iocs {
namespace {

constexpr unsigned kDenialsThatCount = 2;
// A process that cannot be read now, for how long that took before.
constexpr std::chrono::seconds kPutOff{5};
// Pause before the next inspection of a process that could not be read, doubled each time.
constexpr std::chrono::milliseconds kFirstDoubt{1000};
constexpr unsigned kMostDoublings = 10;

void sort_by_age(std::vector<Ioc>& iocs) {
  std::ranges::sort(iocs, {}, [](const Ioc& ioc) { return age_of(ioc.id); });
}

// btime moves when the clock is set, so it is read anew for each IOC.
double time_of_day(const RootedFs& fs, std::uint64_t start_ticks) {
  const auto text = fs.read("/proc/stat");
  const auto boot = text ? number_after(*text, "\nbtime ") : std::nullopt;
  if (!boot) return 0;
  return static_cast<double>(*boot) +
         static_cast<double>(start_ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

// While a file is open, no other can have its inode.
bool same_file(const ProbeTarget& a, const ProbeTarget& b) {
  return a.file->id().device == b.file->id().device && a.file->id().inode == b.file->id().inode;
}

// Passes on what comes to its ports, searches too: what is behind it is the server.
bool is_forwarder(const ProcessStat& process) {
  constexpr std::array<std::string_view, 5> kForwarders{"docker-proxy", "rootlessport", "socat",
                                                        "ssh", "sshd"};
  return std::ranges::find(kForwarders, process.comm) != kForwarders.end();
}

}  // namespace

Finder::Finder(RootedFs fs, FinderOptions options, std::shared_ptr<ProcessReader> reader)
    : fs_(std::move(fs)),
      options_(std::move(options)),
      reader_(reader ? std::move(reader) : std::make_shared<ProcessReader>(fs_)),
      files_(*reader_),
      inspector_(fs_, *reader_, files_),
      listeners_(fs_, options_.young),
      user_names_(fs_) {}

Result<Changes> Finder::poll(Clock::time_point now) {
  Changes changes;
  idle_ = may_idle(now);
  if (idle_) return changes;
  last_poll_ = now;
  auto done = read_processes(now, changes);
  if (!done) return std::move(done).error();
  files_.close_unused();
  if (give_places()) listeners_.note_change();
  for (auto& [pid, process] : processes_)
    if (is_followed(process)) ask_who_holds(process, now);
  listeners_.update(processes_, now);
  start_servers(now);
  if (give_places()) listeners_.note_change();  // with the CA servers that showed there

  for (auto& [pid, process] : processes_) {
    if (!is_followed(process)) continue;
    TrackedIoc& tracked = *process.tracked;
    if (!tracked.is_reported)
      changes.started.push_back(tracked.ioc);
    else if (tracked.changed)
      changes.changed.push_back(tracked.ioc);
    tracked.is_reported = true;
    tracked.changed = false;
  }
  sort_by_age(changes.started);
  settled_ = settled_ && changes.empty();
  return changes;
}

// The maps are read only for a reason.
void Finder::visit(FoundProcess& process, Clock::time_point now, Changes& changes) {
  const bool due = now >= process.next_check;
  const bool grown = process.stat.vsize != process.inspected_vsize &&
                     now - process.inspected_at >= options_.maps_interval;
  const bool must_inspect = due || (!process.unreadable && (process.stale || grown));
  if (must_inspect && inspect(process, due || process.stale, now)) {
    judge(process, now, changes);
  } else if (process.execed && process.tracked && process.unreadable) {
    // The new process is not known yet; the old one has ended.
    process.execed = false;
    end(process, changes);
  } else if (!process.stale && !process.tracked && process.inspection->is_ioc() &&
             !is_mere_fork(process, now)) {
    // A fork of an IOC that went on to be one, or one whose name could not be read.
    start(process, IocKind::base, now);
  }
}

// False: nothing can be said now (the process is ending, or may not be read).
bool Finder::inspect(FoundProcess& process, bool thorough, Clock::time_point now) {
  ++maps_read_;
  process.inspected_at = now;
  process.inspected_vsize = process.stat.vsize;
  if (thorough) {
    // 3/4 to 5/4 of the interval, by pid: processes that were found together are not checked
    // together.
    const auto spread = options_.recheck_interval * (96 + process.stat.id.pid * 37 % 64) / 128;
    process.next_check = now + spread;
  }
  const Inspection* before = process.inspection ? &*process.inspection : nullptr;
  auto inspection = inspector_.inspect(process.stat, before, thorough);
  // Once is nothing: a process may be in the middle of an exec, and is inspected again.
  process.denials = !inspection && kernel::is_refused(inspection.error()) ? process.denials + 1 : 0;
  const bool left_alone = !inspection && is_for_now(inspection.error());
  process.unreadable = process.denials >= kDenialsThatCount || left_alone;
  const bool doubtful = inspection && inspection->uncertain;
  process.doubts = doubtful ? std::min(process.doubts + 1, kMostDoublings) : 0;
  if (doubtful)
    process.next_check =
        std::min(process.next_check, now + kFirstDoubt * (1u << (process.doubts - 1)));
  if (left_alone || (inspection && inspection->put_off)) process.next_check = now + kPutOff;
  if (!inspection) return false;
  // The pid may have been given out anew, or have execed, meanwhile.
  auto after = read_process_stat(fs_, process.stat.id.pid);
  if (!after || after->id != process.stat.id || !choose_thread(fs_, *after, process.stat.thread) ||
      execed(process.stat, *after))
    return false;
  process.inspection = std::move(*inspection);
  process.stale = false;
  return true;
}

void Finder::judge(FoundProcess& process, Clock::time_point now, Changes& changes) {
  const Inspection& found = *process.inspection;
  const bool has_execed = std::exchange(process.execed, false);
  if (process.tracked) {
    const Ioc& ioc = process.tracked->ioc;
    const bool other_kind = found.is_ioc() != (ioc.kind == IocKind::base);
    const bool other_library = ioc.target && found.target && !same_file(*ioc.target, *found.target);
    if (other_kind || has_execed || other_library || ioc.executable != found.executable)
      end(process, changes);
  }
  if (process.tracked)
    describe(process);
  else if (found.is_ioc() && !is_mere_fork(process, now))
    start(process, IocKind::base, now);
}

// A process that an IOC forked has its files and, in its memory, its database, but no thread that
// works on it: a helper, or a process on its way to exec. It may live longer than the IOC.
bool Finder::is_mere_fork(FoundProcess& process, Clock::time_point now) const {
  const ProcessStat& stat = process.stat;
  if (!stat.forked() || !process.inspection->target) return false;
  if (stat.threads != process.checked_threads && now >= process.next_thread_check) {
    process.checked_threads = stat.threads;
    process.next_thread_check = now + options_.maps_interval;
    process.runs_database = inspector_.runs_database(stat, *process.inspection);
  }
  return !process.runs_database;
}

// False: the source of its name cannot be read for now. A wrong name would stay.
bool Finder::start(FoundProcess& process, IocKind kind, Clock::time_point now) {
  // Of a process that may not be read there is only this.
  const std::string& executable =
      process.inspection ? process.inspection->executable : process.stat.comm;
  const auto name = ioc_name(fs_, *reader_, process.stat.id.pid, process.stat.thread, executable,
                             options_.name_sources, now < process.seen + options_.young);
  if (!name) return false;
  TrackedIoc& tracked = *(process.tracked = TrackedIoc{});
  listeners_.note_change();
  came_or_went_ = true;
  Ioc& ioc = tracked.ioc;
  ioc.id = process.stat.id;
  ioc.kind = kind;
  tracked.found = now;
  ioc.start_time_seconds = time_of_day(fs_, ioc.id.start_ticks);
  tracked.wanted = options_.filter.wants(*name);
  ioc.name = ioc.claimed_name = std::move(*name);
  ioc.supervisor = find_supervisor(fs_, ioc.id.pid, process.stat.thread);
  describe(process);
  return true;
}

void Finder::end(FoundProcess& process, Changes& changes) {
  listeners_.note_change();
  came_or_went_ = true;
  if (process.tracked->followed) {
    names_.release(process.tracked->ioc.name);
    if (process.tracked->is_reported) changes.ended.push_back(std::move(process.tracked->ioc));
  }
  process.tracked.reset();
}

// Of several processes that hold a listener (a server's children) the oldest is the server.
void Finder::start_servers(Clock::time_point now) {
  for (const Listener& listener : unclaimed())
    if (options_.server_ports.contains(listener.socket.port))
      listeners_.speaks(listener, IocKind::other_ca);
  std::map<Listener, IocKind> searched = listeners_.searched();
  if (searched.empty()) return;

  std::vector<FoundProcess*> oldest_first;
  for (auto& [pid, process] : processes_) oldest_first.push_back(&process);
  std::ranges::sort(oldest_first, {}, [](const auto* process) { return age_of(process->stat.id); });
  for (FoundProcess* process : oldest_first) {
    if (searched.empty() || process->tracked) continue;
    const std::set<std::uint64_t> inodes = socket_inodes(fs_, process->stat.id.pid);
    const auto held = [&inodes](const auto& one) { return inodes.contains(one.first.inode); };
    const auto first = std::ranges::find_if(searched, held);
    if (first == searched.end()) continue;
    const bool is_given = options_.server_ports.contains(first->first.socket.port);
    if (!is_given && is_forwarder(process->stat)) {
      std::erase_if(searched, held);
      continue;
    }
    const auto [found, kind] = *first;
    // It may have become an IOC since it was inspected.
    if (inspect(*process, true, now) && process->inspection->is_ioc()) continue;
    // Its holder is found; while it has no name yet, it is searched for again.
    if (start(*process, kind, now)) {
      if (kind == IocKind::other_ca) process->tracked->ioc.ca_port = found.socket.port;
      listeners_.claim(*process, found.net_namespace, inodes);
    }
    std::erase_if(searched, held);
  }
  for (const auto& [listener, kind] : searched) listeners_.not_found(listener);
}

void Finder::speaks(const Listener& listener, IocKind kind) {
  listeners_.speaks(listener, kind);
  settled_ = false;
}

// Takes over what the last inspection found.
void Finder::describe(FoundProcess& process) {
  Ioc ioc = process.tracked->ioc;
  ioc.user = user_of(fs_, ioc.id.pid).value_or(ioc.user_name.empty() ? kNoUser : ioc.user);
  ioc.user_name = user_names_.name_of(ioc.user);
  static_cast<IocCode&>(ioc) = process.inspection ? *process.inspection : IocCode();
  const auto directory = fs_.read_link(folder_of(process) + "/cwd");
  ioc.directory = directory ? *directory : std::string();
  ioc.net_namespace = net_namespace(fs_, folder_of(process));
  ioc.own_net_namespace = ioc.net_namespace == own_namespace();
  ioc.main_thread_ended = process.stat.main_thread_ended();
  if (ioc == process.tracked->ioc) return;
  process.tracked->ioc = std::move(ioc);
  process.tracked->changed = true;
}

// Those that have a place keep it, and then the oldest come, which also choose their names first.
// True: another one is followed.
bool Finder::give_places() {
  if (!std::exchange(came_or_went_, false)) return false;
  std::vector<FoundProcess*> oldest_first;
  std::map<IocKind, std::size_t> taken;
  for (auto& [pid, process] : processes_) {
    if (!process.tracked || !process.tracked->wanted) continue;
    oldest_first.push_back(&process);
    taken[process.tracked->ioc.kind] += process.tracked->followed ? 1u : 0u;
  }
  std::ranges::sort(oldest_first, {}, [](const auto* process) { return age_of(process->stat.id); });
  left_out_ = 0;
  bool others = false;
  for (FoundProcess* const process : oldest_first) {
    TrackedIoc& tracked = *process->tracked;
    if (!tracked.followed && taken[tracked.ioc.kind] >= options_.places) {
      ++left_out_;
      continue;
    }
    if (tracked.followed && keeps_name(tracked.ioc)) continue;
    const std::string before = tracked.ioc.name;
    take_name(tracked.ioc);
    if (!std::exchange(tracked.followed, true)) {
      others = true;
      ++taken[tracked.ioc.kind];
      keep_open(fs_, *process);
    } else if (tracked.ioc.name != before) {
      // A name with a pid is given up when the one without it is free: the other IOC has ended.
      names_.release(before);
      tracked.changed = true;
    }
  }
  return others;
}

void Finder::take_name(Ioc& ioc) {
  auto [name, contested_with] = names_.take(ioc.claimed_name, {ioc.id, ioc.user, ioc.user_name});
  ioc.name = std::move(name);
  ioc.contested_with = std::move(contested_with);
}

std::vector<Ioc> Finder::iocs() const {
  std::vector<Ioc> all;
  for (const auto& [pid, process] : processes_)
    if (is_followed(process)) all.push_back(process.tracked->ioc);
  sort_by_age(all);
  return all;
}

FinderCosts Finder::costs() const {
  FinderCosts costs{0, maps_read_, files_.files_read()};
  for (const auto& [pid, process] : processes_) costs.unreadable += process.unreadable ? 1u : 0u;
  return costs;
}

// "net:[4026531840]"
std::uint64_t net_namespace(const RootedFs& fs, const std::string& folder) {
  const auto link = fs.read_link(folder + "/ns/net");
  std::uint64_t inode = 0;
  if (link && link->starts_with("net:["))
    std::from_chars(link->data() + 5, link->data() + link->size(), inode);
  return inode;
}

void keep_open(const RootedFs& fs, FoundProcess& process) {
  if (!fs.is_host()) return;
  process.tracked->memory = KeptFile::open(fs, folder_of(process) + "/pagemap");
  process.tracked->status = KeptFile::open(fs, folder_of(process) + "/status");
}

}  // namespace ioc_exporter::iocs

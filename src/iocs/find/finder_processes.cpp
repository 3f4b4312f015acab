// The part of Finder that keeps up with the host's processes: which are there, and which of them
// must be inspected.
#include <algorithm>
#include <utility>

#include "iocs/find/finder.h"

namespace ioc_exporter::iocs {
namespace {

// Without any sign of a new process: for one that was given its pid (a restored checkpoint) while
// another one ended.
constexpr std::chrono::seconds kListingInterval{15};
// A process that is there for longer than `young` is glanced at so often; for its exec, or for a
// library that it loads.
constexpr std::chrono::seconds kRecheckInterval{3};
// An IOC that has dbProcess, and whose exec shows otherwise: a library that it loads late brings
// more of the same.
constexpr std::chrono::seconds kIocRecheckInterval{15};
constexpr std::chrono::milliseconds kHeldInterval{1500};
constexpr std::chrono::milliseconds kLongestIdle{1500};  // at most between two polls that read all
// Kernel threads' pids are given out again as well.
constexpr std::chrono::seconds kKernelThreadInterval{30};

}  // namespace

// When nothing has happened for a while, every second poll reads signs only.
bool Finder::may_idle(Clock::time_point now) const {
  if (!fs_.is_host() || !settled_ || now - last_poll_ >= kLongestIdle) return false;
  const auto proc = Folder::open(fs_, "/proc");
  if (!proc || !signs_ || read_process_signs(*proc) != signs_) return false;
  return std::ranges::all_of(processes_, [](const auto& entry) {
    return !is_followed(entry.second) || entry.second.tracked->memory.has_memory();
  });
}

Result<void> Finder::read_processes(Clock::time_point now, Changes& changes) {
  auto proc = Folder::open(fs_, "/proc");
  if (!proc) return std::move(proc).error();
  std::vector<ProcessStat> stats;
  for (const pid_t pid : suspects(*proc, now)) {
    auto stat = read_stat(*proc, pid);
    const bool there = stat.has_value();
    const bool kernel = there && stat->kernel_thread();
    if (kernel) kernel_threads_.insert(pid);
    const auto known = processes_.find(pid);
    const bool same =
        there && !kernel && known != processes_.end() && known->second.stat.id == stat->id;
    if (known != processes_.end() && !same) {
      if (known->second.tracked) end(known->second, changes);
      processes_.erase(known);
    }
    if (there && !kernel) stats.push_back(std::move(*stat));
  }
  // Parents before children, and of two with one name the older one gets it.
  std::ranges::sort(stats, {}, [](const ProcessStat& stat) { return age_of(stat.id); });
  for (ProcessStat& stat : stats) {
    const auto [item, is_new] = processes_.try_emplace(stat.id.pid);
    FoundProcess& process = item->second;
    if (is_new) {
      reader_->begin(stat.id.pid);
      process.seen = now;
      process.stat = std::move(stat);
      settled_ = false;
    } else {
      take_stat(process, std::move(stat), now);
    }
    visit(process, now, changes);
  }
  return {};
}

// Nothing: it has ended.
std::optional<ProcessStat> Finder::read_stat(const Folder& proc, pid_t pid) const {
  auto stat = read_process_stat(proc, pid);
  if (!stat || stat->id.pid != pid || stat->dead()) return {};
  if (!stat->main_thread_ended()) return stat;
  const auto known = processes_.find(pid);
  const bool is_same = known != processes_.end() && known->second.stat.id == stat->id;
  if (choose_thread(fs_, *stat, is_same ? known->second.stat.thread : 0)) return stat;
  // Threads came and went while they were listed.
  const bool lives = is_same && known->second.tracked && known->second.tracked->memory.is_open() &&
                     known->second.tracked->memory.has_memory();
  return lives ? std::optional(known->second.stat) : std::nullopt;
}

// Of a process that is known.
void Finder::take_stat(FoundProcess& process, ProcessStat stat, Clock::time_point now) {
  if (execed(process.stat, stat)) {
    process.execed = process.stale = true;
    process.checked_threads = 0;
    process.seen = now;
  }
  const bool other_thread = process.stat.thread != stat.thread;
  process.stat = std::move(stat);
  if (!other_thread || !process.tracked) return;
  TrackedIoc& tracked = *process.tracked;
  const bool ended = process.stat.main_thread_ended();
  tracked.changed = tracked.changed || ended != tracked.ioc.main_thread_ended;
  tracked.ioc.main_thread_ended = ended;
  if (tracked.followed) keep_open(fs_, process);
}

// The processes whose stat must be read.
std::vector<pid_t> Finder::suspects(const Folder& proc, Clock::time_point now) {
  std::vector<pid_t> pids;
  settled_ = true;
  for (auto& [pid, process] : processes_)
    if (must_read(proc, process, now)) pids.push_back(pid);
  const std::optional<ProcessSigns> signs = read_process_signs(proc);
  const bool changed = !signs || signs != signs_;
  if (changed) ++task_changes_;
  if (changed || now >= next_listing_) {
    next_listing_ = now + kListingInterval;
    if (now >= next_kernel_threads_) kernel_threads_.clear();
    if (kernel_threads_.empty()) next_kernel_threads_ = now + kKernelThreadInterval;
    std::vector<pid_t> listed = proc.numbers();
    std::ranges::sort(listed);
    for (const pid_t pid : listed) {
      const bool known = processes_.contains(pid) || kernel_threads_.contains(pid);
      if (!known || !signs || !signs_ || given_out(pid, *signs_, *signs)) pids.push_back(pid);
    }
    for (const auto& [pid, process] : processes_)
      if (!std::ranges::binary_search(listed, pid)) pids.push_back(pid);
    std::erase_if(kernel_threads_,
                  [&](pid_t pid) { return !std::ranges::binary_search(listed, pid); });
    signs_ = signs;
  }
  std::ranges::sort(pids);
  pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
  return pids;
}

bool Finder::must_read(const Folder& proc, FoundProcess& process, Clock::time_point now) {
  // A process that cannot be read is tried again at its next check.
  const bool grown = !process.unreadable && process.stat.vsize != process.inspected_vsize;
  const bool changing = grown || now < process.seen + options_.young;
  if (changing) settled_ = false;
  if (changing || now >= process.next_check) return true;
  // A fork of an IOC, which may have gone on to be one.
  if (!process.tracked && process.inspection && process.inspection->is_ioc()) return true;
  const bool is_kept = process.tracked && process.tracked->memory.is_open();
  if (is_kept && !process.tracked->memory.has_memory()) return true;
  if (now < process.next_recheck) return false;
  const bool complete = is_kept && process.tracked->ioc.target;
  process.next_recheck = now + (complete ? kIocRecheckInterval : kRecheckInterval);
  const auto sizes = read_memory_sizes(proc, process.stat.id.pid, process.stat.thread);
  return !sizes || std::exchange(process.sizes, sizes) != sizes;
}

void Finder::ask_who_holds(FoundProcess& process, Clock::time_point now) const {
  TrackedIoc& tracked = *process.tracked;
  const Clock::duration interval =
      now - tracked.found < options_.young ? Clock::duration() : kHeldInterval;
  if (tracked.asked_who_holds && now - *tracked.asked_who_holds < interval) return;
  tracked.asked_who_holds = now;
  auto held = why_traced_or_stopped(fs_, folder_of(process), tracked.status);
  // The thread that shows the process has ended, and others may not have.
  if (!held) process.next_recheck = Clock::time_point::min();
  if (!held || *held == tracked.ioc.traced_or_stopped) return;
  tracked.ioc.traced_or_stopped = std::move(*held);
  tracked.changed = true;
}

}  // namespace ioc_exporter::iocs

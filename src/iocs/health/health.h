// IocHealth: CPU time by thread class, threads, memory and descriptors of IOCs, from /proc
// (proc(5)). It reads what the kernel knows of a process and never the process' memory. Not
// thread-safe.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "base/process_stats.h"
#include "base/rooted_fs.h"
#include "iocs/find/process_stat.h"
#include "iocs/ioc_id.h"
#include "iocs/samples.h"

namespace ioc_exporter::iocs {

class IocHealth {
 public:
  using Clock = std::chrono::steady_clock;

  // Shortest time between two readings that show which threads spin.
  static constexpr std::chrono::milliseconds kSpinInterval{1000};
  // Of that time, so much ran or waited for a CPU: such a thread never sleeps, on however busy a
  // host.
  static constexpr double kSpinShare = 0.9;

  // Descriptors that are counted one by one.
  static constexpr std::size_t kMostListed = 16'384;

  explicit IocHealth(RootedFs fs, ProcessUnits units = ProcessUnits::of_host());

  // CPU time of its threads that have ended, by now, as the kernel's probe counts it
  // (exit_watch.h); nothing: it does not. Then what a thread used after its last reading is of
  // no class.
  using Exited = std::function<std::optional<CpuByClass>()>;

  // Nothing: it has ended.
  std::optional<HealthSample> read(const IocId& id, Clock::time_point now,
                                   const Exited& exited = {});
  void forget(const IocId& id) { processes_.erase(id); }
  // Its CPU time by class counts from the last reading on.
  void begin_anew(const IocId& id);

 private:
  struct Thread {
    ThreadClass thread_class = ThreadClass::other;
    std::uint64_t run_ns = 0;
    std::uint64_t busy_ns_before = 0;  // run and waiting, when `Process::measured_from` was
    bool measured = false;             // it was there then
    bool spinning = false;
    std::uint32_t readings = 0;
    std::uint32_t round = 0;
  };
  struct Process {
    std::map<int, Thread> threads;
    CpuByClass cpu_ns{};
    std::uint64_t ended_ns = 0;
    CpuByClass before_ns{};  // the same before it began anew
    std::uint64_t ended_before_ns = 0;
    bool total_known = false;        // `ended_ns` was read
    bool ended_begins_anew = false;  // as soon as it has
    // Of time that threads used under another class than their last one: what that class has of it
    // too much, and the other one too little.
    std::array<std::int64_t, kThreadClasses> moved_ns{};
    std::optional<Clock::time_point> measured_from;
    std::uint32_t round = 0;
  };
  struct Times {
    std::uint64_t run_ns = 0;
    std::uint64_t wait_ns = 0;  // runnable, but not on a CPU
  };

  void read_threads(const Folder& folder, const ProcessStat& stat, Process& process,
                    Clock::time_point now);
  static void add_exited(const CpuByClass& exited, Process& process);
  std::optional<Times> times_of(const Folder& threads, const char* tid) const;

  RootedFs fs_;
  ProcessUnits units_;
  std::map<IocId, Process> processes_;
};

// `comm` as the kernel has it, at most 15 bytes without the newline. Not for the first thread of a
// process, which is ThreadClass::main under any name.
ThreadClass thread_class_of(std::string_view comm);

}  // namespace ioc_exporter::iocs

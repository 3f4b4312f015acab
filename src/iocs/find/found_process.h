// The processes on the host, as the finder knows them.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/rooted_fs.h"
#include "iocs/find/inspector.h"
#include "iocs/find/listening_sockets.h"
#include "iocs/find/process_signs.h"
#include "iocs/find/process_stat.h"
#include "iocs/ioc.h"

namespace ioc_exporter::iocs {

using FinderClock = std::chrono::steady_clock;

// A process that is an IOC, or another CA server.
struct TrackedIoc {
  Ioc ioc;
  bool wanted = true;        // by the filter
  bool followed = false;     // it is wanted and has a place
  bool is_reported = false;  // its start
  bool changed = false;      // since it was reported
  FinderClock::time_point found;
  std::optional<FinderClock::time_point> asked_who_holds;
  KeptFile memory;  // pagemap, status
  KeptFile status;
  OwnedSockets sockets;
};
// A process, from scan to scan.
struct FoundProcess {
  ProcessStat stat;
  std::optional<Inspection> inspection;
  std::uint64_t inspected_vsize = 0;
  std::optional<MemorySizes> sizes;
  FinderClock::time_point seen{};  // first, or as what it is since its exec
  FinderClock::time_point next_recheck = FinderClock::time_point::min();
  FinderClock::time_point inspected_at{};
  FinderClock::time_point next_check = FinderClock::time_point::min();
  FinderClock::time_point next_thread_check = FinderClock::time_point::min();
  std::uint64_t checked_threads = 0;
  bool runs_database = false;  // by the names of its threads
  unsigned denials = 0;        // in a row
  unsigned doubts = 0;         // inspections in a row that could not read all
  bool unreadable = false;
  bool stale = true;    // new, or another program runs in it, and not inspected since
  bool execed = false;  // `tracked` is the program that ran before
  std::optional<TrackedIoc> tracked;
};

using FoundProcesses = std::map<pid_t, FoundProcess>;

inline bool is_followed(const FoundProcess& process) {
  return process.tracked && process.tracked->followed;
}

// Order by age, oldest first.
inline std::pair<std::uint64_t, pid_t> age_of(const IocId& id) {
  return {id.start_ticks, id.pid};
}

// Folder of /proc that shows the process.
inline std::string folder_of(const FoundProcess& process) {
  return folder_of_thread(process.stat.id.pid, process.stat.thread);
}

// Opens the files of a followed IOC that stay open.
void keep_open(const RootedFs& fs, FoundProcess& process);

// Inode of the network namespace of the process with that folder; 0: it cannot be read.
std::uint64_t net_namespace(const RootedFs& fs, const std::string& folder);

}  // namespace ioc_exporter::iocs

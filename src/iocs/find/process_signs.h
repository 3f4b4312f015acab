// Signs that are cheap to read and say whether /proc must be read again: what starts a process, an
// exec or the end of one shows in them. Reading the stat of a process with 30 threads takes ten
// times as long.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/rooted_fs.h"
#include "base/unique_fd.h"

namespace ioc_exporter::iocs {

// Users of processes.

// Of a process that has ended meanwhile.
inline constexpr uid_t kNoUser = static_cast<uid_t>(-1);

// User who started the process: its real user id, as the host sees it, also where a container has
// users of its own. Not the owner of its files in /proc: a process can make that root.
std::optional<uid_t> user_of(const RootedFs& fs, pid_t pid);

// Names of users from the host's /etc/passwd, and from nowhere else: to ask a directory service may
// take for ever. Not thread-safe.
class UserNames {
 public:
  explicit UserNames(RootedFs fs) : fs_(std::move(fs)) {}

  // The number where the file names nobody; "" for kNoUser.
  std::string name_of(uid_t user);

 private:
  void read();

  RootedFs fs_;
  // Of the file, when it was read: it is read again when it is another.
  std::uint64_t inode_ = 0;
  std::int64_t changed_ns_ = 0;
  std::map<uid_t, std::string> names_;
};

// Of the host, from /proc/loadavg (proc(5)): changes whenever a process or thread starts, unless it
// was given its pid by clone3(2) and another one ended.
struct ProcessSigns {
  pid_t last_pid = 0;  // the latest that the kernel gave out by itself
  std::uint64_t tasks = 0;

  bool operator==(const ProcessSigns&) const = default;
};
std::optional<ProcessSigns> read_process_signs(const Folder& proc);
// Whether `pid` was given out between the two: pids go round.
bool given_out(pid_t pid, const ProcessSigns& before, const ProcessSigns& after);

// Of a process' address space, pages, from /proc/PID/statm (proc(5)): changes with an exec and when
// a library is loaded. As its thread shows it; nothing: that has ended.
struct MemorySizes {
  std::uint64_t all = 0, text = 0, data = 0;

  bool operator==(const MemorySizes&) const = default;
};
std::optional<MemorySizes> read_memory_sizes(const Folder& proc, pid_t pid, pid_t thread);

// A file of one process that stays open. Nothing is kept when there are many already.
class KeptFile {
 public:
  KeptFile() = default;
  static KeptFile open(const RootedFs& fs, const std::string& path);

  bool is_open() const { return static_cast<bool>(fd_); }
  // Its content now, at most `most` bytes; nothing: it cannot be read any more.
  std::optional<std::string> read(std::size_t most) const;
  // Of /proc/PID/pagemap: iocs::has_memory(). False after the process' exec or its end.
  bool has_memory() const;

 private:
  UniqueFd fd_;
};

// Reason to leave a process unwatched for now, from State and TracerPid of /proc/PID/status
// (proc(5)): "traced by gdb (pid 4711)", "stopped by a signal"; "" when nobody holds it. The same
// text as long as the same one holds it. CRIU traces what it checkpoints. Only the thread whose
// folder of /proc that is, is asked: whoever traces another one alone is not seen. An error: that
// thread has ended, or the file is no status. `kept` is that file when it is open already.
Result<std::string> why_traced_or_stopped(const RootedFs& fs, const std::string& folder,
                                          const KeptFile& kept = {});

}  // namespace ioc_exporter::iocs

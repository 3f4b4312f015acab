// On which TCP ports a process listens: the kernel's list of its namespace's listeners, and
// /proc/PID/fd (proc(5)).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "base/result.h"
#include "base/rooted_fs.h"
#include "base/socket_table.h"
#include "iocs/ioc.h"

namespace ioc_exporter::iocs {

// All listeners of one network namespace, by the socket's inode.
using Listeners = std::map<std::uint64_t, ListeningSocket>;
Result<Listeners> read_listeners(SocketTable& sockets);

// Inodes of the sockets that a process holds, of its first 16,384 descriptors: a server listens
// before its clients come. Empty when it is gone or closed to us.
std::set<std::uint64_t> socket_inodes(const RootedFs& fs, pid_t pid);

// Which of a namespace's listeners are one process'. Its descriptors are read again only when a
// listener has come that was not there at the last look, or when asked to.
class OwnedSockets {
 public:
  std::vector<ListeningSocket> update(const RootedFs& fs, pid_t pid, const Listeners& listeners,
                                      bool look_again);
  const std::set<std::uint64_t>& inodes() const { return owned_; }

 private:
  std::set<std::uint64_t> judged_;  // listeners at the last look
  std::set<std::uint64_t> owned_;   // of those, the process' own
};

}  // namespace ioc_exporter::iocs

// On which TCP ports a process listens: the kernel's list of its namespace's listeners, and
// /proc/PID/fd (proc(5)).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/rooted_fs.h"
#include "base/socket_table.h"
#include "iocs/ioc.h"
#include "iocs/memory/memory.h"

namespace ioc_exporter::iocs {

// All listeners of one network namespace, by the socket's inode.
using Listeners = std::map<std::uint64_t, ListeningSocket>;
Result<Listeners> read_listeners(SocketTable& sockets);

// Inodes of the sockets that a process holds, of its first 16,384 descriptors: a server listens
// before its clients come. Empty when it is gone or closed to us.
std::set<std::uint64_t> socket_inodes(const RootedFs& fs, pid_t pid);

// Which of a namespace's listeners are one process'. Its descriptors are read again only when a
// listener has come that was not there at the last scan, or when asked to.
class OwnedSockets {
 public:
  std::vector<ListeningSocket> update(const RootedFs& fs, pid_t pid, const Listeners& listeners,
                                      bool read_again);
  const std::set<std::uint64_t>& inodes() const { return owned_; }

 private:
  std::set<std::uint64_t> judged_;  // listeners at the last scan
  std::set<std::uint64_t> owned_;   // of those, the process' own
};

// The TCP port of the IOC's CA server, from its own memory. `candidates`: addresses of rsrv's
// ca_server_port (unsigned short in host order; 0 until the server was set up, which iocInit does).
// Nothing while all are 0. `subject` names the IOC in errors.
Result<std::optional<std::uint16_t>> read_ca_server_port(Memory& memory,
                                                         std::span<const std::uint64_t> candidates,
                                                         std::string_view subject);

}  // namespace ioc_exporter::iocs

// On which TCP ports a process listens, from /proc/PID/net/tcp, tcp6 and /proc/PID/fd (proc(5)).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "discovery/ioc.h"
#include "util/rooted_fs.h"

namespace ioc_exporter::discovery {

// One line of /proc/net/tcp or tcp6. `socket` is empty when it is no listener for IPv4 connections
// (a socket on one IPv6 address); `listening` tells whether the state is LISTEN.
struct TcpLine {
  bool listening = false;
  std::uint64_t inode = 0;
  std::optional<ListeningSocket> socket;
};
std::optional<TcpLine> parse_tcp_line(std::string_view line);

// All listeners of one network namespace, by the socket's inode.
using Listeners = std::map<std::uint64_t, ListeningSocket>;

// Those of the namespace in which `pid` is. The kernel lists listeners first (tcp_seq_start in
// net/ipv4/tcp_ipv4.c), so reading ends at the first other line. Nothing: the process is gone.
std::optional<Listeners> read_listeners(const RootedFs& fs, pid_t pid);

// Which of a namespace's listeners are one process'. Its descriptors are read again only when a
// listener has come that was not there at the last look, or when asked to.
class OwnedSockets {
 public:
  std::vector<ListeningSocket> update(const RootedFs& fs, pid_t pid, const Listeners& listeners,
                                      bool look_again);

 private:
  std::set<std::uint64_t> judged_;  // listeners at the last look
  std::set<std::uint64_t> owned_;   // of those, the process' own
};

}  // namespace ioc_exporter::discovery

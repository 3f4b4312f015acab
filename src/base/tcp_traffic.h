// The IPv4 connections of a network namespace with the bytes that came in over each, as the kernel
// counts them: NETLINK_SOCK_DIAG with INET_DIAG_INFO (sock_diag(7)); without the bytes, from
// /proc/PID/net, where the kernel was built without INET_DIAG.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>

#include "base/result.h"
#include "base/rooted_fs.h"
#include "base/socket_table.h"

namespace ioc_exporter {

struct TcpTraffic {
  std::uint16_t local_port = 0;
  InetAddress remote{};
  std::uint16_t remote_port = 0;
  std::uint64_t cookie = 0;  // the kernel's number for it, never given out twice
  std::optional<std::uint64_t>
      received;              // nothing: this kernel does not tell (before 4.1, no INET_DIAG)
  std::uint64_t unread = 0;  // bytes of them that nobody has read yet
};

// Calls `visit` for each connection in the namespace in which the process is; a handshake in
// progress is one, too. What comes or goes meanwhile may be seen or not.
Result<void> for_each_tcp_connection(const RootedFs& fs, pid_t pid,
                                     const std::function<void(const TcpTraffic&)>& visit);

}  // namespace ioc_exporter

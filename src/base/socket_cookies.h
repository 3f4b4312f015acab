// Asks the kernel for one TCP socket at a time (NETLINK_SOCK_DIAG): a look into a hash, whatever
// else is open on the host.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "base/netlink.h"
#include "base/result.h"
#include "shared/ca_tap.h"

namespace ioc_exporter {

class SocketCookies {
 public:
  // In the calling thread's network namespace. Fails where the kernel has no inet_diag.
  static Result<SocketCookies> open();
  // The same in the namespace of `ns_fd` (an open /proc/PID/ns/net); -1: in the calling thread's.
  static Result<SocketCookies> open_in(int ns_fd);

  // The cookie (SO_COOKIE) of the connection's socket at the server's end, or at the client's when
  // the server is elsewhere: no other socket gets it while the host runs. Nothing when there is no
  // such connection, or it is over. Fails where the kernel has no inet_diag.
  Result<std::optional<std::uint64_t>> find(const iocx_ca_flow_key& connection);

 private:
  explicit SocketCookies(Netlink netlink) : netlink_(std::move(netlink)) {}

  Netlink netlink_;
};

}  // namespace ioc_exporter

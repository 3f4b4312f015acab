#include "base/net_namespace.h"

#include <linux/netlink.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <system_error>
#include <thread>
#include <utility>

namespace ioc_exporter {
namespace {

constexpr time_t kPatienceSeconds = 5;  // the kernel answers at once, or is broken

std::shared_ptr<Helper> opener;  // NOLINT: the process has one, as it has one set of rights

}  // namespace

Result<void> in_net_namespace(int ns_fd, const std::function<void()>& work) {
  Result<void> entered;
  try {
    std::thread([&] {
      if (::setns(ns_fd, CLONE_NEWNET) == 0)
        work();
      else
        entered = last_error("enter network namespace");
    }).join();
  } catch (const std::system_error& error) {
    return Error{error.code(), "start a thread for another network namespace"};
  }
  return entered;
}

Result<UniqueFd> open_netlink_socket(int protocol) {
  UniqueFd fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol));
  if (!fd) return last_error("open a netlink socket");
  const timeval patience{kPatienceSeconds, 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  // Lists of routes have only those that are asked for: a router has very many.
  constexpr int kOn = 1;
  if (protocol == NETLINK_ROUTE)
    ::setsockopt(fd.get(), SOL_NETLINK, NETLINK_GET_STRICT_CHK, &kOn, sizeof kOn);
  return fd;
}

Result<UniqueFd> open_netlink_socket_in(int ns_fd, int protocol) {
  if (opener)
    return opener->ask({.what = static_cast<std::uint32_t>(NetRequest::netlink),
                        .number = static_cast<std::uint32_t>(protocol)},
                       ns_fd);
  Result<UniqueFd> opened = UniqueFd();
  auto entered = in_net_namespace(ns_fd, [&] { opened = open_netlink_socket(protocol); });
  if (!entered) return std::move(entered).error();
  return opened;
}

void open_netlink_by(std::shared_ptr<Helper> helper) {
  opener = std::move(helper);
}

Result<UniqueFd> serve_netlink(const HelperRequest& request, const UniqueFd& ns) {
  const bool is_known = request.number == NETLINK_ROUTE || request.number == NETLINK_SOCK_DIAG;
  if (!is_known) return error_in_words("open a netlink socket: no such protocol is served");
  return open_netlink_socket_in(ns.get(), static_cast<int>(request.number));
}

}  // namespace ioc_exporter

#include "base/socket_cookies.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace ioc_exporter {
namespace {

constexpr const char* kAction = "ask the kernel for a TCP socket (inet_diag)";
// include/net/tcp_states.h
constexpr std::uint8_t kTimeWait = 6, kClose = 7, kListen = 10;

bool is_v4(const iocx_ca_address& address) {
  constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
  return std::equal(kMapped.begin(), kMapped.end(), address.bytes);
}

// As inet_diag has addresses: the first word alone for IPv4.
void set_address(__be32 (&to)[4], const iocx_ca_address& address, bool v4) {
  if (v4)
    std::memcpy(to, address.bytes + 12, 4);
  else
    std::memcpy(to, address.bytes, sizeof to);
}

inet_diag_req_v2 question(const iocx_ca_flow_key& key, bool server_end) {
  inet_diag_req_v2 request{};
  const bool v4 = is_v4(key.server);
  request.sdiag_family = v4 ? AF_INET : AF_INET6;
  request.sdiag_protocol = IPPROTO_TCP;
  request.idiag_states = UINT32_MAX;
  inet_diag_sockid& id = request.id;
  set_address(id.idiag_src, server_end ? key.server : key.client, v4);
  set_address(id.idiag_dst, server_end ? key.client : key.server, v4);
  id.idiag_sport = htons(server_end ? key.server_port : key.client_port);
  id.idiag_dport = htons(server_end ? key.client_port : key.server_port);
  id.idiag_cookie[0] = id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  return request;
}

// The kernel may give the listener in the connection's place.
bool is_over(const inet_diag_msg& found) {
  return found.idiag_state == kListen || found.idiag_state == kTimeWait ||
         found.idiag_state == kClose;
}

}  // namespace

Result<SocketCookies> SocketCookies::open() {
  return open_in(-1);
}

Result<SocketCookies> SocketCookies::open_in(int ns_fd) {
  auto netlink = ns_fd < 0 ? Netlink::open(NETLINK_SOCK_DIAG, kAction)
                           : Netlink::open_in(ns_fd, NETLINK_SOCK_DIAG, kAction);
  if (!netlink) return std::move(netlink).error();
  // A kernel without inet_diag answers a question for one socket as if that were not there: ENOENT
  // (__sock_diag_cmd()). A list of the sockets in no state at all comes to its end only with it.
  inet_diag_req_v2 none{};
  none.sdiag_family = AF_INET;
  none.sdiag_protocol = IPPROTO_TCP;
  auto asked = netlink->ask(SOCK_DIAG_BY_FAMILY, NLM_F_DUMP, none, kAction,
                            [](std::uint16_t, std::span<const std::byte>) {});
  if (!asked) return asked.error();
  return SocketCookies(std::move(*netlink));
}

Result<std::optional<std::uint64_t>> SocketCookies::find(const iocx_ca_flow_key& connection) {
  std::optional<std::uint64_t> cookie;
  const auto read = [&cookie](std::uint16_t, std::span<const std::byte> body) {
    const auto found = netlink_struct<inet_diag_msg>(body);
    if (!found || is_over(*found)) return;
    cookie = found->id.idiag_cookie[0] | std::uint64_t{found->id.idiag_cookie[1]} << 32;
  };
  for (const bool server_end : {true, false}) {
    auto asked =
        netlink_.ask(SOCK_DIAG_BY_FAMILY, 0, question(connection, server_end), kAction, read);
    if (!asked && asked.error().code != std::errc::no_such_file_or_directory) return asked.error();
    if (cookie) break;
  }
  return cookie;
}

}  // namespace ioc_exporter

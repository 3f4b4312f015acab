#include "base/tcp_traffic.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "base/live_thread.h"
#include "base/netlink.h"

namespace ioc_exporter {
namespace {

constexpr const char* kAction = "ask the kernel for TCP connections and their bytes";
// Bits of enum tcp states, include/net/tcp_states.h: all but TIME_WAIT, CLOSE and LISTEN.
constexpr std::uint32_t kConnected = ((1u << 12) - 1) & ~(1u << 6 | 1u << 7 | 1u << 10);

Result<Netlink> netlink_of(const RootedFs& fs, pid_t pid) {
  std::string its;
  auto ns = look_through_thread(fs, pid, [&](pid_t thread) {
    const std::string path = folder_of_thread(pid, thread) + "/ns/net";
    if (auto link = fs.read_link(path)) its = std::move(*link);
    return fs.open(path, O_RDONLY);
  });
  if (!ns) return std::move(ns).error();
  const auto own = fs.read_link("/proc/thread-self/ns/net");
  if (own && *own == its) return Netlink::open(NETLINK_SOCK_DIAG, kAction);
  return Netlink::open_in(ns->get(), NETLINK_SOCK_DIAG, kAction);
}

// tcpi_bytes_received is there since Linux 4.1.
std::optional<std::uint64_t> received_in(std::span<const std::byte> message) {
  constexpr std::size_t kAttributes = NLMSG_ALIGN(sizeof(inet_diag_msg));
  if (message.size() < kAttributes) return std::nullopt;
  const auto info = netlink_attribute(message.subspan(kAttributes), INET_DIAG_INFO);
  if (!info || info->size() < offsetof(tcp_info, tcpi_segs_out)) return std::nullopt;
  return netlink_struct<std::uint64_t>(info->subspan(offsetof(tcp_info, tcpi_bytes_received)));
}

TcpTraffic traffic_from(const inet_diag_msg& message, std::span<const std::byte> body) {
  std::uint8_t remote[4];
  std::memcpy(remote, message.id.idiag_dst, sizeof remote);
  TcpTraffic traffic;
  traffic.local_port = ntohs(message.id.idiag_sport);
  traffic.remote = ipv4_address(remote[0], remote[1], remote[2], remote[3]);
  traffic.remote_port = ntohs(message.id.idiag_dport);
  traffic.cookie = std::uint64_t{message.id.idiag_cookie[1]} << 32 | message.id.idiag_cookie[0];
  traffic.received = received_in(body);
  traffic.unread = message.idiag_rqueue;
  return traffic;
}

}  // namespace

Result<void> for_each_tcp_connection(const RootedFs& fs, pid_t pid,
                                     const std::function<void(const TcpTraffic&)>& visit) {
  auto netlink = netlink_of(fs, pid);
  if (!netlink) return std::move(netlink).error();
  inet_diag_req_v2 question{};
  question.sdiag_family = AF_INET;
  question.sdiag_protocol = IPPROTO_TCP;
  question.idiag_states = kConnected;
  question.idiag_ext = 1 << (INET_DIAG_INFO - 1);
  auto done = netlink->ask(SOCK_DIAG_BY_FAMILY, NLM_F_DUMP, question, kAction,
                           [&visit](std::uint16_t type, std::span<const std::byte> body) {
                             const auto message = netlink_struct<inet_diag_msg>(body);
                             if (type == SOCK_DIAG_BY_FAMILY && message)
                               visit(traffic_from(*message, body));
                           });
  if (done || done.error().code != std::errc::no_such_file_or_directory) return done;
  // Without INET_DIAG, /proc/PID/net has the connections, not their bytes.
  auto table = SocketTable::of_process(fs, pid);
  if (!table) return std::move(table).error();
  return table->for_each(SocketKind::connected, [&visit](const InetSocket& socket) {
    visit({socket.local_port, socket.remote, socket.remote_port, socket.cookie, std::nullopt, 0});
  });
}

}  // namespace ioc_exporter

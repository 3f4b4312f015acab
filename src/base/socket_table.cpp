#include "base/socket_table.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <span>

#include "base/process_stats.h"

namespace ioc_exporter {
namespace {

constexpr std::uint8_t kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
constexpr std::uint32_t kTimeWaitBit = 1u << 6, kCloseBit = 1u << 7, kListenBit = 1u << 10,
                        kAllStates = (1u << 12) - 1;

InetAddress address_from(int family, const __be32 (&words)[4]) {
  InetAddress address{};
  if (family == AF_INET) {
    std::copy(std::begin(kMapped), std::end(kMapped), address.begin());
    std::memcpy(address.data() + sizeof kMapped, words, sizeof words[0]);
  } else {
    std::memcpy(address.data(), words, address.size());
  }
  return address;
}

// tcpi_bytes_received is there since Linux 4.1.
std::optional<std::uint64_t> received_in(std::span<const std::byte> message) {
  constexpr std::size_t kAttributes = NLMSG_ALIGN(sizeof(inet_diag_msg));
  if (message.size() < kAttributes) return std::nullopt;
  const auto info = netlink_attribute(message.subspan(kAttributes), INET_DIAG_INFO);
  if (!info || info->size() < offsetof(tcp_info, tcpi_segs_out)) return std::nullopt;
  return netlink_struct<std::uint64_t>(info->subspan(offsetof(tcp_info, tcpi_bytes_received)));
}

InetSocket socket_from(const inet_diag_msg& message) {
  InetSocket socket;
  socket.local = address_from(message.idiag_family, message.id.idiag_src);
  socket.remote = address_from(message.idiag_family, message.id.idiag_dst);
  socket.local_port = ntohs(message.id.idiag_sport);
  socket.remote_port = ntohs(message.id.idiag_dport);
  socket.inode = message.idiag_inode;
  socket.cookie = std::uint64_t{message.id.idiag_cookie[1]} << 32 | message.id.idiag_cookie[0];
  if (socket.remote_port != 0) socket.unread = message.idiag_rqueue;
  return socket;
}

constexpr const char* kOpen = "ask the kernel for its sockets";

// Nothing where the kernel has no sock_diag: the files are read then.
std::optional<Netlink> open_netlink() {
  auto netlink = Netlink::open(NETLINK_SOCK_DIAG, kOpen);
  if (!netlink) return std::nullopt;
  return std::move(*netlink);
}

const char* name_of(SocketKind kind) {
  if (kind == SocketKind::listening) return "ask the kernel for its listening sockets";
  return kind == SocketKind::udp ? "ask the kernel for its UDP sockets"
                                 : "ask the kernel for its TCP connections";
}

}  // namespace

std::uint32_t states_of(SocketKind kind) {
  if (kind == SocketKind::listening) return kListenBit;
  if (kind == SocketKind::connected || kind == SocketKind::traffic)
    return kAllStates & ~(kListenBit | kTimeWaitBit | kCloseBit);
  return kAllStates;
}

bool is_any_address(const InetAddress& address) {
  return address == InetAddress{} || address == ipv4_address(0, 0, 0, 0);
}

std::string address_text(const InetAddress& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (std::equal(std::begin(kMapped), std::end(kMapped), address.begin()))
    ::inet_ntop(AF_INET, address.data() + sizeof kMapped, text, sizeof text);
  else
    ::inet_ntop(AF_INET6, address.data(), text, sizeof text);
  return text;
}

InetAddress ipv4_address(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d) {
  return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, a, b, c, d};
}

SocketTable SocketTable::of_thread(RootedFs fs) {
  SocketTable table(std::move(fs), "/proc/thread-self/net/");
  if (table.fs_.is_host()) table.netlink_ = open_netlink();
  return table;
}

Result<SocketTable> SocketTable::of_process(RootedFs fs, pid_t pid) {
  std::string process = folder_of_thread(pid, pid);
  SocketTable table(std::move(fs), process + "/net/");
  if (!table.fs_.is_host()) return table;
  const auto own = table.fs_.read_link("/proc/thread-self/ns/net");
  auto its = through_thread(table.fs_, pid, [&](pid_t thread) {
    process = folder_of_thread(pid, thread);
    return table.fs_.read_link(process + "/ns/net");
  });
  if (!its) return std::move(its).error();
  table.folder_ = process + "/net/";
  if (own && *own == *its) table.netlink_ = open_netlink();
  return table;
}

Result<void> SocketTable::for_each(SocketKind kind, const Visit& visit) {
  if (!netlink_) return read_files(kind, visit);
  for (const int family : {AF_INET, AF_INET6}) {
    if (kind == SocketKind::traffic && family == AF_INET6) break;
    auto done = dump(kind, family, visit);
    if (done) continue;
    // ENOENT: no handler for this protocol, and no module that has one.
    if (done.error().code != std::errc::no_such_file_or_directory) return done;
    return read_files(kind, visit);
  }
  return {};
}

Result<void> SocketTable::dump(SocketKind kind, int family, const Visit& visit) {
  inet_diag_req_v2 question{};
  question.sdiag_family = static_cast<std::uint8_t>(family);
  question.sdiag_protocol = kind == SocketKind::udp ? IPPROTO_UDP : IPPROTO_TCP;
  question.idiag_states = states_of(kind);
  const bool with_bytes = kind == SocketKind::traffic;
  if (with_bytes) question.idiag_ext = 1 << (INET_DIAG_INFO - 1);
  auto done = netlink_->ask(SOCK_DIAG_BY_FAMILY, NLM_F_DUMP, question, name_of(kind),
                            [&](std::uint16_t type, std::span<const std::byte> body) {
                              const auto message = netlink_struct<inet_diag_msg>(body);
                              if (type != SOCK_DIAG_BY_FAMILY || !message) return;
                              InetSocket socket = socket_from(*message);
                              if (with_bytes) socket.received = received_in(body);
                              visit(socket);
                            });
  if (!done && done.error().code == std::errc::resource_unavailable_try_again) netlink_.reset();
  return done;
}

}  // namespace ioc_exporter

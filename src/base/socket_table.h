// SocketTable: the kernel's own list of the sockets of one network namespace.
//
// Of this process' own by NETLINK_SOCK_DIAG (sock_diag(7)), which walks only the tables that are
// asked for and copies binary records; of others, and where the kernel was built without it
// (INET_DIAG, INET_UDP_DIAG), from the text in /proc/PID/net (proc(5)).
#pragma once

#include <sys/types.h>

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/netlink.h"
#include "base/result.h"
#include "base/rooted_fs.h"

namespace ioc_exporter {

// 16 bytes as they stand in a packet; IPv4's a.b.c.d is ::ffff:a.b.c.d.
using InetAddress = std::array<std::uint8_t, 16>;
// "10.0.0.7", "fe80::1"; an IPv4 address without "::ffff:".
std::string address_text(const InetAddress& address);

// 0.0.0.0 or ::
bool is_any_address(const InetAddress& address);
InetAddress ipv4_address(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d);

struct InetSocket {
  InetAddress local{};
  InetAddress remote{};  // of a listener: any
  std::uint16_t local_port = 0;
  std::uint16_t remote_port = 0;
  std::uint64_t inode = 0;   // as in the link /proc/PID/fd/N, "socket:[INODE]"; 0: no descriptor
  std::uint64_t cookie = 0;  // the kernel's number for it, never given out twice; 0: not known
  std::uint32_t unread = 0;  // of a connection: bytes that have come and that nobody has read
  // Bytes that have come over a connection so far; only by SocketKind::traffic, from Linux 4.1 on
  // and where the kernel has INET_DIAG.
  std::optional<std::uint64_t> received = {};

  bool operator==(const InetSocket&) const = default;
};

enum class SocketKind {
  listening,  // TCP, LISTEN
  connected,  // TCP, with two ends and not over (TIME_WAIT, CLOSE); a handshake in progress too
  traffic,    // the same of IPv4, with the bytes received
  udp,        // bound
};

// States of such sockets: a bit for each of enum tcp states, include/net/tcp_states.h.
std::uint32_t states_of(SocketKind kind);

// One line of /proc/net/tcp, tcp6, udp or udp6; nothing for the header and for broken lines.
struct SocketLine {
  InetSocket socket;
  unsigned state = 0;  // bit of states_of()
};
std::optional<SocketLine> parse_socket_line(std::string_view line);

// Not thread-safe; may be used in any thread, whatever its namespace.
class SocketTable {
 public:
  using Visit = std::function<void(const InetSocket&)>;

  // Of the namespace in which the calling thread is. On a tree that is not the host's: from the
  // files alone, those of /proc/thread-self.
  static SocketTable of_thread(RootedFs fs);
  // Of the namespace in which the process is. An error: it is gone, or may not be read. For one
  // reading: a process that ends takes its table along.
  static Result<SocketTable> of_process(RootedFs fs, pid_t pid);

  // Calls `visit` for each socket of that kind, IPv4's first. What comes or goes meanwhile may be
  // seen or not. After an error some may have been visited.
  Result<void> for_each(SocketKind kind, const Visit& visit);

 private:
  SocketTable(RootedFs fs, std::string folder) : fs_(std::move(fs)), folder_(std::move(folder)) {}
  Result<void> dump(SocketKind kind, int family, const Visit& visit);
  Result<void> read_files(SocketKind kind, const Visit& visit) const;

  RootedFs fs_;
  std::string folder_;              // of the files
  std::optional<Netlink> netlink_;  // of the namespace in which it was opened
};

}  // namespace ioc_exporter

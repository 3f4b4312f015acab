// The part of SocketTable that reads /proc/PID/net/tcp, tcp6, udp and udp6 (proc(5)).
#include <fcntl.h>

#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "base/socket_table.h"

namespace ioc_exporter {
namespace {

// "0100007F", or 32 digits: 32-bit words of network order memory, read in host order.
bool read_address(std::string_view digits, InetAddress& address) {
  if (digits.size() != 8 && digits.size() != 32) return false;
  if (digits.size() == 8) address = ipv4_address(0, 0, 0, 0);
  std::uint8_t* to = address.data() + address.size() - digits.size() / 2;
  for (; !digits.empty(); digits.remove_prefix(8), to += 4) {
    std::uint32_t word = 0;
    std::from_chars(digits.data(), digits.data() + 8, word, 16);
    std::memcpy(to, &word, sizeof word);
  }
  return true;
}

// The kernel lists listeners first (tcp_seq_start in net/ipv4/tcp_ipv4.c): for them, reading ends
// at the first other line.
Result<void> read_file(const RootedFs& fs, const std::string& path, SocketKind kind,
                       const SocketTable::Visit& visit) {
  auto fd = fs.open(path, O_RDONLY);
  if (!fd) return std::move(fd).error();
  std::string text;
  char chunk[4096];
  for (;;) {
    const ssize_t got = ::read(fd->get(), chunk, sizeof chunk);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return last_error("read " + fs.path(path));
    if (got == 0) return {};
    text.append(chunk, static_cast<std::size_t>(got));
    std::size_t at = 0;
    for (std::size_t end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
      const auto line = parse_socket_line(std::string_view(text).substr(at, end - at));
      if (!line) continue;
      if (line->state < 32 && states_of(kind) >> line->state & 1)
        visit(line->socket);
      else if (kind == SocketKind::listening)
        return {};
    }
    text.erase(0, at);
  }
}

}  // namespace

// Both addresses with their ports, state, bytes to send and to read, timer, retransmits, uid,
// timeout, inode.
std::optional<SocketLine> parse_socket_line(std::string_view line) {
  SocketLine parsed;
  InetSocket& socket = parsed.socket;
  char local[33], remote[33];
  if (std::sscanf(std::string(line).c_str(),
                  " %*d: %32[0-9A-F]:%4hx %32[0-9A-F]:%4hx %x %*x:%x %*s %*s %*s %*s %" SCNu64,
                  local, &socket.local_port, remote, &socket.remote_port, &parsed.state,
                  &socket.unread, &socket.inode) != 7 ||
      !read_address(local, socket.local) || !read_address(remote, socket.remote))
    return {};
  if (socket.remote_port == 0) socket.unread = 0;  // of a listener: connections
  return parsed;
}

Result<void> SocketTable::read_files(SocketKind kind, const Visit& visit) const {
  const std::string file = folder_ + (kind == SocketKind::udp ? "udp" : "tcp");
  if (auto read = read_file(fs_, file, kind, visit); !read) return read;
  auto read = read_file(fs_, file + "6", kind, visit);
  // A kernel without IPv6 has no such file.
  if (!read && read.error().code == std::errc::no_such_file_or_directory) return {};
  return read;
}

}  // namespace ioc_exporter

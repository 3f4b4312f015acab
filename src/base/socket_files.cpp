// The part of SocketTable that reads /proc/PID/net/tcp, tcp6, udp and udp6 (proc(5)).
#include <fcntl.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/socket_table.h"

namespace ioc_exporter {
namespace {

std::string_view next_word(std::string_view& text) {
  const auto start = std::min(text.find_first_not_of(' '), text.size());
  const auto end = std::min(text.find(' ', start), text.size());
  const std::string_view word = text.substr(start, end - start);
  text.remove_prefix(end);
  return word;
}

template <class Number>
bool number_of(std::string_view word, int base, Number& number) {
  const char* const last = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), last, number, base);
  return error == std::errc{} && stop == last;
}

// "0100007F:13C8", or with 32 digits: 32-bit words of network order memory, read in host order.
bool read_end(std::string_view text, InetAddress& address, std::uint16_t& port) {
  const std::size_t colon = text.find(':');
  if (colon != 8 && colon != 32) return false;
  if (colon == 8) address = ipv4_address(0, 0, 0, 0);
  std::uint8_t* to = address.data() + (colon == 8 ? 12 : 0);
  for (std::size_t at = 0; at < colon; at += 8, to += 4) {
    std::uint32_t word = 0;
    if (!number_of(text.substr(at, 8), 16, word)) return false;
    std::memcpy(to, &word, sizeof word);
  }
  return number_of(text.substr(colon + 1), 16, port);
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

std::optional<SocketLine> parse_socket_line(std::string_view line) {
  SocketLine parsed;
  InetSocket& socket = parsed.socket;
  if (!next_word(line).ends_with(':')) return {};
  if (!read_end(next_word(line), socket.local, socket.local_port)) return {};
  if (!read_end(next_word(line), socket.remote, socket.remote_port)) return {};
  if (!number_of(next_word(line), 16, parsed.state)) return {};
  const std::string_view queues = next_word(line);  // to send, and to read
  if (!number_of(queues.substr(queues.find(':') + 1), 16, socket.unread)) return {};
  if (socket.remote_port == 0) socket.unread = 0;  // of a listener: connections
  for (int i = 0; i < 4; ++i) next_word(line);     // timer, retransmits, uid, timeout
  if (!number_of(next_word(line), 10, socket.inode)) return {};
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

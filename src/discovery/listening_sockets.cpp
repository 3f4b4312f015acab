#include "discovery/listening_sockets.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string>

namespace ioc_exporter::discovery {
namespace {

constexpr unsigned kTcpListen = 0x0A;  // TCP_LISTEN in net/tcp_states.h

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

// The kernel prints addresses as 32-bit words of network order memory, read in host order.
bool address_bytes(std::string_view hex, std::uint8_t* bytes) {
  for (std::size_t at = 0; at < hex.size(); at += 8) {
    std::uint32_t word = 0;
    if (!number_of(hex.substr(at, 8), 16, word)) return false;
    std::memcpy(bytes + at / 2, &word, sizeof word);
  }
  return true;
}

// Fills `socket` when it takes IPv4 connections; false when the text is no address.
bool read_address(std::string_view hex, std::uint16_t port,
                  std::optional<ListeningSocket>& socket) {
  std::uint8_t bytes[16] = {};
  if ((hex.size() != 8 && hex.size() != 32) || !address_bytes(hex, bytes)) return false;
  constexpr std::uint8_t kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
  const std::uint8_t* v4 = bytes;
  if (hex.size() == 32) {
    const bool any = std::ranges::all_of(bytes, [](std::uint8_t byte) { return byte == 0; });
    if (!any && std::memcmp(bytes, kMapped, sizeof kMapped) != 0) return true;
    v4 = bytes + 12;
  }
  ListeningSocket found{{}, port};
  if (v4[0] != 0 || v4[1] != 0 || v4[2] != 0 || v4[3] != 0)
    found.address = {v4[0], v4[1], v4[2], v4[3]};
  socket = found;
  return true;
}

// Adds the listeners of one file; false when it cannot be read.
bool read_file(const RootedFs& fs, const std::string& path, Listeners& into) {
  auto fd = fs.open(path, O_RDONLY);
  if (!fd) return false;
  std::string text;
  bool header = true;
  char chunk[4096];
  for (;;) {
    const ssize_t got = ::read(fd->get(), chunk, sizeof chunk);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return false;
    if (got == 0) return true;
    text.append(chunk, static_cast<std::size_t>(got));
    for (std::size_t end; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1)) {
      const bool skip = std::exchange(header, false);
      const auto line = parse_tcp_line(std::string_view(text).substr(0, end));
      if (skip || !line) continue;
      if (!line->listening) return true;
      if (line->socket) into.emplace(line->inode, *line->socket);
    }
  }
}

std::set<std::uint64_t> socket_inodes(const RootedFs& fs, pid_t pid) {
  constexpr std::string_view kPrefix = "socket:[";
  const std::string folder = "/proc/" + std::to_string(pid) + "/fd";
  std::set<std::uint64_t> inodes;
  const auto names = fs.list(folder);
  if (!names) return inodes;
  for (const std::string& name : *names) {
    const auto target = fs.read_link(folder + "/" + name);
    if (!target || !target->starts_with(kPrefix) || !target->ends_with(']')) continue;
    std::uint64_t inode = 0;
    const std::string_view number(*target);
    if (number_of(number.substr(kPrefix.size(), number.size() - kPrefix.size() - 1), 10, inode))
      inodes.insert(inode);
  }
  return inodes;
}

}  // namespace

std::optional<TcpLine> parse_tcp_line(std::string_view line) {
  next_word(line);  // "12:"
  const std::string_view local = next_word(line);
  next_word(line);  // remote address
  const std::string_view state = next_word(line);
  for (int i = 0; i < 5; ++i) next_word(line);  // queues, timer, retransmits, uid, timeout
  const std::string_view inode = next_word(line);

  TcpLine parsed;
  unsigned state_number = 0;
  std::uint16_t port = 0;
  const auto colon = local.find(':');
  if (colon == std::string_view::npos || !number_of(local.substr(colon + 1), 16, port) ||
      !number_of(state, 16, state_number) || !number_of(inode, 10, parsed.inode) ||
      !read_address(local.substr(0, colon), port, parsed.socket))
    return {};
  parsed.listening = state_number == kTcpListen;
  return parsed;
}

std::optional<Listeners> read_listeners(const RootedFs& fs, pid_t pid) {
  const std::string folder = "/proc/" + std::to_string(pid) + "/net/";
  Listeners listeners;
  if (!read_file(fs, folder + "tcp", listeners)) return {};
  // A kernel without IPv6 has no tcp6.
  read_file(fs, folder + "tcp6", listeners);
  return listeners;
}

std::vector<ListeningSocket> OwnedSockets::update(const RootedFs& fs, pid_t pid,
                                                  const Listeners& listeners, bool look_again) {
  const bool new_one = std::ranges::any_of(
      listeners, [&](const auto& item) { return !judged_.contains(item.first); });
  if (new_one || look_again) {
    judged_.clear();
    owned_.clear();
    const std::set<std::uint64_t> inodes = socket_inodes(fs, pid);
    for (const auto& [inode, socket] : listeners) {
      judged_.insert(inode);
      if (inodes.contains(inode)) owned_.insert(inode);
    }
  }
  std::set<ListeningSocket> found;
  for (const std::uint64_t inode : owned_)
    if (const auto item = listeners.find(inode); item != listeners.end())
      found.insert(item->second);
  return {found.begin(), found.end()};
}

}  // namespace ioc_exporter::discovery

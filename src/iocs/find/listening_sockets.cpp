#include "iocs/find/listening_sockets.h"

#include <algorithm>
#include <charconv>

#include "base/process_stats.h"

namespace ioc_exporter::iocs {
namespace {

constexpr std::size_t kMostDescriptors = 16'384;

}  // namespace

Result<Listeners> read_listeners(SocketTable& sockets) {
  Listeners listeners;
  auto read = sockets.for_each(SocketKind::listening, [&listeners](const InetSocket& socket) {
    ListeningSocket found{{}, socket.local_port};
    if (!is_any_address(socket.local)) found.address = socket.local;
    listeners.emplace(socket.inode, found);
  });
  if (!read) return read.error();
  return listeners;
}

std::set<std::uint64_t> socket_inodes(const RootedFs& fs, pid_t pid) {
  constexpr std::string_view kPrefix = "socket:[";
  std::set<std::uint64_t> inodes;
  std::string path = folder_of_thread(pid, pid) + "/fd";
  auto names = fs.list(path, kMostDescriptors);
  // A main thread that has ended has no descriptors.
  if (!names || names->empty())
    if (const auto thread = find_live_thread(fs, pid)) {
      path = folder_of_thread(pid, *thread) + "/fd";
      names = fs.list(path, kMostDescriptors);
    }
  const auto folder = Folder::open(fs, path);  // a whole path for each takes longer
  if (!names || !folder) return inodes;
  for (const std::string& name : *names) {
    char text[64];
    const auto target = folder->link(name.c_str(), text);
    if (!target || !target->starts_with(kPrefix)) continue;
    std::uint64_t inode = 0;
    const char* const last = target->data() + target->size();
    const auto [end, error] = std::from_chars(target->data() + kPrefix.size(), last, inode);
    if (error == std::errc{} && end + 1 == last && *end == ']') inodes.insert(inode);
  }
  return inodes;
}

std::vector<ListeningSocket> OwnedSockets::update(const RootedFs& fs, pid_t pid,
                                                  const Listeners& listeners, bool read_again) {
  const bool new_one = std::ranges::any_of(
      listeners, [&](const auto& item) { return !judged_.contains(item.first); });
  if (new_one || read_again) {
    const std::set<std::uint64_t> inodes = socket_inodes(fs, pid);
    judged_.clear();
    owned_.clear();
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

Result<std::optional<std::uint16_t>> read_ca_server_port(Memory& memory,
                                                         std::span<const std::uint64_t> candidates,
                                                         std::string_view subject) {
  const std::string what = "read the CA server's port of " + std::string(subject);
  if (candidates.empty()) return error_in_words(what + ": no symbol ca_server_port was found");
  std::optional<Error> failed;
  for (const std::uint64_t address : candidates) {
    const auto port = memory.value<std::uint16_t>(address);
    if (!port)
      failed = error_in_words(what + ": " + port.error().message());
    else if (*port != 0)
      return std::optional<std::uint16_t>(*port);
  }
  if (failed) return std::move(*failed);
  return std::optional<std::uint16_t>();
}

}  // namespace ioc_exporter::iocs

#include "records/thread_clients.h"

#include <sys/syscall.h>

#include <charconv>
#include <optional>

#include "base/socket_table.h"

namespace ioc_exporter::records {
namespace {

constexpr std::string_view kSocket = "socket:[";

std::optional<std::uint64_t> inode_of(const RootedFs& fs, const std::string& thread, int fd) {
  auto link = fs.read_link(thread + "/fd/" + std::to_string(fd));
  if (!link || !link->starts_with(kSocket)) return std::nullopt;
  std::uint64_t inode = 0;
  const char* const last = link->data() + link->size();
  const auto [stop, error] = std::from_chars(link->data() + kSocket.size(), last, inode);
  if (error != std::errc{} || stop == last || *stop != ']') return std::nullopt;
  return inode;
}

}  // namespace

int waits_on_descriptor(std::string_view text) {
  long call = -1;
  const char* const last = text.data() + text.size();
  const auto number = std::from_chars(text.data(), last, call);
  if (number.ec != std::errc{}) return -1;  // "running"
  if (call != SYS_recvfrom && call != SYS_recvmsg && call != SYS_read) return -1;
  constexpr std::string_view kPrefix = " 0x";
  const std::string_view rest(number.ptr, static_cast<std::size_t>(last - number.ptr));
  if (!rest.starts_with(kPrefix)) return -1;
  unsigned descriptor = 0;
  const auto [stop, error] = std::from_chars(rest.data() + kPrefix.size(), last, descriptor, 16);
  if (error != std::errc{} || stop == last || *stop != ' ' || descriptor > INT32_MAX) return -1;
  return static_cast<int>(descriptor);
}

Result<std::map<std::uint32_t, std::string>> clients_of_threads(
    const RootedFs& fs, pid_t pid, const std::set<std::uint32_t>& threads) {
  const std::string process = "/proc/" + std::to_string(pid);
  std::map<std::uint64_t, std::uint32_t> by_inode;
  for (const std::uint32_t thread : threads) {
    const std::string folder = process + "/task/" + std::to_string(thread);
    const auto text = fs.read(folder + "/syscall");
    const int fd = text ? waits_on_descriptor(*text) : -1;
    if (fd < 0) continue;
    if (const auto inode = inode_of(fs, folder, fd)) by_inode.emplace(*inode, thread);
  }
  std::map<std::uint32_t, std::string> clients;
  if (by_inode.empty()) return clients;
  auto sockets = SocketTable::of_process(fs, pid);
  if (!sockets) return std::move(sockets).error();
  auto read = sockets->for_each(SocketKind::connected, [&](const InetSocket& socket) {
    const auto found = by_inode.find(socket.inode);
    if (found != by_inode.end()) clients[found->second] = address_text(socket.remote);
  });
  if (!read) return read.error();
  return clients;
}

}  // namespace ioc_exporter::records

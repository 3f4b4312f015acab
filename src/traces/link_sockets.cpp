#include "traces/link_sockets.h"

#include <algorithm>
#include <set>

#include "iocs/listening_sockets.h"

namespace ioc_exporter::traces {
namespace {

std::uint64_t ns(std::chrono::nanoseconds duration) {
  return static_cast<std::uint64_t>(duration.count());
}

bool is_loopback(const InetAddress& address) {
  return std::equal(address.begin(), address.begin() + 13, ipv4_address(127, 0, 0, 0).begin());
}

std::string place_text(const InetAddress& address, std::uint16_t port) {
  return address_text(address) + ":" + std::to_string(port);
}

}  // namespace

LinkSockets::LinkSockets(const RootedFs& fs)
    : read_([&fs](pid_t pid) -> Result<std::vector<InetSocket>> {
        auto table = SocketTable::of_process(fs, pid);
        if (!table) return std::move(table).error();
        const std::set<std::uint64_t> inodes = iocs::socket_inodes(fs, pid);
        std::vector<InetSocket> own;
        auto read = table->for_each(SocketKind::connected, [&](const InetSocket& socket) {
          if (inodes.contains(socket.inode)) own.push_back(socket);
        });
        if (!read) return read.error();
        return own;
      }) {}

std::optional<TraceDirectory::Link> LinkSockets::look(const End& from, const End& to,
                                                      const InetAddress& client, std::uint16_t port,
                                                      std::uint64_t put_ns, std::uint64_t now_ns) {
  // Each namespace has such addresses of its own.
  const bool same_net = from.net_namespace != 0 && from.net_namespace == to.net_namespace;
  if (is_loopback(client) && !same_net) return TraceDirectory::Link{};
  Seen& seen = seen_[from.generation];
  const auto find = [&]() -> std::optional<TraceDirectory::Link> {
    const auto found = seen.connections.find({client, port});
    if (found == seen.connections.end()) return std::nullopt;
    const auto& [address, server] = found->second;
    if (std::ranges::find(to.ports, server) == to.ports.end()) return TraceDirectory::Link{};
    return TraceDirectory::Link{true, place_text(address, server)};
  };
  const bool fresh = seen.read_ns != 0 && now_ns < seen.read_ns + ns(kFresh);
  if (fresh)
    if (auto link = find()) return link;
  if (fresh && seen.read_ns > put_ns) return TraceDirectory::Link{};
  if (seen.read_ns != 0 && now_ns < seen.read_ns + ns(kPause)) return std::nullopt;
  auto sockets = read_(from.pid);
  seen.read_ns = now_ns;
  seen.connections.clear();
  if (!sockets) return TraceDirectory::Link{};  // it is gone, or closed to us
  for (const InetSocket& socket : *sockets)
    seen.connections[{socket.local, socket.local_port}] = {socket.remote, socket.remote_port};
  auto link = find();
  return link ? link : TraceDirectory::Link{};
}

}  // namespace ioc_exporter::traces

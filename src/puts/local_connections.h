// TCP connections of servers of this host whose other end is on this host, too: from the kernel's
// lists of sockets, by both ends' addresses and ports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/rooted_fs.h"
#include "base/socket_table.h"
#include "iocs/ioc.h"

namespace ioc_exporter::puts {

// A process with sockets. Of a server: the label `ioc`, and where it listens.
struct SocketOwner {
  iocs::IocId id;
  std::uint64_t net_namespace = 0;
  std::string ioc = {};
  std::vector<iocs::ListeningSocket> listening = {};
};

struct LocalConnection {
  const SocketOwner* server = nullptr;
  InetSocket client;  // the client's end
};

// One look: the sockets of each network namespace are read once.
class LocalConnections {
 public:
  explicit LocalConnections(const RootedFs& fs) : fs_(fs) {}

  // Connections in the owner's namespace; none where it cannot be read. A reference for the look.
  const std::vector<InetSocket>& sockets_of(const SocketOwner& owner);
  // Of these servers, which outlive the result, with clients in the clients' namespaces. Each
  // namespace has a loopback of its own; an end that two namespaces have is nobody's, and so is one
  // in another namespace than the server's whose processes are all in user namespaces of their own:
  // who makes such a one may have any address in it.
  std::vector<LocalConnection> between(const std::vector<SocketOwner>& clients,
                                       const std::vector<SocketOwner>& servers);

 private:
  std::string user_namespace(const std::string& process) const;

  const RootedFs& fs_;
  std::map<std::uint64_t, std::vector<InetSocket>> sockets_;  // by namespace
};

}  // namespace ioc_exporter::puts

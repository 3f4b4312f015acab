// Gateways: which clients of the servers here are gateways, so that a site's sums can leave out
// what it would count twice. Those that run on this host, by their own connections; others, by the
// site's list. In any thread.
#pragma once

#include <array>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/client_network.h"
#include "base/rooted_fs.h"
#include "base/yaml_reader.h"
#include "puts/local_connections.h"
#include "puts/totals/samples.h"

namespace ioc_exporter::puts {

// Of the site's file: clients by address, or by the name that they give themselves (client_host).
struct GatewayList {
  std::vector<ClientNetwork> networks;
  std::set<std::string> hosts;
};
// The list `gateways` of the file.
GatewayList read_gateways(Reader& file);

class Gateways {
 public:
  void use(GatewayList list);
  // Reads the gateways' sockets, and those of the servers that are their other ends. `remote`:
  // servers elsewhere have series, too (RemoteServers).
  void look(const RootedFs& fs, const std::vector<SocketOwner>& gateways,
            const std::vector<SocketOwner>& servers, bool remote);
  // Those among the clients that the samples name, all of one protocol. Gateways that have gone are
  // known until the samples of neither name them any more.
  void add_to(PutsSamples& samples, bool by_pva);

 private:
  using Pair = std::pair<std::string, std::string>;  // ioc, client

  std::mutex mutex_;
  GatewayList list_;
  std::set<Pair> connected_;             // as of the last look
  std::set<Pair> found_;                 // these, and former ones
  std::array<std::set<Pair>, 2> named_;  // of them, in the last samples of each protocol
};

}  // namespace ioc_exporter::puts

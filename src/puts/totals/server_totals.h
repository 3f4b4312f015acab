// Traffic of each CA server's circuits, from counters of connections that come and go, and what is
// open now. Pure: no system calls.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/monotonic_totals.h"
#include "puts/server_key.h"
#include "puts/tap/connections.h"
#include "puts/totals/samples.h"
#include "shared/ca_tap.h"

namespace ioc_exporter::puts {

// With the server's key: `ioc` is not filled in yet.
struct ServerCount : ServerSample {
  ServerKey server;
};
struct ClientCount : ClientSample {
  ServerKey server;
};

// By server, from the counters of connections. Those go on when a 4-tuple is used again.
using ServerTotals = MonotonicTotals<ServerKey, IOCX_CA_COUNTS, iocx_ca_flow_key, KeyLess>;

// `counts` as in iocx_ca_flow.
ServerTotals::Values server_counts(const __u64 (&counts)[IOCX_CA_COUNT_ROOM]);

// Adds up what is open now, over one look at the kernel's tables: circuits first, then channels.
class OpenCounts {
 public:
  // `user` and `host`: as the server knows them, where the kernel has seen none.
  void add_circuit(const ServerKey& server, const iocx_ca_flow_key& key, const iocx_ca_flow& flow,
                   const std::string& user = "", const std::string& host = "");
  // A circuit whose channels are not kept.
  void add_unfollowed(const ServerKey& server);
  // Of a circuit that was not added, a channel does not count.
  void add_channel(const iocx_ca_channel& channel);

  // Sorted by server; every server of `totals` is there, too.
  std::vector<ServerCount> servers(const ServerTotals& totals) const;
  // Sorted by server, client, user, host.
  std::vector<ClientCount> clients() const;

 private:
  struct ClientKey {
    ServerKey server;
    std::string client, user, host;
    auto operator<=>(const ClientKey&) const = default;
  };
  struct Client {
    std::uint64_t circuits = 0, channels = 0, monitors = 0;
  };
  using Clients = std::map<ClientKey, Client>;

  std::map<ServerKey, ServerCount> servers_;
  Clients clients_;
  std::unordered_map<std::uint64_t, Clients::iterator> circuits_;
};

}  // namespace ioc_exporter::puts

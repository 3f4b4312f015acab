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
#include "puts/tap/connections.h"
#include "puts/totals/samples.h"
#include "shared/ca_tap.h"

namespace ioc_exporter::ca {

// With the server's number: `ioc` is not filled in yet.
struct CaServerCount : CaServerSample {
  std::uint32_t number = 0;
};
struct CaClientCount : CaClientSample {
  std::uint32_t number = 0;
};

// By server, from the counters of connections. Those go on when a 4-tuple is used again.
using CaServerTotals = MonotonicTotals<std::uint32_t, IOCX_CA_COUNTS, iocx_ca_flow_key, CaKeyLess>;

// `counts` as in iocx_ca_flow.
CaServerTotals::Values server_counts(const __u64 (&counts)[IOCX_CA_COUNT_ROOM]);

// Adds up what is open now, over one look at the kernel's tables: circuits first, then channels.
class CaOpenCounts {
 public:
  // `user` and `host`: as the server knows them, where the kernel has seen none.
  void add_circuit(std::uint32_t ioc, const iocx_ca_flow_key& key, const iocx_ca_flow& flow,
                   const std::string& user = "", const std::string& host = "");
  // A circuit whose channels are not kept.
  void add_unfollowed(std::uint32_t ioc);
  // Of a circuit that was not added, a channel does not count.
  void add_channel(const iocx_ca_channel& channel);

  // Sorted by server; every server of `totals` is there, too.
  std::vector<CaServerCount> servers(const CaServerTotals& totals) const;
  // Sorted by server, client, user, host.
  std::vector<CaClientCount> clients() const;

 private:
  struct ClientKey {
    std::uint32_t ioc = 0;
    std::string client, user, host;
    auto operator<=>(const ClientKey&) const = default;
  };
  struct Client {
    std::uint64_t circuits = 0, channels = 0, monitors = 0;
  };
  using Clients = std::map<ClientKey, Client>;

  std::map<std::uint32_t, CaServerCount> servers_;
  Clients clients_;
  std::unordered_map<std::uint64_t, Clients::iterator> circuits_;
};

}  // namespace ioc_exporter::ca

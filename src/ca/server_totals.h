// What the circuits of each CA server have carried, from counters of connections that come and go,
// and what is open now. Pure: no system calls.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "ca/connections.h"
#include "ca/samples.h"
#include "shared/ca_tap.h"

namespace ioc_exporter::ca {

// As CaServerSample, by the server's number.
struct CaServerCount {
  std::uint32_t ioc = 0;
  std::uint64_t circuits = 0;
  std::array<std::uint64_t, CaServerSample::kAccesses> channels{};
  std::uint64_t monitors = 0;
  std::uint64_t flow_controlled = 0;
  std::uint64_t gets = 0, monitor_updates = 0, echoes = 0, server_disconnects = 0;
  std::uint64_t received_bytes = 0, sent_bytes = 0;
};

// As CaClientSample.
struct CaClientCount {
  std::uint32_t ioc = 0;
  std::string client, user, host;
  std::uint64_t circuits = 0, channels = 0, monitors = 0;
};

// A connection's counters go on when its 4-tuple is used again; they are added as far as they were
// not added before.
class CaServerTotals {
 public:
  using Counts = std::array<std::uint64_t, IOCX_CA_COUNTS>;

  // `counts` as in iocx_ca_flow; one that is less than what was seen has begun anew.
  void observe(const iocx_ca_flow_key& key, std::uint32_t ioc, const __u64* counts);
  // The connection's entry has left the kernel's table.
  void close(const iocx_ca_flow_key& key) { seen_.erase(key); }
  void forget(std::uint32_t ioc) { totals_.erase(ioc); }

  const std::map<std::uint32_t, Counts>& totals() const { return totals_; }
  std::size_t connections() const { return seen_.size(); }

 private:
  std::map<iocx_ca_flow_key, Counts, CaKeyLess> seen_;
  std::map<std::uint32_t, Counts> totals_;  // by server
};

// Adds up what is open now, over one look at the kernel's tables: circuits first, then channels.
class CaOpenCounts {
 public:
  void add_circuit(std::uint32_t ioc, const iocx_ca_flow_key& key, const iocx_ca_flow& flow);
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

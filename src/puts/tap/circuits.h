// Circuits: the connections in the kernel's table, the IOC that each leads to, and what they have
// carried.
//
// A circuit ends with FIN, RST or a new SYN+ACK on its 4-tuple. The connection itself is remembered
// for kLinger, so that a segment that is sent again does not pass for a connection that was open
// before the tap; shorter while the table is more than half full. One whose end was not seen goes
// when two looks at the kernel's own list of sockets, kSocketLook apart, do not find it; one whose
// server is no longer watched goes at once.
//
// The IOC of a circuit is the one that listens on its port now, not the one that did when it began.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/result.h"
#include "puts/tap/kept_channels.h"
#include "puts/tap/overdue.h"
#include "puts/tap/watched_servers.h"
#include "puts/totals/put_totals.h"
#include "puts/totals/server_totals.h"

namespace ioc_exporter::puts {

class Circuits {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kLinger{60};
  static constexpr std::chrono::seconds kLingerWhenCrowded{2};
  static constexpr std::chrono::seconds kSocketLook{30};
  static constexpr std::chrono::seconds kSocketLookWhenCrowded{5};

  // The table as one look found it. Read after the channels: a channel whose circuit is not `alive`
  // has lost it.
  struct Seen {
    struct Flow {
      iocx_ca_flow_key key;
      std::uint64_t circuit;
    };
    std::unordered_set<std::uint64_t> alive;
    std::set<std::uint64_t> ended;
    std::vector<Flow> flows;
  };
  struct Identity {
    std::string user, host;
  };

  // The others must outlive it.
  Circuits(const TapObject& object, const TapNetwork& network, WatchedServers& servers)
      : object_(object), network_(network), servers_(servers) {}

  Result<Seen> look();
  // Moves circuits from `alive` to `ended` that have no server any more, or no socket.
  Result<void> end_lost(Seen& seen, Clock::time_point now);
  Result<void> free_ended(const Seen& seen, Clock::time_point now);

  // Adds up what was carried. `open`: to add what is open to; or null. At `probed` ports channels
  // are not kept.
  Result<void> observe(const ProbedPorts& probed, Clock::time_point now,
                       OpenCounts* open = nullptr);
  const ServerTotals& traffic() const { return traffic_; }
  void forget(std::uint32_t ioc);

  // The server of a circuit for which the kernel noted `noted`; nothing: it is not known yet.
  std::optional<ServerKey> server_of(std::uint64_t circuit, std::uint32_t noted) const;
  // IOCs to which circuits are open, as of the last look().
  const std::set<std::uint32_t>& in_use() const { return in_use_; }
  // For circuits that began before the kernel knew the IOC of their server.
  Result<void> find_iocs();
  // Ports of servers for PV Access that no IOC is known for and that were seen to speak it, as of
  // the last look().
  const Ports& unnamed_pva() const { return unnamed_pva_; }
  // An IOC that was found has or had that port.
  bool was_iocs(std::uint16_t port) const { return servers_.was_named(port); }
  // The kernel noted another IOC for the circuit.
  bool has_moved(std::uint64_t circuit) const { return moved_.contains(circuit); }

  // Null: the kernel has seen it.
  const Identity* identity(std::uint64_t circuit) const;
  void set_identity(std::uint64_t circuit, Identity identity) {
    identities_.insert_or_assign(circuit, std::move(identity));
  }

  // Names of an earlier run, for circuits that are still open when observe() meets them.
  void know(KeptCircuits kept) { kept_ = std::move(kept); }
  const KeptCircuits& not_met() const { return kept_; }
  // observe() has met the circuit: its names are known, or will not be.
  bool is_met(std::uint64_t circuit) const { return kept_.empty() || met_.contains(circuit); }
  std::string kept_name(std::uint64_t circuit, std::uint32_t sid) const;  // "": not known
  std::map<std::uint32_t, std::string> kept_names(std::uint64_t circuit) const;
  // Another channel has the SID now.
  void drop_kept_name(std::uint64_t circuit, std::uint32_t sid);

  // Connections to or from a watched port. Keyed as circuits are, with the cookies of the sockets
  // at the server's end where that is here.
  Result<SocketCookies> sockets() const;
  // Server that its client is connected to, "10.0.0.1:5064"; "": not known.
  std::string address_of_server(const PutPlace& place, std::uint16_t port) const;

  std::uint64_t count() const { return count_; }

 private:
  Result<void> meet(Clock::time_point now);
  void note_ioc(const iocx_ca_flow_key& key, const iocx_ca_flow& flow);
  Result<void> remove(const iocx_ca_flow_key& key, std::uint64_t circuit);

  const TapObject& object_;
  const TapNetwork& network_;
  WatchedServers& servers_;
  ServerTotals traffic_;
  std::map<std::uint64_t, ServerKey> moved_;      // for which the kernel noted another one
  std::map<std::uint64_t, Identity> identities_;  // for which the kernel has seen none
  KeptCircuits kept_;                             // of an earlier run, not met yet
  std::unordered_set<std::uint64_t> met_;         // circuits, while there are any of those
  std::map<std::uint64_t, std::map<std::uint32_t, std::string>> names_;  // of circuits, by SID
  Overdue<std::uint64_t> gone_;
  std::set<std::uint64_t> without_socket_;  // that the last look at sockets did not find
  std::optional<Clock::time_point> looked_at_sockets_;
  Ports unnamed_pva_;
  std::set<std::uint32_t> in_use_;
  std::uint64_t count_ = 0;
};

}  // namespace ioc_exporter::puts

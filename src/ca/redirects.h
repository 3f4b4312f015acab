// CaRedirects: finds out from where clients reach a server whose port netfilter rewrites (DNAT,
// REDIRECT), and tells the programs (bpf/shared/ca_redirects.h).
//
// The kernel's list of sockets has the server's own port. A connection that has carried something
// from one look to the next, of which the tap has not seen packets both ways, is sought for
// kSeekFor: whatever its client is sent from, which is no socket's own address and port, is the
// server's from then on, for all clients. What the connection carried until then is unread. A
// redirect ends when something of this host uses its port, when its server goes, when a circuit by
// it goes on for which the server has no socket, and when nobody has used it for kKeep.
//
// Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/rooted_fs.h"
#include "base/socket_cookies.h"
#include "ca/connections.h"
#include "ca/namespaces.h"
#include "ca/tap_object.h"
#include "exposition/self_samples.h"

namespace ioc_exporter::ca {

class CaRedirects {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kLook{10};  // from one list of sockets to the next
  static constexpr std::chrono::seconds kSeekFor{30};
  static constexpr std::chrono::minutes kRest{10};  // until it is sought again
  static constexpr std::chrono::hours kKeep{1};
  static constexpr std::size_t kMostSought = IOCX_CA_SOUGHT;
  static constexpr std::size_t kMostOfOneClient = 4;  // of those sought at a time, by address
  static constexpr std::size_t kMostMissing = 1024;

  // Of the tap that it belongs to.
  struct Tap {
    const CaTapObject& object;
    const CaNamespaces& namespaces;
    const RootedFs& fs;
    // Number of the IOC whose server the connection's is; nothing: it is none's.
    std::function<std::optional<std::uint32_t>(const iocx_ca_flow_key&)> ioc_of;
    CaPorts ports;  // of IOCs' servers
  };
  // What a server's connection carried before its packets were known.
  struct Unread {
    iocx_ca_flow_key key;
    std::uint32_t ioc;
    std::uint64_t bytes, ns;
  };
  struct Found {
    std::vector<Unread> unread;
    // Those of servers that are redirected: their next packet is theirs.
    std::vector<iocx_ca_flow_key> connections;
  };

  // Call it every second or two, after the tap has read its circuits.
  Result<Found> look(const Tap& tap, Clock::time_point now);
  // Those that must be watched beside the servers'.
  CaPorts ports() const;
  Result<void> leave_namespace(const CaTapObject& object, std::uint32_t net);
  MapSample fill() const { return {"ca_redirects", redirects_.size(), IOCX_CA_REDIRECTS}; }

 private:
  using Since = Clock::time_point;
  struct Missing {
    Since noticed;
    std::uint64_t before = 0;  // bytes that it had received when its server was first looked at
    std::optional<std::uint64_t> received = {};  // at the last look
    bool active = false;                         // and more since then
    std::optional<Since> sought = {};
    std::optional<Since> rests = {};  // until then
  };
  // Sockets of a namespace.
  struct Sockets {
    std::set<std::uint16_t> ports;                       // that any of them has
    CaFlowKeys connections;                              // of IOCs' servers
    CaFlowKeys unaccepted;                               // of these, too
    std::map<iocx_ca_end, unsigned, CaKeyLess> clients;  // how many have that far end
  };

  // How many of missing_ each client has.
  using Holders = std::map<iocx_ca_address, std::size_t, CaKeyLess>;

  Result<void> read_sockets(const Tap& tap);
  bool make_room(Holders& holders, const iocx_ca_address& client);
  Result<void> find_missing(const Tap& tap, const CaPorts& known, Clock::time_point now);
  Result<void> look_at_missing(const Tap& tap, Clock::time_point now, Found& found);
  Result<void> seek(const Tap& tap, const iocx_ca_flow_key& key, Missing& missing,
                    Clock::time_point now);
  Result<void> stop(const CaTapObject& object, const iocx_ca_flow_key& key, Missing& missing);
  Result<bool> judge(const Tap& tap, const iocx_ca_flow_key& key, const iocx_ca_end& wire);
  Result<void> forget_unused(const Tap& tap);
  // The servers whose redirects lead elsewhere now.
  Result<std::set<iocx_ca_end, CaKeyLess>> misled(const Tap& tap);
  Result<void> forget(const CaTapObject& object, const iocx_ca_end& wire);
  std::optional<std::uint64_t> received(const Tap& tap, const iocx_ca_flow_key& key);
  Result<std::uint64_t> unread_of(const Tap& tap, const iocx_ca_flow_key& key,
                                  const iocx_ca_flow& flow, const Missing& missing);
  bool is_redirected(const iocx_ca_flow_key& key) const;
  bool is_found(const iocx_ca_flow_key& key, const iocx_ca_flow& flow) const;
  void tell_count(const CaTapObject& object) const;

  std::map<iocx_ca_end, iocx_ca_end, CaKeyLess> redirects_;  // the server's own, by the packets'
  std::map<iocx_ca_flow_key, Missing, CaKeyLess> missing_;
  std::size_t sought_ = 0;
  // Bytes of circuits of redirected servers that had no socket at the last look.
  std::map<iocx_ca_flow_key, std::uint64_t, CaKeyLess> without_socket_;
  std::map<std::uint32_t, Sockets> sockets_;                    // by namespace, as of the last look
  CaPorts known_ports_;                                         // of servers, as of the last look
  std::map<std::uint32_t, std::optional<SocketCookies>> diag_;  // by namespace
  std::optional<Since> looked_;
};

}  // namespace ioc_exporter::ca

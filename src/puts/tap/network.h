// The network namespace of the exporter, as the tap looks into it: its packet socket, its addresses
// and its sockets.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "base/netlink.h"
#include "base/result.h"
#include "base/rooted_fs.h"
#include "base/socket_table.h"
#include "puts/tap/connections.h"
#include "puts/tap/packet_tap.h"
#include "puts/tap/tap_object.h"

namespace ioc_exporter::puts {

class TapNetwork {
 public:
  // `object` must outlive it.
  TapNetwork(const TapObject& object, RootedFs fs)
      : object_(object), fs_(std::move(fs)), packets_(object.shared_maps()) {}

  // Takes note of the addresses that came and went, for the programs, too.
  Result<void> update_addresses();
  bool has_address(const iocx_ca_address& address) const;

  Result<void> for_each_socket(SocketKind kind, const SocketTable::Visit& each) const;
  // Ports of UDP sockets.
  Result<Ports> udp_sockets() const;

  // The packet socket; also for who opens it in our place.
  PacketTap& packets() { return packets_; }

 private:
  const TapObject& object_;
  RootedFs fs_;
  PacketTap packets_;
  std::optional<Netlink> route_;  // asked about addresses
  LocalRoutes local_;             // as the programs have them
};

}  // namespace ioc_exporter::puts

// Network namespaces that the tap looks into: a packet socket and the addresses of each. They have
// numbers; 0 is the exporter's own.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "base/netlink.h"
#include "base/result.h"
#include "base/rooted_fs.h"
#include "base/socket_table.h"
#include "base/unique_fd.h"
#include "puts/tap/connections.h"
#include "puts/tap/packet_taps.h"
#include "puts/tap/tap_object.h"

namespace ioc_exporter::ca {

class CaNamespaces {
 public:
  // `object` must outlive it.
  CaNamespaces(const CaTapObject& object, RootedFs fs)
      : object_(object), fs_(std::move(fs)), taps_(object.shared_maps()) {}
  // Attaches in the calling thread's network namespace.
  Result<void> open_own();

  // Attaches in the namespace of `ns_fd` (an open /proc/PID/ns/net; not kept) and gives its number;
  // one that is there already keeps its number. While it is there it outlives its last process, so
  // remove it from the tap when its last server has gone.
  Result<std::uint32_t> add(int ns_fd);
  bool contains(std::uint32_t net) const { return all_.contains(net); }
  // No packet of the namespace is looked at after this.
  void detach(std::uint32_t net) { taps_.close(net); }
  // No packet of any namespace is looked at, those that are added meanwhile included, until
  // attach_all(): it is not counted, and the streams that go on have a gap.
  void detach_all();
  // Goes on after an error and gives the first one; attaches what is not attached.
  Result<void> attach_all();
  // The number is free for another namespace: but for addresses, nothing in the maps may name it.
  Result<void> release(std::uint32_t net);

  // Takes note of the addresses that came and went, for the programs, too. Goes on after an error
  // and gives the first one.
  Result<void> update_addresses();
  bool has_address(std::uint32_t net, const iocx_ca_address& address) const;

  // Calls each(socket, net) for the sockets of all namespaces. Goes on after an error and gives the
  // first one.
  Result<void> for_each_socket(
      SocketKind kind, const std::function<void(const InetSocket&, std::uint32_t)>& each) const;
  // Ports of UDP sockets.
  Result<CaPorts> udp_sockets() const;

  // The packet sockets; also for who opens them in our place.
  CaPacketTaps& taps() { return taps_; }

 private:
  struct Namespace {
    UniqueFd ns;  // none: the exporter's own
    dev_t device = 0;
    ino_t inode = 0;
    std::optional<Netlink> route = {};  // asked about addresses
    CaLocalRoutes local = {};           // as the programs have them
  };
  // Calls each(net, namespace); goes on after an error and gives the first one.
  template <class All, class Each>
  static Result<void> for_each(All& all, Each each);
  Result<void> update_addresses_of(std::uint32_t net, Namespace& one) const;
  Result<void> update_addresses_of_any();

  const CaTapObject& object_;
  RootedFs fs_;
  CaPacketTaps taps_;
  std::map<std::uint32_t, Namespace> all_;
  CaLocalRoutes any_;  // of all of them, as the programs have them
  bool detached_ = false;
};

}  // namespace ioc_exporter::ca

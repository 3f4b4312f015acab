// Network namespaces that the tap looks into: a packet socket and the addresses of each. They have
// numbers; 0 is the exporter's own.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "base/netlink.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "puts/tap/connections.h"
#include "puts/tap/packet_taps.h"
#include "puts/tap/tap_object.h"

namespace ioc_exporter::ca {

class CaNamespaces {
 public:
  // Attaches in the calling thread's network namespace. `object` must outlive what is made here.
  static Result<CaNamespaces> start(const CaTapObject& object);

  // Attaches in the namespace of `ns_fd` (an open /proc/PID/ns/net; not kept) and gives its number;
  // one that is there already keeps its number. While it is there it outlives its last process.
  Result<std::uint32_t> add(int ns_fd);
  bool contains(std::uint32_t net) const { return all_.contains(net); }
  // Of one that is there; and its number, if it is.
  std::uint64_t inode(std::uint32_t net) const { return all_.at(net).inode; }
  std::optional<std::uint32_t> number(std::uint64_t inode) const;
  // No packet of the namespace is looked at after this.
  void detach(std::uint32_t net);
  // No packet of any namespace is looked at, those that are added meanwhile included, until
  // attach_all().
  void detach_all();
  // Goes on after an error and gives the first one; attaches what is not attached.
  Result<void> attach_all();
  // Of packet sockets.
  std::uint64_t attachments() const { return taps_.count(); }
  // The number is free for another namespace: but for addresses, nothing in the maps may name it.
  Result<void> release(const CaTapObject& object, std::uint32_t net);

  // Takes note of the addresses that came and went, for the programs, too. Goes on after an error
  // and gives the first one.
  Result<void> update_addresses(const CaTapObject& object);
  bool has_address(std::uint32_t net, const iocx_ca_address& address) const;

  // Calls `each(net, ns)` for every namespace: `ns` is an open /proc/PID/ns/net, -1 the calling
  // thread's. Goes on after an error and gives the first one.
  Result<void> for_each(const std::function<Result<void>(std::uint32_t, int)>& each) const;

  // Of all that are or were there.
  std::optional<kernel::ProgramStats> stats() const { return taps_.stats(); }

  // The packet sockets, for the helper that opens them.
  CaPacketTaps& taps() { return taps_; }

 private:
  struct Namespace {
    UniqueFd ns;  // none: the exporter's own
    dev_t device = 0;
    ino_t inode = 0;
    std::optional<Netlink> route = {};  // asked about addresses
    CaAddresses addresses;
    CaLocalRoutes routes = {};
  };
  explicit CaNamespaces(const CaTapObject& object) : taps_(object.shared_maps()) {}
  Result<void> update_addresses_of(const CaTapObject& object, std::uint32_t net, Namespace& one);
  std::optional<std::uint32_t> free_number() const;
  Result<void> update_addresses_of_any(const CaTapObject& object);

  CaPacketTaps taps_;
  std::map<std::uint32_t, Namespace> all_;
  CaAddresses any_;          // addresses of all of them, as the programs have them
  CaLocalRoutes any_route_;  // likewise
  bool detached_ = false;
};

}  // namespace ioc_exporter::ca

// Circuits that were open before the tap, from the IOC's memory: for CaTap::seed().
//
// Order: the tap watches the server's port first, then the IOC's memory is read, then this is
// handed over. What the tap saw itself since then always wins: a channel that was closed meanwhile
// stays closed, and one that was opened under the same SID keeps its own name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "shared/ca_tap.h"

namespace ioc_exporter::ca {

struct CaSeedChannel {
  std::uint32_t cid = 0;
  std::uint32_t sid = 0;
  std::string name;                               // as the client asked for it
  std::uint32_t monitors = 0;                     // subscriptions that are open
  std::uint32_t access = IOCX_CA_ACCESS_UNKNOWN;  // enum iocx_ca_access

  bool operator==(const CaSeedChannel&) const = default;
};

struct CaSeedCircuit {
  iocx_ca_flow_key key{};
  std::string user, host;  // "": the client gave none
  std::vector<CaSeedChannel> channels;

  bool operator==(const CaSeedCircuit& other) const {
    return __builtin_memcmp(&key, &other.key, sizeof key) == 0 && user == other.user &&
           host == other.host && channels == other.channels;
  }
};

struct CaSeed {
  std::uint32_t ioc = 0;  // the number that set_servers() gave to the server
  std::vector<CaSeedCircuit> circuits;
};

// Result of seeding. Each circuit and each channel is in exactly one of the numbers; channels of a
// circuit that was passed over are in none.
struct CaSeedResult {
  std::uint64_t circuits_added = 0;      // no packet of theirs was seen yet
  std::uint64_t circuits_completed = 0;  // the tap had joined them on their way
  std::uint64_t circuits_followed = 0;   // passed over: the tap saw them from their first byte
  std::uint64_t circuits_ended = 0;      // passed over: their end was seen meanwhile
  std::uint64_t circuits_no_room = 0;    // passed over
  std::uint64_t channels_added = 0;      // no put was seen yet
  std::uint64_t channels_named = 0;      // puts were seen: they have their name now
  std::uint64_t channels_known = 0;      // the tap knew them
  std::uint64_t channels_ended = 0;      // their end was seen meanwhile
  std::uint64_t channels_no_room = 0;
};

}  // namespace ioc_exporter::ca

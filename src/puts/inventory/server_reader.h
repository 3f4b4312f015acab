// The clients and channels of a running IOC's CA server, read from its memory: what was opened
// before the tap could see it.
//
// Layout: puts/inventory/rsrv_layout.h. The IOC runs on meanwhile, so nothing that is read is
// trusted. A channel is reported only when
//  - it has a name, and hangs in the chain of the server's hash that its SID belongs to at the
//    beginning and at the end of the reading (a SID is of one channel only: casCreateChannel in
//    rsrv/camessage.c);
//  - its client is in the server's list, and is the peer of a socket of the IOC.
// Other channels are left out and counted.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "iocs/ioc.h"
#include "iocs/memory/memory.h"
#include "puts/totals/samples.h"

namespace ioc_exporter::puts {

// The far end of a connection.
struct CaPeer {
  std::array<std::uint8_t, 16> address{};  // an IPv4 address stands as ::ffff:a.b.c.d
  std::uint16_t port = 0;                  // host byte order

  auto operator<=>(const CaPeer&) const = default;
};
using CaPeers = std::set<CaPeer>;

struct CaServerChannel {
  std::uint32_t sid = 0;
  // As the client asked for it. Base before 3.15.1 does not keep that: there it is the record's own
  // name, with the field unless it is VAL, and "$" when the client asked for a long string. Longer
  // ones than the tap keeps are cut as there.
  std::string name;
  std::uint32_t monitors = 0;
  ServerSample::Access access = ServerSample::unknown;
};

struct CaServerClient {
  CaPeer peer;
  std::string user;  // "" until the client has said it
  std::string host;  // as access security takes it: the address in figures with asCheckClientIP
  std::vector<CaServerChannel> channels;
  std::optional<bool> flow_controlled = {};  // nothing: not known of this Base
};

struct CaServerTables {
  std::vector<CaServerClient> clients;  // also those without channels
  std::uint64_t channels = 0;           // in all of them
  std::uint64_t left_out = 0;           // channels that could not be reported
  std::uint64_t clients_left_out = 0;   // those that came, went or changed meanwhile

  // True: everything that the server had at one moment.
  bool is_whole() const { return left_out == 0 && clients_left_out == 0; }
};

// `symbols`: where pCaBucket and clientQ may live, likeliest first; the first server that has been
// set up is read. `peers`: of the IOC's sockets, taken before the call; a client that is not among
// them came later, or has gone, and is left out in silence. No clients at all while the server is
// not set up yet. An error when nothing of what is there could be reported. `subject` names the IOC
// in errors ("ioc X (pid 8)").
Result<CaServerTables> read_ca_server(iocs::Memory& memory,
                                      std::span<const iocs::CaServerSymbols> symbols,
                                      const CaPeers& peers, std::string_view subject);

}  // namespace ioc_exporter::puts

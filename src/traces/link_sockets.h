// LinkSockets: whether what a server heard from a client came from an IOC of this host, by the
// IOC's own sockets.
//
// Not thread-safe.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/rooted_fs.h"
#include "base/socket_table.h"
#include "traces/chain_reader.h"

namespace ioc_exporter::traces {

class LinkSockets {
 public:
  // Sockets of the process, of one kind that is connected; for tests.
  using Read = std::function<Result<std::vector<InetSocket>>(pid_t)>;
  // At least so long between two looks at the sockets of one IOC.
  static constexpr std::chrono::milliseconds kPause{200};
  // What was seen so long ago is looked at again.
  static constexpr std::chrono::seconds kFresh{5};

  explicit LinkSockets(const RootedFs& fs);
  explicit LinkSockets(Read read) : read_(std::move(read)) {}

  // An IOC and its server.
  struct End {
    std::uint32_t generation = 0;  // another one for each life of an IOC
    pid_t pid = 0;
    std::uint64_t net_namespace = 0;  // 0: not known
    std::vector<std::uint16_t> ports = {};
  };
  // Whether `from` has a connection to `to` that looks like that there. Times: CLOCK_MONOTONIC, ns.
  // Absent: that will be known soon.
  std::optional<TraceDirectory::Link> look(const End& from, const End& to,
                                           const InetAddress& client, std::uint16_t port,
                                           std::uint64_t put_ns, std::uint64_t now_ns);
  void forget(std::uint32_t generation) { seen_.erase(generation); }

 private:
  using Place = std::pair<InetAddress, std::uint16_t>;
  struct Seen {
    std::map<Place, Place> connections;  // from the IOC's own end
    std::uint64_t read_ns = 0;           // before they were
  };

  Read read_;
  std::map<std::uint32_t, Seen> seen_;  // by generation
};

}  // namespace ioc_exporter::traces

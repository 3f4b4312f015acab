// ClientProcesses: which process of this host is at the far end of a server's TCP connection.
//
// A look finds the connections whose two ends are on this host, and for new ones the processes that
// have the client's socket, among those of the user who made it. A name is given for a connection
// that was seen before and is still the same one: by the kernel's number of the socket (its
// cookie), not by addresses. Where one of these is missing there is none: clients on other hosts,
// in network namespaces without an IOC, behind translated addresses; processes that changed their
// user; kernels without sock_diag.
//
// A process that has ended since is looked for anew: another one has its number, and the socket.
//
// Looks are by a thread of their own, and rest a hundred times as long as they took, and so do long
// searches among one user's processes, apart: at most 1 % of a core each. In any thread, but for
// look().
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/netlink.h"
#include "base/result.h"
#include "base/rooted_fs.h"
#include "base/socket_table.h"
#include "base/worker.h"
#include "puts/local_connections.h"

namespace ioc_exporter::ca {

class ClientProcesses {
 public:
  using Clock = std::chrono::steady_clock;
  // Between looks: while the put log asks, and for the page alone.
  static constexpr std::chrono::seconds kInterval{2}, kRareInterval{30};
  // Of one look: CPU time for files of processes, of one user and in all; connections.
  static constexpr std::chrono::milliseconds kUserShare{500}, kShare{1000};
  static constexpr std::size_t kMostConnections = 32'768;
  static constexpr std::size_t kMostNamed = 3;  // processes

  explicit ClientProcesses(RootedFs fs, Clock::duration interval = kInterval)
      : fs_(std::move(fs)), interval_(interval) {}

  // By one thread: whether a look is due, and one that nobody waits for. `own_namespace`: of this
  // process.
  bool is_due(Clock::time_point now) { return wait(std::chrono::milliseconds(0)) && now >= next_; }
  void look(std::vector<SocketOwner> servers, std::uint64_t own_namespace);
  // True: no look is under way.
  bool wait(std::chrono::milliseconds patience) { return worker_.wait(patience); }

  // The process that has the connection of a client ("address:port") of the IOC: of an IOC its
  // label, of another one "comm[pid]"; several, separated by commas, where a socket was inherited.
  // "": not known. `at_ns` (CLOCK_MONOTONIC): when the connection was in use.
  std::string of(const std::string& ioc, std::string_view client, std::uint64_t at_ns);
  // Those of the last look at these ports of a client.
  std::string of_ports(const std::string& ioc, const std::string& address,
                       const std::vector<std::uint16_t>& ports) const;

 private:
  using Id = std::pair<std::uint64_t, std::uint64_t>;  // network namespace, cookie
  using Processes = std::map<iocs::IocId, std::string>;
  struct Connection {
    std::string ioc;
    InetSocket client;  // its end
    std::uint64_t client_namespace = 0;
    Processes processes = {};                 // none: not found
    unsigned searches = 0;                    // that found none
    std::uint64_t first_ns = 0, last_ns = 0;  // it was there, CLOCK_MONOTONIC
  };
  using Connections = std::map<Id, Connection>;
  using Place = std::tuple<std::string, InetAddress, std::uint16_t>;  // IOC, the client's end
  using Wanted = std::map<std::uint64_t, Connection*>;                // by inode

  void look_now(const std::vector<SocketOwner>& servers, std::uint64_t own_namespace);
  Connections connections_of(const std::vector<SocketOwner>& servers, std::uint64_t own_namespace);
  void keep_known(Connections& connections);
  void open_kernels(const Connections& connections, const std::vector<SocketOwner>& owners);
  std::chrono::nanoseconds name(Connections& connections, const std::vector<SocketOwner>& servers);
  bool search(const std::vector<pid_t>& pids, const Wanted& wanted,
              const std::vector<SocketOwner>& servers, std::chrono::nanoseconds until) const;
  Result<uid_t> user_of(const Connection& connection);
  static std::string text_of(const Processes& processes);

  RootedFs fs_;
  const Clock::duration interval_;
  Clock::time_point next_{};  // the worker's; also the next one
  struct UserSearch {
    std::chrono::nanoseconds cost{0};  // of the last one
    Clock::time_point next{};
  };
  std::map<uid_t, UserSearch> searches_;
  mutable std::mutex mutex_;  // for the next three
  Connections connections_;
  std::multimap<Place, Id> by_client_;
  std::map<std::uint64_t, Netlink> kernels_;  // to ask, by namespace
  Worker worker_;                             // last: it ends first
};

}  // namespace ioc_exporter::ca

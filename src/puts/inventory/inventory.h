// CaInventory: what clients have open at the CA servers of this host's IOCs: circuits, channels,
// monitors, flow control. From the servers' memory (puts/inventory/server_reader.h).
//
// A server is read when something may have changed: the kernel says how many bytes came in over
// each connection, and a client opens, closes and monitors nothing without sending some. What
// changes without them (access rights), or long after the server has read them (it waits for a
// put-callback of the same client first), is seen within kLongestPause. Of another network
// namespace the kernel shows no bytes: a server there is read when connections come and go, and
// every ten seconds. The numbers were right at one moment, at most kOldest ago, or they are absent
// and the status says why.
//
// A thread of its own reads: an IOC may make it wait. In any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/retry.h"
#include "base/rooted_fs.h"
#include "base/worker.h"
#include "exposition/self_samples.h"
#include "iocs/ioc.h"
#include "iocs/memory/process_reader.h"
#include "puts/inventory/server_reader.h"
#include "puts/totals/samples.h"

namespace ioc_exporter::puts {

class CaInventory {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kPatience{500};
  static constexpr std::chrono::seconds kLongestPause{45};
  static constexpr std::chrono::seconds kOldest{90};

  // An IOC whose server's tables can be found.
  struct Server {
    iocs::IocId id;
    std::string ioc;
    std::vector<iocs::CaServerSymbols> symbols;
    std::set<std::uint16_t> ports;  // on which CA clients may be connected
    std::uint64_t net_namespace = 0;
    std::string left_alone;  // why its memory must not be touched now; "" = it may
  };

  CaInventory(RootedFs fs, std::shared_ptr<iocs::ProcessReader> reader);

  // Reads the servers that are due, and forgets all others. Waits kPatience at most: what is not
  // read by then comes with a later call.
  void look(std::vector<Server> servers);

  // Puts what is known of these servers in the place of what the samples say of their circuits,
  // channels and clients.
  void add_to(PutsSamples& samples) const;
  // Why numbers are absent, by IOC.
  std::map<std::string, std::string> problems() const;
  Drops drops() const;

 private:
  // The server's end of a TCP connection.
  struct Connection {
    CaPeer peer;
    std::uint64_t cookie = 0;
    std::optional<std::uint64_t> received;  // bytes so far
    std::uint64_t unread = 0;               // of them, by the server

    auto operator<=>(const Connection&) const = default;
  };
  using Connections = std::vector<Connection>;  // sorted
  // Open circuits, channels and monitors of a server, and when that was right.
  struct Reported {
    std::string ioc;
    std::shared_ptr<const PutsSamples> open;  // its server and clients; null: never read
    Clock::time_point when{};
    std::string problem = {};  // of the last reading; "" = none

    bool is_valid(Clock::time_point now) const { return open != nullptr && now - when <= kOldest; }
  };
  struct State {
    Connections connections;   // at the last reading
    bool settled = false;      // they were the same at the reading before
    Clock::time_point read{};  // last
    Retry retry;
    Reported reported;
    bool is_missing = false;
  };
  using Sockets = std::multimap<std::uint16_t, Connection>;  // of a namespace, by local port

  void read_all(const std::vector<Server>& servers);
  Result<Sockets> read_sockets(const Server& server) const;
  static bool is_due(const State& state, const Connections& connections, Clock::time_point now);
  void look_at(const Server& server, const Result<Sockets>& sockets, State& state);
  Result<CaServerTables> read(const Server& server, const Connections& connections) const;
  void note_failure(State& state, const std::string& problem, Clock::time_point now);

  RootedFs fs_;
  std::shared_ptr<iocs::ProcessReader> reader_;
  std::map<iocs::IocId, State> states_;  // the worker's
  mutable std::mutex mutex_;             // for the next three
  std::map<iocs::IocId, Reported> reported_;
  std::uint64_t missing_ = 0;
  std::timed_mutex looking_;
  Worker worker_;  // last: it ends first
};

// The samples of a server, and of its clients: those with the same address, user and host are one.
PutsSamples open_at(const std::string& ioc, const CaServerTables& tables);

}  // namespace ioc_exporter::puts

// CaSeeding: gives the tap the circuits and channels that were open before it saw their port, from
// the IOCs' memory.
//
// An IOC is read once the tap watches its ports, and again kSecondLook later: a channel that was
// being opened at the first time is there at the second. The same when it listens on other ports
// than before. What could not be told is tried again for a while; and while the tap meets channels
// that have no name (it lost the packet that named them, say), with growing pauses for as long as
// it does. The thread that ticks calls it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/rooted_fs.h"
#include "iocs/ioc.h"
#include "iocs/memory/process_reader.h"
#include "puts/inventory/server_reader.h"
#include "puts/tap/connections.h"
#include "puts/tap/served.h"
#include "puts/tap/tap_seed.h"

namespace ioc_exporter::ca {

// Clients of an IOC: its sockets' far ends, and the tap's name of each connection. A far end with
// several connections is ambiguous, and in neither.
struct CaConnections {
  CaPeers peers;
  std::map<CaPeer, iocx_ca_flow_key> keys;
};

class CaSeeding {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kSecondLook{2};
  static constexpr std::chrono::seconds kLongestPause{60};
  static constexpr unsigned kMostTries = 10;  // that tell nothing new, in a row

  // Channels without a name, by their IOC's number: CaTap::unnamed_channels().
  using Unnamed = std::map<std::uint32_t, std::uint64_t>;
  // Hands over to the tap; called without the mutex.
  using Seed = std::function<Result<CaSeedResult>(const CaSeed&)>;

  CaSeeding(RootedFs fs, std::shared_ptr<iocs::ProcessReader> reader)
      : fs_(std::move(fs)), reader_(std::move(reader)) {}

  // Reads the IOCs that are due and passes the result on. Call it after the tap watches the ports
  // of `served`. Takes the mutex only to change problems().
  void advance(const std::vector<Served>& served, const Unnamed& unnamed, const Seed& seed,
               std::mutex& mutex, Clock::time_point now);

  // Channels and connections of clients at the IOC's server. Waits for the IOC's
  // memory.
  Result<CaServerTables> read_tables(const Served& served, CaConnections& connections) const;

  // Its memory was looked at, with or without success. In the thread that calls advance().
  bool has_looked(const iocs::IocId& id) const {
    const auto found = states_.find(id);
    return found != states_.end() && found->second.looked != Clock::time_point();
  }

  // Why channels of an IOC have no name, by the IOC's name. Under the mutex.
  const std::map<std::string, std::string>& problems() const { return problems_; }

 private:
  struct State {
    std::vector<iocs::ListeningSocket> listening;
    Clock::time_point due;
    Clock::time_point looked;
    Clock::duration pause = kSecondLook;  // to the next look for a channel without a name
    unsigned looks = 0;                   // that told everything
    unsigned failures = 0;                // in a row
    std::string reported;                 // last logged message
    bool seen = false;                    // by this advance()
  };

  // Problems, in words; "" = none.
  std::string look(const Served& served, const Seed& seed) const;
  // Also says how many channels could not be identified.
  Result<CaSeed> read(const Served& served, std::uint64_t& left_out) const;
  static bool is_due(State& state, bool unnamed, Clock::time_point now);
  static void plan_next(State& state, bool success, bool hopeless, Clock::time_point now);
  void report(const std::string& name, State& state, std::string problem, std::mutex& mutex);

  RootedFs fs_;
  std::shared_ptr<iocs::ProcessReader> reader_;
  std::map<iocs::IocId, State> states_;
  std::map<std::string, std::string> problems_;
};

CaConnections connections_of(const CaFlowKeys& flows);

// Seed for the tap: the tables' clients under their connections' names.
CaSeed seed_of(std::uint32_t ioc, CaServerTables tables, const CaConnections& connections);

}  // namespace ioc_exporter::ca

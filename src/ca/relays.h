// CaRelays: which circuits of listeners that are nobody's are only passed on by a forwarder (a TCP
// proxy, docker-proxy, ssh -L) and reach their server as another circuit, where their puts count.
// Pure: no system calls.
//
// A forwarder changes nothing of what it passes on, so the server's circuit has the same channels,
// with the server's own SIDs, and carries as many bytes. Whatever one of the two had carried at one
// look, the other has carried at the next. A gateway, which is a client itself, has neither.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

namespace ioc_exporter::ca {

// A circuit at one look.
struct CaRelayCircuit {
  std::uint64_t circuit = 0;
  bool candidate = false;  // its server is not known yet
  bool joined = false;     // it was open before the tap
  bool channels = false;   // it has some, or had
  bool ended = false;
  std::uint64_t since_ns = 0;
  std::array<std::uint64_t, 2> bytes{};  // to the server, to the client
};

class CaRelays {
 public:
  // So many looks in a row at which the bytes do not fit end it: before they ever fitted while some
  // went by, and later, when a server may be slow to take them.
  static constexpr int kMisses = 2, kMissesOnceSure = 15;
  // Circuits that one is compared with: the nearest in time, since whoever passes a connection on
  // makes the other at once; and of all together. While nothing goes by on them, each look compares
  // them all.
  static constexpr std::size_t kMostPairs = 4096, kMostPairsInAll = 1u << 20;

  // All circuits that have the first channel of the circuit: its CID, SID, name and client.
  using SameChannel = std::function<std::vector<std::uint64_t>(std::uint64_t circuit)>;
  void look(const std::vector<CaRelayCircuit>& circuits, const SameChannel& same_channel);

  // Whether the circuit is passed on, as far as can be told by now. What it carries waits.
  bool may_be_relay(std::uint64_t circuit) const;

 private:
  struct Pair {
    std::uint64_t server = 0;  // the circuit of the server
    int misses = 0;
    bool sure = false;
  };
  struct Relay {
    bool judged = false;  // its pairs were looked for
    bool closed = false;  // it has ended, and they were looked at since
    std::vector<Pair> pairs;
  };
  using Circuits = std::map<std::uint64_t, CaRelayCircuit>;
  void find_pairs(const CaRelayCircuit& circuit, const Circuits& all,
                  const SameChannel& same_channel, std::size_t room, Relay& relay) const;
  bool holds(const CaRelayCircuit& circuit, const Circuits& all, Pair& pair) const;

  std::map<std::uint64_t, Relay> relays_;  // by circuit of a candidate
  Circuits before_;                        // as of the last look
};

}  // namespace ioc_exporter::ca

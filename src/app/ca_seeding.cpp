#include "app/ca_seeding.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "ioc/memory.h"
#include "probes/ca_connections.h"

namespace ioc_exporter::app {
namespace {

constexpr int kAttempts = 3;  // with the sockets looked at anew: clients come and go
constexpr const char* kConsequence = ": puts on channels that were open before have no name";

ioc::CaPeer client_of(const iocx_ca_flow_key& key) {
  ioc::CaPeer peer;
  static_assert(sizeof peer.address == sizeof key.client.bytes);
  std::memcpy(peer.address.data(), key.client.bytes, sizeof key.client.bytes);
  peer.port = key.client_port;
  return peer;
}

// The port of its CA server if it is known: what is connected to others (PV Access, say) is no CA
// client.
bool serves_ca(const IocWatch::Served& served, std::uint16_t port) {
  if (served.ca_port) return *served.ca_port == port;
  return std::ranges::any_of(served.ioc->listening,
                             [port](const auto& socket) { return socket.port == port; });
}

}  // namespace

CaConnections connections_of(const probes::CaFlowKeys& flows) {
  CaConnections connections;
  std::set<ioc::CaPeer> ambiguous;
  for (const iocx_ca_flow_key& key : flows) {
    const ioc::CaPeer peer = client_of(key);
    if (!connections.keys.emplace(peer, key).second) ambiguous.insert(peer);
  }
  for (const ioc::CaPeer& peer : ambiguous) connections.keys.erase(peer);
  for (const auto& [peer, key] : connections.keys) connections.peers.insert(peer);
  return connections;
}

probes::CaSeed seed_of(std::uint32_t ioc, ioc::CaServerTables tables,
                       const CaConnections& connections) {
  probes::CaSeed seed;
  seed.ioc = ioc;
  for (ioc::CaServerClient& client : tables.clients) {
    const auto connection = connections.keys.find(client.peer);
    if (connection == connections.keys.end()) continue;
    probes::CaSeedCircuit& circuit = seed.circuits.emplace_back();
    circuit.key = connection->second;
    circuit.user = std::move(client.user);
    circuit.host = std::move(client.host);
    for (ioc::CaServerChannel& channel : client.channels)
      circuit.channels.push_back({channel.cid, channel.sid, std::move(channel.name),
                                  channel.monitors, static_cast<std::uint32_t>(channel.access)});
  }
  return seed;
}

void CaSeeding::advance(const std::vector<IocWatch::Served>& served, probes::CaTap& tap,
                        std::mutex& mutex, Clock::time_point now) {
  for (auto& [id, state] : states_) state.seen = false;
  for (const IocWatch::Served& one : served) {
    if (!one.ioc->own_net_namespace || one.ioc->listening.empty()) continue;
    State& state = states_[one.ioc->id];
    state.seen = true;
    if (state.listening != one.ioc->listening) {
      state = {};
      state.listening = one.ioc->listening;
      state.seen = true;
      state.due = now;
    }
    if (now >= state.due) look(one, state, tap, mutex, now);
  }
  std::erase_if(states_, [](const auto& entry) { return !entry.second.seen; });
  const std::scoped_lock lock(mutex);
  std::erase_if(problems_, [&served](const auto& entry) {
    return std::ranges::none_of(served,
                                [&entry](const auto& one) { return one.ioc->name == entry.first; });
  });
}

void CaSeeding::look(const IocWatch::Served& served, State& state, probes::CaTap& tap,
                     std::mutex& mutex, Clock::time_point now) {
  std::uint64_t left_out = 0;
  std::string problem;
  probes::CaSeedResult result;
  auto seed = read(served, left_out);
  for (int attempt = 1; attempt < kAttempts && !seed; ++attempt) seed = read(served, left_out);
  if (!seed) {
    problem = seed.error().message();
  } else {
    const std::scoped_lock lock(mutex);
    auto done = tap.seed(*seed, now);
    if (done)
      result = *done;
    else
      problem = done.error().message();
  }
  if (problem.empty() && left_out > 0)
    problem = std::to_string(left_out) + " channels of ioc " + served.ioc->name +
              " could not be told from its memory";
  if (const auto missing = result.circuits_no_room + result.channels_no_room;
      problem.empty() && missing > 0)
    problem = "the tap has no room for " + std::to_string(missing) +
              " circuits and channels of ioc " + served.ioc->name;
  if (const auto named = result.channels_added + result.channels_named; named > 0)
    spdlog::info("ioc {}: {} channels on {} circuits were open before; their names are known now",
                 served.ioc->name, named, seed->circuits.size());
  if (problem.empty()) {
    state.failures = 0;
    ++state.looks;
    state.due = state.looks == 1 ? now + kSecondLook : Clock::time_point::max();
  } else {
    const auto pause =
        std::min<Clock::duration>(kLongestPause, kSecondLook * (1 << std::min(state.failures, 8u)));
    state.due = ++state.failures < kMostTries ? now + pause : Clock::time_point::max();
  }
  report(served.ioc->name, state, std::move(problem), mutex);
}

Result<probes::CaSeed> CaSeeding::read(const IocWatch::Served& served,
                                       std::uint64_t& left_out) const {
  const discovery::Ioc& ioc = *served.ioc;
  auto flows = probes::read_tcp_connections(
      fs_, [&served](std::uint16_t port) { return serves_ca(served, port); }, ioc.id.pid);
  if (!flows) return std::move(flows).error();
  // Its clients come later: the tap sees them from their first byte.
  if (flows->empty()) return probes::CaSeed{served.number, {}};
  const CaConnections connections = connections_of(*flows);
  auto memory = ioc::ProcMemory::open(fs_, ioc.id);
  if (!memory) return std::move(memory).error();
  auto tables =
      ioc::read_ca_server(**memory, ioc.ca_server, connections.peers,
                          "ioc " + ioc.name + " (pid " + std::to_string(ioc.id.pid) + ")");
  if (!tables) return std::move(tables).error();
  left_out = tables->left_out;
  return seed_of(served.number, std::move(*tables), connections);
}

// A running IOC may be read in the middle of a change: only what happens twice in a row is worth a
// line, and the same thing only once.
void CaSeeding::report(const std::string& name, State& state, std::string problem,
                       std::mutex& mutex) {
  const std::scoped_lock lock(mutex);
  if (problem.empty()) {
    problems_.erase(name);
    return;
  }
  problem += kConsequence;
  if (state.failures > 1 && problem != state.reported) {
    spdlog::warn("{}", problem);
    state.reported = problem;
  }
  problems_.insert_or_assign(name, std::move(problem));
}

}  // namespace ioc_exporter::app

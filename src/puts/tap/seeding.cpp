#include "puts/tap/seeding.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/log.h"
#include "puts/tap/connections.h"

namespace ioc_exporter::ca {
namespace {

constexpr int kAttempts = 3;  // with the sockets looked at anew: clients come and go
constexpr const char* kConsequence = ": puts on channels that were open before have no name";

CaPeer client_of(const iocx_ca_flow_key& key) {
  return {inet_address(key.client), key.client_port};
}

// The port of its CA server if it is known: what is connected to others (PV Access, say) is no CA
// client.
bool serves_ca(const Served& served, std::uint16_t port) {
  if (served.ca_port) return *served.ca_port == port;
  return std::ranges::any_of(served.ioc->listening,
                             [port](const auto& socket) { return socket.port == port; });
}

}  // namespace

CaConnections connections_of(const CaFlowKeys& flows) {
  CaConnections connections;
  std::set<CaPeer> ambiguous;
  for (const iocx_ca_flow_key& key : flows) {
    const CaPeer peer = client_of(key);
    if (!connections.keys.emplace(peer, key).second) ambiguous.insert(peer);
  }
  for (const CaPeer& peer : ambiguous) connections.keys.erase(peer);
  for (const auto& [peer, key] : connections.keys) connections.peers.insert(peer);
  return connections;
}

CaSeed seed_of(std::uint32_t ioc, CaServerTables tables, const CaConnections& connections) {
  CaSeed seed;
  seed.ioc = ioc;
  for (CaServerClient& client : tables.clients) {
    const auto connection = connections.keys.find(client.peer);
    if (connection == connections.keys.end()) continue;
    CaSeedCircuit& circuit = seed.circuits.emplace_back();
    circuit.key = connection->second;
    circuit.user = std::move(client.user);
    circuit.host = std::move(client.host);
    for (CaServerChannel& channel : client.channels)
      circuit.channels.push_back({channel.cid, channel.sid, std::move(channel.name),
                                  channel.monitors, static_cast<std::uint32_t>(channel.access)});
  }
  return seed;
}

void CaSeeding::advance(const std::vector<Served>& served, const Unnamed& unnamed, const Seed& seed,
                        std::mutex& mutex, Clock::time_point now) {
  for (auto& [id, state] : states_) state.seen = false;
  for (const Served& one : served) {
    const iocs::Ioc& ioc = *one.ioc;
    if (ioc.kind != iocs::IocKind::base || !one.net || ioc.listening.empty()) continue;
    State& state = states_[ioc.id];
    if (state.listening != ioc.listening) {
      state = {};
      state.listening = ioc.listening;
      state.due = now;
    }
    state.seen = true;
    if (!is_due(state, unnamed.contains(one.number) && !ioc.ca_server.empty(), now)) continue;
    state.looked = now;
    std::string problem = look(one, seed);
    plan_next(state, problem.empty(), ioc.ca_server.empty(), now);
    report(ioc.name, state, std::move(problem), mutex);
  }
  std::erase_if(states_, [](const auto& entry) { return !entry.second.seen; });
  const std::scoped_lock lock(mutex);
  std::erase_if(problems_, [&served](const auto& entry) {
    return std::ranges::none_of(served,
                                [&entry](const auto& one) { return one.ioc->name == entry.first; });
  });
}

std::string CaSeeding::look(const Served& served, const Seed& give) const {
  const std::string& name = served.ioc->name;
  std::uint64_t left_out = 0;
  auto seed = read(served, left_out);
  for (int attempt = 1; attempt < kAttempts && !seed && !served.ioc->ca_server.empty(); ++attempt)
    seed = read(served, left_out);
  if (!seed) return seed.error().message();
  const auto result = give(*seed);
  if (!result) return result.error().message();
  if (const auto named = result->channels_added + result->channels_named; named > 0)
    log::info("ioc {}: names of channels that were open before are known now: {} (circuits: {})",
              name, named, seed->circuits.size());
  if (left_out > 0)
    return std::to_string(left_out) + " channels of ioc " + name +
           " could not be found in its memory";
  if (const auto missing = result->circuits_no_room + result->channels_no_room; missing > 0)
    return "the tap has no room for " + std::to_string(missing) + " circuits and channels of ioc " +
           name;
  return {};
}

bool CaSeeding::is_due(State& state, bool unnamed, Clock::time_point now) {
  if (now >= state.due) return true;
  if (!unnamed) {
    state.pause = kSecondLook;
    return false;
  }
  if (state.due != Clock::time_point::max() || now < state.looked + state.pause) return false;
  state.pause = std::min<Clock::duration>(kLongestPause, 2 * state.pause);
  return true;
}

// `hopeless`: nothing would change.
void CaSeeding::plan_next(State& state, bool success, bool hopeless, Clock::time_point now) {
  state.due = Clock::time_point::max();
  if (success) {
    state.failures = 0;
    if (++state.looks == 1) state.due = now + kSecondLook;
    return;
  }
  const Clock::duration pause = kSecondLook * (1 << std::min(state.failures, 8u));
  if (++state.failures < kMostTries && !hopeless)
    state.due = now + std::min<Clock::duration>(kLongestPause, pause);
}

Result<CaSeed> CaSeeding::read(const Served& served, std::uint64_t& left_out) const {
  CaConnections connections;
  auto tables = read_tables(served, connections);
  if (!tables) return std::move(tables).error();
  left_out = tables->left_out;
  return seed_of(served.number, std::move(*tables), connections);
}

Result<CaServerTables> CaSeeding::read_tables(const Served& served,
                                              CaConnections& connections) const {
  const iocs::Ioc& ioc = *served.ioc;
  auto sockets = SocketTable::of_process(fs_, ioc.id.pid);
  if (!sockets) return std::move(sockets).error();
  auto flows = read_tcp_connections(
      *sockets, [&served](std::uint16_t port) { return serves_ca(served, port); }, *served.net);
  if (!flows) return std::move(flows).error();
  // Its clients come later: the tap sees them from their first byte.
  if (flows->empty()) return CaServerTables{};
  connections = connections_of(*flows);
  auto memory = reader_->memory(ioc.id);
  if (!memory) return std::move(memory).error();
  return read_ca_server(**memory, ioc.ca_server, connections.peers,
                        "ioc " + ioc.name + " (pid " + std::to_string(ioc.id.pid) + ")");
}

// A running IOC may be read in the middle of a change: only what happens twice in a row, or will
// not change, is worth a line, and the same thing only once.
void CaSeeding::report(const std::string& name, State& state, std::string problem,
                       std::mutex& mutex) {
  const std::scoped_lock lock(mutex);
  if (problem.empty()) {
    problems_.erase(name);
    return;
  }
  problem += kConsequence;
  const bool worth_a_line = state.failures > 1 || state.due == Clock::time_point::max();
  if (worth_a_line && problem != state.reported) {
    log::warn("{}", problem);
    state.reported = problem;
  }
  problems_.insert_or_assign(name, std::move(problem));
}

}  // namespace ioc_exporter::ca

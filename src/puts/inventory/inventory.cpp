#include "puts/inventory/inventory.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "base/log.h"
#include "base/socket_table.h"

namespace ioc_exporter::puts {
namespace {

using std::chrono::milliseconds;

// A reading that takes longer is followed by a pause: at most 1 % of a core for such a server.
constexpr milliseconds kShort{100};
constexpr int kPauseTimes = 100;  // times what the reading took
constexpr std::chrono::seconds kMostAfterALongOne{30};

// Without the bytes over each connection nothing says when something may have changed.
constexpr std::chrono::seconds kPauseWithoutBytes{10};

}  // namespace

PutsSamples open_at(const std::string& ioc, const CaServerTables& tables) {
  ServerSample server;
  server.ioc = ioc;
  server.circuits = tables.clients.size();
  std::map<std::tuple<std::string, std::string, std::string>, ClientSample> clients;
  for (const CaServerClient& client : tables.clients) {
    const std::string address = address_text(client.peer.address);
    ClientSample& sample = clients[{address, client.user, client.host}];
    sample.ioc = ioc;
    sample.client = address;
    sample.user = client.user;
    sample.host = client.host;
    ++sample.circuits;
    sample.channels += client.channels.size();
    for (const CaServerChannel& channel : client.channels) {
      ++server.channels[channel.access];
      server.monitors += channel.monitors;
      sample.monitors += channel.monitors;
    }
    server.flow_control_known &= client.flow_controlled.has_value();
    server.flow_controlled += client.flow_controlled.value_or(false);
  }
  PutsSamples samples;
  samples.servers.push_back(std::move(server));
  for (auto& [key, client] : clients) samples.clients.push_back(std::move(client));
  return samples;
}

CaInventory::CaInventory(RootedFs fs, std::shared_ptr<iocs::ProcessReader> reader)
    : fs_(std::move(fs)), reader_(std::move(reader)) {}

void CaInventory::look(std::vector<Server> servers) {
  const std::unique_lock looking(looking_, kPatience);
  if (!looking) return;  // another scrape looks
  {
    const std::scoped_lock lock(mutex_);
    std::map<iocs::IocId, Reported> reported;
    for (const Server& server : servers) {
      Reported& one = reported[server.id] = std::move(reported_[server.id]);
      one.ioc = server.ioc;
    }
    reported_ = std::move(reported);
  }
  const bool is_idle = worker_.wait(milliseconds(0));
  if (is_idle) worker_.start([this, servers = std::move(servers)] { read_all(servers); });
  worker_.wait(kPatience);
}

void CaInventory::read_all(const std::vector<Server>& servers) {
  std::set<iocs::IocId> there;
  for (const Server& server : servers) there.insert(server.id);
  std::erase_if(states_, [&there](const auto& entry) { return !there.contains(entry.first); });
  std::map<std::uint64_t, Result<Sockets>> sockets;  // by namespace
  for (const Server& server : servers) {
    auto found = sockets.find(server.net_namespace);
    if (found != sockets.end() && !found->second) found = (sockets.erase(found), sockets.end());
    if (found == sockets.end())
      found = sockets.emplace(server.net_namespace, read_sockets(server)).first;
    State& state = states_[server.id];
    look_at(server, found->second, state);
    const std::scoped_lock lock(mutex_);
    if (const auto reported = reported_.find(server.id); reported != reported_.end()) {
      reported->second.open = state.reported.open;
      reported->second.when = state.reported.when;
      reported->second.problem = state.reported.problem;
    }
  }
}

Result<CaInventory::Sockets> CaInventory::read_sockets(const Server& server) const {
  Sockets sockets;
  auto table = SocketTable::of_process(fs_, server.id.pid);
  if (!table) return std::move(table).error();
  auto done = table->for_each(SocketKind::traffic, [&sockets](const InetSocket& one) {
    sockets.emplace(
        one.local_port,
        Connection{{one.remote, one.remote_port}, one.cookie, one.received, one.unread});
  });
  if (!done) return done.error();
  return sockets;
}

bool CaInventory::is_due(const State& state, const Connections& connections,
                         Clock::time_point now) {
  if (!state.retry.is_due(now)) return false;
  const bool with_bytes =
      std::ranges::all_of(connections, [](const auto& one) { return one.received.has_value(); });
  const auto pause = with_bytes ? kLongestPause : kPauseWithoutBytes;
  const bool is_old = state.reported.open == nullptr || now - state.read >= pause;
  return is_old || (with_bytes && !state.settled) || connections != state.connections;
}

void CaInventory::look_at(const Server& server, const Result<Sockets>& sockets, State& state) {
  const auto now = Clock::now();
  if (!sockets) return note_failure(state, sockets.error().message(), now);
  Connections connections;
  for (const std::uint16_t port : server.ports) {
    const auto [begin, end] = sockets->equal_range(port);
    for (auto at = begin; at != end; ++at) connections.push_back(at->second);
  }
  std::ranges::sort(connections);
  if (!is_due(state, connections, now)) {
    if (state.settled && connections == state.connections) state.reported.when = now;
    return;
  }
  if (!server.left_alone.empty() && !connections.empty()) {
    state.reported.problem = server.left_alone;
    return;
  }
  const auto tables = read(server, connections);
  if (!tables) return note_failure(state, tables.error().message(), now);
  const auto cost = Clock::now() - now;
  state.retry.succeeded(
      cost > kShort ? now + std::min<Clock::duration>(kPauseTimes * cost, kMostAfterALongOne)
                    : now);
  state.settled = connections == state.connections &&
                  std::ranges::all_of(
                      connections, [](const auto& one) { return one.received && one.unread == 0; });
  state.connections = std::move(connections);
  state.read = state.reported.when = now;
  state.reported.open = std::make_shared<const PutsSamples>(open_at(server.ioc, *tables));
  state.reported.problem.clear();
  state.is_missing = false;
}

Result<CaServerTables> CaInventory::read(const Server& server,
                                         const Connections& connections) const {
  if (connections.empty()) return CaServerTables{};  // no memory needs to be read for that
  CaPeers peers;
  for (const Connection& connection : connections) peers.insert(connection.peer);
  auto memory = reader_->memory(server.id);
  if (!memory) return std::move(memory).error();
  auto tables =
      read_ca_server(**memory, server.symbols, peers,
                     "ioc " + server.ioc + " (pid " + std::to_string(server.id.pid) + ")");
  if (tables && !tables->is_whole())
    return error_from_errno(EAGAIN, "its clients and channels changed each time they were read");
  return tables;
}

void CaInventory::note_failure(State& state, const std::string& problem, Clock::time_point now) {
  state.settled = false;
  state.reported.problem = problem;
  if (state.retry.failed(now, problem)) log::warn("connections are not known: {}", problem);
  const bool missing = !state.reported.is_valid(now);
  const std::scoped_lock lock(mutex_);
  if (missing && !std::exchange(state.is_missing, true)) ++missing_;
}

void CaInventory::add_to(PutsSamples& samples) const {
  const auto now = Clock::now();
  const std::scoped_lock lock(mutex_);
  std::map<std::string_view, const Reported*> by_ioc;
  for (const auto& [id, reported] : reported_) by_ioc[reported.ioc] = &reported;
  std::erase_if(samples.clients,
                [&](const ClientSample& client) { return by_ioc.contains(client.ioc); });
  for (ServerSample& server : samples.servers) {
    const auto reported = by_ioc.find(server.ioc);
    if (reported == by_ioc.end()) continue;
    server.open_known = server.flow_control_known = false;
    if (!reported->second->is_valid(now)) continue;
    const PutsSamples& open = *reported->second->open;
    static_cast<OpenConnections&>(server) = open.servers.front();
    for (const ClientSample& client : open.clients)
      samples.clients.emplace_back(client).ioc = server.ioc;
  }
}

std::map<std::string, std::string> CaInventory::problems() const {
  const auto now = Clock::now();
  const std::scoped_lock lock(mutex_);
  std::map<std::string, std::string> problems;
  for (const auto& [id, reported] : reported_)
    if (!reported.is_valid(now) && !reported.problem.empty())
      problems[reported.ioc] = reported.problem;
  return problems;
}

Drops CaInventory::drops() const {
  const std::scoped_lock lock(mutex_);
  return {{{"ca_inventory", "unreadable"}, missing_}};
}

}  // namespace ioc_exporter::puts

#include "puts/tap/circuits.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/wall_clock.h"

namespace ioc_exporter::puts {
namespace {

constexpr auto kKeptNs = static_cast<std::uint64_t>(std::chrono::nanoseconds(kKeptFor).count());

}  // namespace

Result<Circuits::Seen> Circuits::look() {
  Seen seen;
  Ports unnamed_pva;
  std::set<std::uint32_t> in_use;
  std::set<iocx_ca_server, KeyLess> peers;
  auto read = object_.maps().flows.for_each([&](const auto& key, const iocx_ca_flow& flow) {
    seen.flows.push_back({key, flow.circuit});
    if (flow.ended)
      seen.ended.insert(flow.circuit);
    else
      seen.alive.insert(flow.circuit);
    note_ioc(key, flow);
    const ServerKey noted = server_of_number(flow.ioc);
    if (noted.protocol == Protocol::pva && !is_ioc_number(noted.ioc) && speaks_pva(flow))
      unnamed_pva.insert(key.server_port);
    if (const auto server = server_of(flow.circuit, flow.ioc); server && !flow.ended)
      in_use.insert(server->ioc);
    if (const auto peer = servers_.remote_peer(key)) peers.insert(*peer);
  });
  if (!read) return read.error();
  unnamed_pva_ = std::move(unnamed_pva);
  in_use_ = std::move(in_use);
  servers_.set_remote_peers(std::move(peers));
  count_ = seen.flows.size();
  const auto is_gone = [&seen](const auto& entry) {
    return !seen.alive.contains(entry.first) && !seen.ended.contains(entry.first);
  };
  std::erase_if(moved_, is_gone);
  std::erase_if(identities_, is_gone);
  std::erase_if(names_, is_gone);
  return seen;
}

Result<void> Circuits::end_lost(Seen& seen, Clock::time_point now) {
  for (const auto& flow : seen.flows)
    if (!servers_.knows(flow.key) && seen.alive.erase(flow.circuit) != 0)
      if (auto ok = remove(flow.key, flow.circuit); !ok) return ok;
  const auto wait =
      object_.caps().is_crowded(IOCX_CA_HELD_CIRCUITS) ? kSocketLookWhenCrowded : kSocketLook;
  if (looked_at_sockets_ && now - *looked_at_sockets_ < wait) return {};
  looked_at_sockets_ = now;
  const auto connections = sockets();
  if (!connections) return connections.error();
  std::set<std::uint64_t> without;
  for (const auto& flow : seen.flows) {
    if (!seen.alive.contains(flow.circuit) || connections->contains(flow.key)) continue;
    if (!without_socket_.contains(flow.circuit)) {
      without.insert(flow.circuit);
      continue;
    }
    if (auto ok = remove(flow.key, flow.circuit); !ok) return ok;
    seen.alive.erase(flow.circuit);
  }
  without_socket_ = std::move(without);
  return {};
}

Result<void> Circuits::free_ended(const Seen& seen, Clock::time_point now) {
  const auto wait = object_.caps().is_crowded(IOCX_CA_HELD_CIRCUITS) ? kLingerWhenCrowded : kLinger;
  const auto due = gone_.due(seen.ended, now, wait);
  for (const auto& flow : seen.flows)
    if (std::ranges::binary_search(due, flow.circuit))
      if (auto ok = remove(flow.key, flow.circuit); !ok) return ok;
  return {};
}

void Circuits::forget(std::uint32_t ioc) {
  for (const Protocol protocol : kProtocols) traffic_.drop({ioc, protocol});
}

// Unless the 4-tuple has begun a new circuit since it was read: then that one is put back.
Result<void> Circuits::remove(const iocx_ca_flow_key& key, std::uint64_t circuit) {
  auto found = object_.maps().flows.lookup(key);
  if (!found) return std::move(found).error();
  if (!*found || (*found)->circuit != circuit) return {};
  auto taken = object_.take_flow(key);
  if (!taken) return std::move(taken).error();
  if (*taken)
    if (const auto server = server_of((*taken)->circuit, (*taken)->ioc))
      traffic_.observe(key, *server, server_counts((*taken)->counts));
  if (*taken && (*taken)->circuit != circuit) {
    for (auto& direction : (*taken)->directions) direction.lock = 0;
    auto put_back = object_.maps().flows.update(key, **taken, kernel::UpdateMode::only_new);
    if (put_back) return {};
    if (put_back.error().code != std::errc::file_exists) return put_back;
  }
  if (*taken) {
    object_.stop_waiting(**taken);
    object_.caps().give(IOCX_CA_HELD_CIRCUITS, (*taken)->holder);
  }
  traffic_.close(key);
  --count_;
  return {};
}

// A circuit that has ended is not open. What it carried counts all the same.
Result<void> Circuits::observe(const ProbedPorts& probed, Clock::time_point now, OpenCounts* open) {
  if (auto ok = meet(now); !ok) return ok;
  return object_.maps().flows.for_each([&](const auto& key, const iocx_ca_flow& flow) {
    const auto server = server_of(flow.circuit, flow.ioc);
    if (!server) return;
    traffic_.observe(key, *server, server_counts(flow.counts));
    if (open == nullptr || flow.ended) return;
    if (server->protocol == Protocol::ca && probed.contains({key.server_port, *server}))
      return open->add_unfollowed(*server);
    const Identity* const known = identity(flow.circuit);
    open->add_circuit(*server, key, flow, known ? known->user : "", known ? known->host : "");
  });
}

// Gives new circuits the names that an earlier run has kept for their sockets.
Result<void> Circuits::meet(Clock::time_point now) {
  const std::uint64_t now_ns = kernel_ns(now);
  std::erase_if(kept_, [now_ns](const auto& one) { return now_ns - one.second.seen_ns > kKeptNs; });
  if (kept_.empty()) {
    met_.clear();
    return {};
  }
  std::map<iocx_ca_flow_key, std::uint64_t, KeyLess> fresh;
  auto read = object_.maps().flows.for_each([&](const auto& key, const iocx_ca_flow& flow) {
    if (!met_.contains(flow.circuit)) fresh.emplace(key, flow.circuit);
  });
  if (!read || fresh.empty()) return read;
  const auto sockets = this->sockets();
  if (!sockets) {
    log::warn("names of channels from an earlier run are not used: {}", sockets.error().message());
    kept_.clear();
    return {};
  }
  std::size_t named = 0;
  for (const auto& [key, circuit] : fresh) {
    met_.insert(circuit);
    const auto socket = sockets->find(key);
    const auto known = socket == sockets->end() ? kept_.end() : kept_.find(socket->second);
    if (known == kept_.end()) continue;
    named += known->second.names.size();
    set_identity(circuit, {known->second.user, known->second.host});
    names_[circuit] = std::move(known->second.names);
    kept_.erase(known);
  }
  if (named > 0) log::info("names of {} channels are known from an earlier run", named);
  return {};
}

std::string Circuits::kept_name(std::uint64_t circuit, std::uint32_t sid) const {
  const auto names = names_.find(circuit);
  if (names == names_.end()) return {};
  const auto name = names->second.find(sid);
  return name == names->second.end() ? std::string() : name->second;
}

std::map<std::uint32_t, std::string> Circuits::kept_names(std::uint64_t circuit) const {
  const auto names = names_.find(circuit);
  return names == names_.end() ? std::map<std::uint32_t, std::string>() : names->second;
}

void Circuits::drop_kept_name(std::uint64_t circuit, std::uint32_t sid) {
  if (const auto names = names_.find(circuit); names != names_.end()) names->second.erase(sid);
}

std::optional<ServerKey> Circuits::server_of(std::uint64_t circuit, std::uint32_t noted) const {
  if (const auto found = moved_.find(circuit); found != moved_.end()) return found->second;
  const ServerKey server = server_of_number(noted);
  return is_ioc_number(server.ioc) ? std::optional(server) : std::nullopt;
}

Result<void> Circuits::find_iocs() {
  return object_.maps().flows.for_each(
      [this](const auto& key, const iocx_ca_flow& flow) { note_ioc(key, flow); });
}

// A circuit that has ended was its IOC's to its end.
void Circuits::note_ioc(const iocx_ca_flow_key& key, const iocx_ca_flow& flow) {
  const ServerKey noted = server_of_number(flow.ioc);
  if (flow.ended && is_ioc_number(noted.ioc)) return;
  const auto server = servers_.named_at(key);
  if (!server) return;
  if (*server == noted)
    moved_.erase(flow.circuit);
  else
    moved_.insert_or_assign(flow.circuit, *server);
}

const Circuits::Identity* Circuits::identity(std::uint64_t circuit) const {
  const auto found = identities_.find(circuit);
  return found == identities_.end() ? nullptr : &found->second;
}

Result<SocketCookies> Circuits::sockets() const {
  SocketCookies all;
  const auto note = [&](const InetSocket& socket) {
    const auto key = ca_flow_key(socket);
    if (!key) return;
    if (servers_.is_watched(key->server_port)) all.insert_or_assign(*key, socket.cookie);
    if (servers_.is_watched(key->client_port)) all.try_emplace(as_client(*key), socket.cookie);
  };
  auto done = network_.for_each_socket(SocketKind::connected, note);
  if (!done) return done.error();
  return all;
}

// The server's address is this host's: that of a client on it, too, or one of the others.
std::string Circuits::address_of_server(const PutPlace& place, std::uint16_t port) const {
  iocx_ca_flow_key key{place.address, {}, place.port, port};
  const auto is_there = [&](const iocx_ca_address& server) {
    key.server = server;
    const auto flow = object_.maps().flows.lookup(key);
    return flow && *flow;
  };
  const auto text = [&] { return ca_address_text(key.server) + ":" + std::to_string(port); };
  if (is_there(key.client)) return text();
  const auto local = object_.maps().local.keys();
  if (!local) return {};
  for (const iocx_ca_local_route& route : *local)
    if (route.bits == IOCX_CA_ROUTE_BITS && is_there(route.address)) return text();
  return {};
}

}  // namespace ioc_exporter::puts

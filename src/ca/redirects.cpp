#include "ca/redirects.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "base/log.h"
#include "base/socket_table.h"
#include "base/wall_clock.h"

namespace ioc_exporter::ca {
namespace {

constexpr int kAttempts = 3;  // to find a connection at rest

iocx_ca_end server_end(const iocx_ca_flow_key& key) {
  return {key.server, key.server_port, 0, key.net};
}

iocx_ca_end client_end(const iocx_ca_flow_key& key) {
  return {key.client, key.client_port, 0, key.net};
}

bool is_same(const iocx_ca_end& a, const iocx_ca_end& b) {
  return !CaKeyLess()(a, b) && !CaKeyLess()(b, a);
}

// Packets of the connection come both ways, or none that matters will.
bool is_seen(const iocx_ca_flow& flow) {
  return flow.not_ca || flow.ended ||
         (flow.directions[IOCX_CA_TO_SERVER].next_known &&
          flow.directions[IOCX_CA_TO_CLIENT].next_known);
}

Result<SocketTable> table_of(const RootedFs& fs, int ns) {
  if (ns < 0) return SocketTable::of_thread(fs);
  return SocketTable::of_namespace(ns);
}

}  // namespace

Result<CaRedirects::Found> CaRedirects::look(const Tap& tap, Clock::time_point now) {
  Found found;
  const bool new_server = std::ranges::any_of(
      tap.ports, [this](const iocx_ca_port& port) { return !known_ports_.contains(port); });
  if (!looked_ || now - *looked_ >= kLook || new_server) {
    looked_ = now;
    const CaPorts known = std::exchange(known_ports_, tap.ports);
    diag_.clear();
    if (auto ok = read_sockets(tap); !ok) return ok.error();
    if (auto ok = find_missing(tap, known, now); !ok) return ok.error();
    if (auto ok = forget_unused(tap); !ok) return ok.error();
  }
  if (auto ok = look_at_missing(tap, now, found); !ok) return ok.error();
  return found;
}

CaPorts CaRedirects::ports() const {
  CaPorts ports;
  for (const auto& [wire, server] : redirects_) ports.insert({wire.net, wire.port, 0});
  for (const auto& [key, missing] : missing_)
    if (missing.sought) ports.insert({key.net, key.client_port, 0});
  return ports;
}

bool CaRedirects::is_redirected(const iocx_ca_flow_key& key) const {
  return std::ranges::any_of(
      redirects_, [&](const auto& entry) { return is_same(entry.second, server_end(key)); });
}

// A server that only reads sends nothing.
bool CaRedirects::is_found(const iocx_ca_flow_key& key, const iocx_ca_flow& flow) const {
  return is_seen(flow) || (flow.directions[IOCX_CA_TO_SERVER].next_known && is_redirected(key));
}

void CaRedirects::tell_count(const CaTapObject& object) const {
  object.set_redirects(static_cast<std::uint32_t>(redirects_.size() + sought_));
}

// Those that nobody has accepted yet have no inode.
Result<void> CaRedirects::read_sockets(const Tap& tap) {
  sockets_.clear();
  return tap.namespaces.for_each([&](std::uint32_t net, int ns) -> Result<void> {
    Sockets& found = sockets_[net];
    auto table = table_of(tap.fs, ns);
    if (!table) return std::move(table).error();
    auto ok = table->for_each(SocketKind::listening,
                              [&](const auto& socket) { found.ports.insert(socket.local_port); });
    if (!ok) return ok;
    return table->for_each(SocketKind::connected, [&](const InetSocket& socket) {
      found.ports.insert(socket.local_port);
      const iocx_ca_flow_key key = ca_flow_key(socket, net);
      ++found.clients[client_end(key)];
      if (tap.ioc_of(key)) (socket.inode != 0 ? found.connections : found.unaccepted).insert(key);
    });
  });
}

// Whether one more of the client has a place: who holds most gives one up for who holds fewer.
bool CaRedirects::make_room(Holders& holders, const iocx_ca_address& client) {
  if (missing_.size() < kMostMissing) return true;
  const auto most = std::ranges::max_element(holders, {}, &Holders::value_type::second);
  if (most == holders.end() || holders[client] + 1 >= most->second) return false;
  const auto given = std::ranges::find_if(missing_, [&most](const auto& entry) {
    return !entry.second.sought && std::ranges::equal(entry.first.client.bytes, most->first.bytes);
  });
  if (given == missing_.end()) return false;
  missing_.erase(given);
  --most->second;
  return true;
}

// One that says nothing misses nothing. Where the kernel does not tell, all may.
Result<void> CaRedirects::find_missing(const Tap& tap, const CaPorts& known,
                                       Clock::time_point now) {
  for (auto entry = missing_.begin(); entry != missing_.end();) {
    const auto there = sockets_.find(entry->first.net);
    const bool gone = there == sockets_.end() || !there->second.connections.contains(entry->first);
    if (gone)
      if (auto ok = stop(tap.object, entry->first, entry->second); !ok) return ok;
    if (!gone) {
      const auto bytes = received(tap, entry->first);
      entry->second.active = !bytes || bytes != std::exchange(entry->second.received, bytes);
    }
    entry = gone ? missing_.erase(entry) : std::next(entry);
  }
  Holders holders;
  for (const auto& [key, missing] : missing_) ++holders[key.client];
  for (const auto& [net, sockets] : sockets_) {
    for (const auto& key : sockets.connections) {
      if (missing_.contains(key)) continue;
      auto flow = tap.object.maps().flows.lookup(key);
      if (!flow) return std::move(flow).error();
      if ((*flow && is_found(key, **flow)) || !make_room(holders, key.client)) continue;
      ++holders[key.client];
      const auto bytes = received(tap, key);
      const bool from_before = !known.contains({key.net, key.server_port, 0});
      missing_.emplace(key, Missing{now, from_before ? bytes.value_or(0) : 0, bytes});
    }
  }
  return {};
}

Result<void> CaRedirects::look_at_missing(const Tap& tap, Clock::time_point now, Found& found) {
  bool learned = false;
  for (auto entry = missing_.begin(); entry != missing_.end();) {
    auto& [key, missing] = *entry;
    auto flow = tap.object.maps().flows.lookup(key);
    if (!flow) return std::move(flow).error();
    if (*flow && is_found(key, **flow)) {
      const auto ioc = tap.ioc_of(key);
      if (ioc && is_redirected(key)) {
        auto bytes = unread_of(tap, key, **flow, missing);
        if (!bytes) return std::move(bytes).error();
        const auto ns = std::chrono::nanoseconds(now - missing.noticed).count();
        if (*bytes > 0) found.unread.push_back({key, *ioc, *bytes, static_cast<std::uint64_t>(ns)});
      }
      if (auto ok = stop(tap.object, key, missing); !ok) return ok;
      entry = missing_.erase(entry);
      continue;
    }
    if (missing.sought) {
      auto wire = tap.object.maps().sought.lookup(client_end(key));
      if (!wire) return std::move(wire).error();
      const bool has_wire = *wire && (*wire)->port != 0;
      if (has_wire || now - *missing.sought >= kSeekFor) {
        if (auto ok = stop(tap.object, key, missing); !ok) return ok;
        missing.rests = now + kRest;
      }
      if (has_wire) {
        auto is_new = judge(tap, key, **wire);
        if (!is_new) return std::move(is_new).error();
        learned |= *is_new;
      }
    } else if (missing.active && (!missing.rests || now >= *missing.rests)) {
      if (auto ok = seek(tap, key, missing, now); !ok) return ok;
    }
    ++entry;
  }
  if (learned)
    for (const auto& [key, missing] : missing_)
      if (is_redirected(key)) found.connections.push_back(key);
  return {};
}

Result<void> CaRedirects::seek(const Tap& tap, const iocx_ca_flow_key& key, Missing& missing,
                               Clock::time_point now) {
  const auto of_client = std::ranges::count_if(missing_, [&key](const auto& entry) {
    return entry.second.sought && std::ranges::equal(entry.first.client.bytes, key.client.bytes);
  });
  if (sought_ >= kMostSought || static_cast<std::size_t>(of_client) >= kMostOfOneClient) return {};
  if (auto ok = tap.object.maps().sought.update(client_end(key), {}); !ok) return ok;
  missing.sought = now;
  missing.rests.reset();
  ++sought_;
  tell_count(tap.object);
  return {};
}

Result<void> CaRedirects::stop(const CaTapObject& object, const iocx_ca_flow_key& key,
                               Missing& missing) {
  if (!missing.sought) return {};
  missing.sought.reset();
  --sought_;
  tell_count(object);
  if (auto erased = object.maps().sought.erase(client_end(key)); !erased)
    return std::move(erased).error();
  return {};
}

// Whether it is a redirect that was not known. A client may have other connections from the same
// port: what they reach has a socket of its own, and what was seen may be theirs.
Result<bool> CaRedirects::judge(const Tap& tap, const iocx_ca_flow_key& key,
                                const iocx_ca_end& wire) {
  iocx_ca_end place = wire;
  place.loopback = 0;
  if (is_same(place, server_end(key)) || redirects_.size() >= IOCX_CA_REDIRECTS) return false;
  if (auto ok = read_sockets(tap); !ok) return ok.error();
  if (sockets_[key.net].ports.contains(wire.port)) return false;
  if (!sockets_[key.net].connections.contains(key)) return false;
  if (sockets_[key.net].clients[client_end(key)] != 1) return false;
  iocx_ca_redirect redirect{};
  redirect.address = key.server;
  redirect.port = key.server_port;
  redirect.used_ns = clock_ns(CLOCK_MONOTONIC);
  if (auto ok = tap.object.maps().redirects.update(wire, redirect); !ok) return ok.error();
  redirects_.insert_or_assign(wire, server_end(key));
  tell_count(tap.object);
  log::info("this host redirects {} port {} to port {}: puts that come that way count from now on",
            ca_address_text(wire.address), wire.port, key.server_port);
  return true;
}

Result<std::set<iocx_ca_end, CaKeyLess>> CaRedirects::misled(const Tap& tap) {
  const auto before = std::exchange(without_socket_, {});
  std::set<iocx_ca_end, CaKeyLess> servers;
  if (redirects_.empty()) return servers;
  auto ok = tap.object.maps().flows.for_each([&](const auto& key, const iocx_ca_flow& flow) {
    if (flow.ended || !is_redirected(key)) return;
    const auto there = sockets_.find(key.net);
    if (there == sockets_.end() || there->second.connections.contains(key) ||
        there->second.unaccepted.contains(key))
      return;
    const std::uint64_t received = flow.counts[IOCX_CA_COUNT_RECEIVED];
    const auto last = before.find(key);
    if (last != before.end() && last->second != received) servers.insert(server_end(key));
    without_socket_.emplace(key, received);
  });
  if (!ok) return std::move(ok).error();
  return servers;
}

Result<void> CaRedirects::forget_unused(const Tap& tap) {
  const std::uint64_t now = clock_ns(CLOCK_MONOTONIC);
  const auto elsewhere = misled(tap);
  if (!elsewhere) return elsewhere.error();
  std::vector<iocx_ca_end> gone;
  for (const auto& [wire, server] : redirects_) {
    auto used = tap.object.maps().redirects.lookup(wire);
    if (!used) return std::move(used).error();
    const auto idle = std::chrono::nanoseconds(*used ? now - (*used)->used_ns : 0);
    iocx_ca_flow_key any{};
    any.server = server.address;
    any.server_port = server.port;
    any.net = server.net;
    if (!*used || idle >= kKeep || !tap.ioc_of(any) || elsewhere->contains(server) ||
        sockets_[wire.net].ports.contains(wire.port))
      gone.push_back(wire);
  }
  for (const iocx_ca_end& wire : gone)
    if (auto ok = forget(tap.object, wire); !ok) return ok;
  return {};
}

Result<void> CaRedirects::forget(const CaTapObject& object, const iocx_ca_end& wire) {
  if (auto erased = object.maps().redirects.erase(wire); !erased) return std::move(erased).error();
  log::info("port {} of {} is not taken for that of a server any more", wire.port,
            ca_address_text(wire.address));
  redirects_.erase(wire);
  tell_count(object);
  return {};
}

Result<void> CaRedirects::leave_namespace(const CaTapObject& object, std::uint32_t net) {
  std::vector<iocx_ca_end> gone;
  for (const auto& [wire, server] : redirects_)
    if (wire.net == net) gone.push_back(wire);
  for (const iocx_ca_end& wire : gone)
    if (auto ok = forget(object, wire); !ok) return ok;
  for (auto& [key, missing] : missing_)
    if (key.net == net)
      if (auto ok = stop(object, key, missing); !ok) return ok;
  std::erase_if(missing_, [net](const auto& entry) { return entry.first.net == net; });
  std::erase_if(known_ports_, [net](const auto& port) { return port.net == net; });
  diag_.erase(net);
  return {};
}

// Nothing where the kernel does not say.
std::optional<std::uint64_t> CaRedirects::received(const Tap& tap, const iocx_ca_flow_key& key) {
  auto found = diag_.find(key.net);
  if (found == diag_.end()) {
    std::optional<SocketCookies> opened;
    const auto open = [&](std::uint32_t net, int ns) -> Result<void> {
      if (net != key.net) return {};
      auto diag = SocketCookies::open_in(ns);
      if (diag) opened.emplace(std::move(*diag));
      return {};
    };
    if (!tap.namespaces.for_each(open)) opened.reset();
    found = diag_.emplace(key.net, std::move(opened)).first;
  }
  if (!found->second) return std::nullopt;
  const auto bytes = found->second->received(key);
  return bytes ? *bytes : std::nullopt;
}

// What the server has got less what the tap has: looked at until nothing comes in between.
Result<std::uint64_t> CaRedirects::unread_of(const Tap& tap, const iocx_ca_flow_key& key,
                                             const iocx_ca_flow& flow, const Missing& missing) {
  std::uint64_t seen = flow.counts[IOCX_CA_COUNT_RECEIVED], all = 0;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    all = received(tap, key).value_or(0);
    auto again = tap.object.maps().flows.lookup(key);
    if (!again) return std::move(again).error();
    if (!*again || (*again)->counts[IOCX_CA_COUNT_RECEIVED] == seen) break;
    seen = (*again)->counts[IOCX_CA_COUNT_RECEIVED];
  }
  const std::uint64_t known = seen + missing.before;
  return all > known ? all - known : 0;
}

}  // namespace ioc_exporter::ca

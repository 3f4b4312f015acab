// The part of CaTap that names servers to the kernel, and finds the IOC of a circuit.
#include "puts/tap/tap.h"

#include <algorithm>
#include <utility>

namespace ioc_exporter::ca {
namespace {

bool same_servers(const std::map<iocx_ca_server, std::uint32_t, CaKeyLess>& a,
                  const std::map<iocx_ca_server, std::uint32_t, CaKeyLess>& b) {
  return std::ranges::equal(a, b, [](const auto& x, const auto& y) {
    return __builtin_memcmp(&x.first, &y.first, sizeof x.first) == 0 && x.second == y.second;
  });
}

}  // namespace

Result<void> CaTap::set_servers(const std::vector<CaServer>& servers, Clock::time_point now) {
  // A namespace that cannot be read must not keep the others from their servers.
  auto addresses = namespaces_.update_addresses(object_);
  if (auto ok = forget_learned(now); !ok) return ok;
  ServerMap wanted;
  for (const CaServer& server : servers) {
    if (!namespaces_.contains(server.net))
      return error_in_words("watch port " + std::to_string(server.port) + ": network namespace " +
                            std::to_string(server.net) + " is not watched");
    wanted.insert_or_assign(ca_server_key(server), server.ioc);
  }
  keep_left_servers(wanted, now);
  if (auto ok = make_room_for(wanted); !ok) return ok;
  servers_changed_ = servers_changed_ || !same_servers(wanted, servers_);
  if (!servers_changed_) return addresses;
  if (auto ok = update_servers(wanted); !ok) return ok;
  if (auto ok = give_circuits_their_iocs(); !ok) return ok;
  servers_changed_ = false;
  return addresses;
}

void CaTap::set_udp_ports(CaPorts ports) {
  const auto same = [](const iocx_ca_port& a, const iocx_ca_port& b) {
    return __builtin_memcmp(&a, &b, sizeof a) == 0;
  };
  if (std::ranges::equal(ports, udp_ports_, same)) return;
  udp_ports_ = std::move(ports);
  servers_changed_ = true;
}

// Adds the servers that are not named any more, for kKeepServer.
void CaTap::keep_left_servers(ServerMap& wanted, Clock::time_point now) {
  for (const auto& [key, ioc] : servers_)
    if (!wanted.contains(key)) left_servers_.try_emplace(key, now);
  std::erase_if(left_servers_, [&](const auto& entry) {
    return wanted.contains(entry.first) || now - entry.second >= kKeepServer;
  });
  for (const auto& [key, since] : left_servers_)
    wanted.emplace(key, key.remote ? kCaRemote : kCaIocToCome);
}

// Makes room for named servers among those that the programs learned from datagrams on this host.
Result<void> CaTap::make_room_for(const ServerMap& wanted) {
  if (wanted.size() + learned_.size() <= object_.maps().servers.capacity() / 4 * 3) return {};
  for (auto entry = learned_.begin(); entry != learned_.end();) {
    if (!wanted.contains(entry->first))
      if (auto erased = object_.maps().servers.erase(entry->first); !erased) return erased.error();
    entry = learned_.erase(entry);
  }
  servers_changed_ = true;  // their ports go
  return {};
}

Result<void> CaTap::update_servers(const ServerMap& wanted) {
  CaPorts ports = udp_ports_;
  for (const auto& [key, ioc] : wanted) ports.insert({key.net, key.port, 0});
  for (const auto& [key, learned] : learned_) ports.insert({key.net, key.port, 0});
  for (const auto& [key, ioc] : servers_) {
    if (wanted.contains(key)) continue;
    if (auto erased = object_.maps().servers.erase(key); !erased) return std::move(erased).error();
  }
  // Servers that the kernel knows: after an error the next call brings the rest.
  std::erase_if(servers_, [&wanted](const auto& entry) { return !wanted.contains(entry.first); });
  for (const auto& [key, ioc] : wanted) {
    const auto known = servers_.find(key);
    if (known != servers_.end() && known->second == ioc) continue;
    if (auto ok = object_.maps().servers.update(key, ioc); !ok) return ok;
    servers_.insert_or_assign(key, ioc);
    learned_.erase(key);
  }
  // Last, so that a port that is watched has its server.
  const CaPorts before = ports_;
  for (const auto& port : before)
    if (!ports.contains(port))
      if (auto ok = leave_port(port); !ok) return ok;
  for (const auto& port : ports)
    if (!ports_.contains(port))
      if (auto ok = watch_port(port); !ok) return ok;
  return {};
}

// Inserting a port sets its bit: see iocx_ca_port_set.
Result<void> CaTap::watch_port(const iocx_ca_port& port) {
  auto inserted = object_.maps().ports.update(port, 1, kernel::UpdateMode::only_new);
  if (inserted) {
    auto& word = object_.watched_ports(port.net).words[port.port / 64u];
    __atomic_or_fetch(&word, std::uint64_t{1} << (port.port % 64u), __ATOMIC_RELEASE);
  } else if (inserted.error().code != std::errc::file_exists) {
    return inserted;
  }
  ports_.insert(port);
  return {};
}

Result<void> CaTap::leave_port(const iocx_ca_port& port) {
  auto& word = object_.watched_ports(port.net).words[port.port / 64u];
  __atomic_and_fetch(&word, ~(std::uint64_t{1} << (port.port % 64u)), __ATOMIC_RELEASE);
  if (auto erased = object_.maps().ports.erase(port); !erased) return erased.error();
  ports_.erase(port);
  return {};
}

// For circuits that began before the kernel knew the IOC of their server. Their channels that were
// looked at already continue under the new IOC's name.
Result<void> CaTap::give_circuits_their_iocs() {
  const auto note = [this](const auto& key, const auto& flow) { note_ioc(key, flow); };
  if (auto ok = object_.maps().flows.for_each(note); !ok) return ok;
  for (std::uint32_t slot = 0; slot < object_.max_channels(); ++slot) {
    const auto& channel = object_.channels()[slot];
    const std::uint64_t id = __atomic_load_n(&channel.channel, __ATOMIC_RELAXED);
    const auto ioc = iocs_.find(channel.circuit);
    if (ioc == iocs_.end() || !totals_->puts.is_open(slot, id)) continue;
    auto info = object_.maps().channel_info.lookup(id);
    if (!info) return std::move(info).error();
    if (!*info) continue;
    note_place(slot, ioc->second, **info);
    totals_->puts.relabel(slot, put_labels(ioc->second, **info));
  }
  return {};
}

// A circuit that has ended was its IOC's to its end.
void CaTap::note_ioc(const iocx_ca_flow_key& key, const iocx_ca_flow& flow) {
  if (flow.ended && is_ioc_number(flow.ioc)) return;
  const auto server = find_server(key);
  if (server == servers_.end() || !is_ioc_number(server->second)) return;
  if (server->second == flow.ioc)
    iocs_.erase(flow.circuit);
  else
    iocs_.insert_or_assign(flow.circuit, server->second);
}

// Whether the circuit is a client's of this host, and its server on another one.
bool CaTap::is_elsewhere(const iocx_ca_flow_key& key) const {
  return options_.remote_servers && !is_loopback(key.server) &&
         !namespaces_.has_address(key.net, key.server);
}

// As find_server() of tap/tap_packet.bpf.h.
CaTap::ServerMap::const_iterator CaTap::find_server(const iocx_ca_flow_key& key) const {
  iocx_ca_server server{key.server, key.server_port, is_elsewhere(key), key.net};
  const auto exact = servers_.find(server);
  if (exact != servers_.end()) return exact;
  server.address = {};
  return servers_.find(server);
}

bool CaTap::is_served(const iocx_ca_flow_key& key) const {
  iocx_ca_server server{key.server, key.server_port, is_elsewhere(key), key.net};
  if (find_server(key) != servers_.end() || learned_.contains(server)) return true;
  server.address = {};
  return learned_.contains(server);
}

}  // namespace ioc_exporter::ca

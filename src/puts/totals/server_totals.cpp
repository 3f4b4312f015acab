#include "puts/totals/server_totals.h"

#include <algorithm>

#include "puts/tap/tap_labels.h"

namespace ioc_exporter::puts {

ServerTotals::Values server_counts(const __u64 (&counts)[IOCX_CA_COUNT_ROOM]) {
  ServerTotals::Values values;
  std::copy_n(counts, values.size(), values.begin());
  return values;
}

void OpenCounts::add_circuit(const ServerKey& server, const iocx_ca_flow_key& key,
                             const iocx_ca_flow& flow, const std::string& user,
                             const std::string& host) {
  const bool by_pva = server.protocol == Protocol::pva;
  if (by_pva && !speaks_pva(flow)) return;
  ServerCount& counts = servers_[server];
  ++counts.circuits;
  if (flow.events_off) ++counts.flow_controlled;
  auto [own_user, own_host] = user_and_host(server.protocol, flow.identity, key.client);
  const bool is_known = flow.identity.user[0] != 0 || flow.identity.host[0] != 0;
  ClientKey client{server, ca_address_text(key.client), is_known ? std::move(own_user) : user,
                   is_known || by_pva ? std::move(own_host) : host};
  const auto entry = clients_.try_emplace(std::move(client)).first;
  ++entry->second.circuits;
  circuits_.emplace(flow.circuit, entry);
}

void OpenCounts::add_unfollowed(const ServerKey& server) {
  ServerCount& counts = servers_[server];
  ++counts.circuits;
  counts.open_known = counts.flow_control_known = false;
}

void OpenCounts::add_channel(const iocx_ca_channel& channel) {
  const auto circuit = circuits_.find(channel.circuit);
  if (circuit == circuits_.end()) return;
  Client& client = circuit->second->second;
  ServerCount& server = servers_[circuit->second->first.server];
  ++client.channels;
  client.monitors += channel.monitors;
  server.monitors += channel.monitors;
  const std::size_t access = channel.access;
  ++server.channels[std::min(access, server.channels.size() - 1)];
}

std::vector<ServerCount> OpenCounts::servers(const ServerTotals& totals) const {
  auto all = servers_;
  for (const auto& [key, counts] : totals.totals()) {
    ServerCount& server = all[key];
    server.gets = counts[IOCX_CA_COUNT_GETS];
    server.monitor_updates = counts[IOCX_CA_COUNT_UPDATES];
    server.echoes = counts[IOCX_CA_COUNT_ECHOES];
    server.server_disconnects = counts[IOCX_CA_COUNT_DISCONNECTS];
    server.received_bytes = counts[IOCX_CA_COUNT_RECEIVED];
    server.sent_bytes = counts[IOCX_CA_COUNT_SENT];
    server.unread_bytes = counts[IOCX_CA_COUNT_UNREAD];
  }
  std::vector<ServerCount> sorted;
  for (auto& [key, server] : all) {
    server.server = key;
    sorted.push_back(server);
  }
  return sorted;
}

std::vector<ClientCount> OpenCounts::clients() const {
  std::vector<ClientCount> sorted;
  for (const auto& [key, client] : clients_)
    sorted.push_back(
        {{"", key.client, key.user, key.host, client.circuits, client.channels, client.monitors},
         key.server});
  return sorted;
}

}  // namespace ioc_exporter::puts

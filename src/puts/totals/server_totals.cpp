#include "puts/totals/server_totals.h"

#include <algorithm>

#include "puts/tap/tap_labels.h"

namespace ioc_exporter::ca {

CaServerTotals::Values server_counts(const __u64 (&counts)[IOCX_CA_COUNT_ROOM]) {
  CaServerTotals::Values values;
  std::copy_n(counts, values.size(), values.begin());
  return values;
}

void CaOpenCounts::add_circuit(std::uint32_t ioc, const iocx_ca_flow_key& key,
                               const iocx_ca_flow& flow, const std::string& user,
                               const std::string& host) {
  if (is_pva(ioc) && !speaks_pva(flow)) return;
  CaServerCount& server = servers_[ioc];
  ++server.circuits;
  if (flow.events_off) ++server.flow_controlled;
  auto [own_user, own_host] = user_and_host(ioc, flow.identity, key.client);
  const bool is_known = flow.identity.user[0] != 0 || flow.identity.host[0] != 0;
  ClientKey client{ioc, ca_address_text(key.client), is_known ? std::move(own_user) : user,
                   is_known || is_pva(ioc) ? std::move(own_host) : host};
  const auto entry = clients_.try_emplace(std::move(client)).first;
  ++entry->second.circuits;
  circuits_.emplace(flow.circuit, entry);
}

void CaOpenCounts::add_unfollowed(std::uint32_t ioc) {
  CaServerCount& server = servers_[ioc];
  ++server.circuits;
  server.open_known = server.flow_control_known = false;
}

void CaOpenCounts::add_channel(const iocx_ca_channel& channel) {
  const auto circuit = circuits_.find(channel.circuit);
  if (circuit == circuits_.end()) return;
  Client& client = circuit->second->second;
  CaServerCount& server = servers_[circuit->second->first.ioc];
  ++client.channels;
  client.monitors += channel.monitors;
  server.monitors += channel.monitors;
  const std::size_t access = channel.access;
  ++server.channels[std::min(access, server.channels.size() - 1)];
}

std::vector<CaServerCount> CaOpenCounts::servers(const CaServerTotals& totals) const {
  auto all = servers_;
  for (const auto& [ioc, counts] : totals.totals()) {
    CaServerCount& server = all[ioc];
    server.gets = counts[IOCX_CA_COUNT_GETS];
    server.monitor_updates = counts[IOCX_CA_COUNT_UPDATES];
    server.echoes = counts[IOCX_CA_COUNT_ECHOES];
    server.server_disconnects = counts[IOCX_CA_COUNT_DISCONNECTS];
    server.received_bytes = counts[IOCX_CA_COUNT_RECEIVED];
    server.sent_bytes = counts[IOCX_CA_COUNT_SENT];
    server.unread_bytes = counts[IOCX_CA_COUNT_UNREAD];
  }
  std::vector<CaServerCount> sorted;
  for (auto& [ioc, server] : all) {
    server.number = ioc;
    sorted.push_back(server);
  }
  return sorted;
}

std::vector<CaClientCount> CaOpenCounts::clients() const {
  std::vector<CaClientCount> sorted;
  for (const auto& [key, client] : clients_)
    sorted.push_back(
        {{"", key.client, key.user, key.host, client.circuits, client.channels, client.monitors},
         key.ioc});
  return sorted;
}

}  // namespace ioc_exporter::ca

#include "puts/totals/families.h"

#include <array>
#include <string_view>

#include "exposition/family_table.h"
#include "puts/totals/put_families.h"

namespace ioc_exporter::ca {
namespace {

using exposition::counter;
using exposition::FamilyRow;
using exposition::gauge;
using exposition::Label;
using exposition::Series;
using exposition::when;

constexpr std::array<std::string_view, CaServerSample::kAccesses> kAccessNames{
    "none", "read", "write", "read_write", "unknown"};

// Adds values that only the packets of an IOC's circuits give.
template <auto kValue>
void add_from_packets(const CaServerSample& server, Series& to) {
  to.add(when(server.packets_known, server.*kValue));
}

constexpr FamilyRow<CaServerSample> kServers[] = {
    {gauge("epics_circuits", "TCP connections that clients have to the IOC."),
     [](const CaServerSample& server, Series& to) {
       to.add({{"protocol", kCa}}, when(server.open_known, server.circuits));
     }},
    {gauge("epics_monitors", "Monitors (subscriptions) that clients hold at the IOC."),
     [](const CaServerSample& server, Series& to) {
       to.add({{"protocol", kCa}}, when(server.open_known, server.monitors));
     }},
    {gauge("epics_channels",
           "Channels that clients hold at the IOC, by the access that it granted."),
     [](const CaServerSample& server, Series& to) {
       for (std::size_t i = 0; i < kAccessNames.size(); ++i)
         to.add({{"protocol", kCa}, {"access", kAccessNames[i]}},
                when(server.open_known, server.channels[i]));
     }},
    {gauge(
         "epics_ca_flow_controlled_circuits",
         "Circuits whose client does not keep up and has turned monitor updates off (EVENTS_OFF)."),
     [](const CaServerSample& server, Series& to) {
       to.add(when(server.flow_control_known, server.flow_controlled));
     }},
    {counter("epics_ca_gets_total", "Reads that clients sent to the IOC (READ, READ_NOTIFY)."),
     add_from_packets<&CaServerSample::gets>},
    {counter("epics_ca_monitor_updates_total", "Monitor updates that the IOC sent."),
     add_from_packets<&CaServerSample::monitor_updates>},
    {counter("epics_ca_received_bytes_total",
             "Bytes of Channel Access that clients sent to the IOC."),
     add_from_packets<&CaServerSample::received_bytes>},
    {counter("epics_ca_sent_bytes_total", "Bytes of Channel Access that the IOC sent to clients."),
     add_from_packets<&CaServerSample::sent_bytes>},
    {counter("epics_ca_echoes_total", "Echo requests of clients on idle circuits."),
     add_from_packets<&CaServerSample::echoes>},
    {counter("epics_ca_server_disconnects_total",
             "Channels that the IOC closed, not the client (SERVER_DISCONN)."),
     add_from_packets<&CaServerSample::server_disconnects>},
    {counter("ioc_exporter_ca_unread_bytes_total",
             "Bytes that clients sent to the IOC and that were not read: puts in them are "
             "missing."),
     add_from_packets<&CaServerSample::unread_bytes>},
};

constexpr FamilyRow<CaClientSample> kClients[] = {
    {gauge("epics_client_circuits", "TCP connections that the client has to the IOC."),
     [](const CaClientSample& client, Series& to) { to.add(client.circuits); }},
    {gauge("epics_client_channels", "Channels that the client holds at the IOC."),
     [](const CaClientSample& client, Series& to) { to.add(client.channels); }},
    {gauge("epics_client_monitors", "Monitors (subscriptions) that the client holds at the IOC."),
     [](const CaClientSample& client, Series& to) { to.add(client.monitors); }},
};

constexpr FamilyRow<SearchSample> kSearches[] = {
    {counter("epics_search_requests_total",
             "Names that the client searched by UDP, repetitions counted."),
     [](const SearchSample& search, Series& to) { to.add(search.requests); }},
};

constexpr FamilyRow<BeaconSample> kBeacons[] = {
    {counter("epics_ca_beacons_total",
             "Beacons of the Channel Access server that this host has seen."),
     [](const BeaconSample& beacon, Series& to) { to.add(beacon.beacons); }},
    {counter("epics_ca_beacon_anomalies_total",
             "Beacons out of sequence: the server was restarted, or two share the address."),
     [](const BeaconSample& beacon, Series& to) { to.add(beacon.anomalies); }},
};

}  // namespace

void encode_ca_servers(const std::vector<CaServerSample>& servers, exposition::Encoder& encoder) {
  exposition::encode_merged(
      kServers, servers,
      [](const CaServerSample& server) {
        return std::array{Label{"ioc", server.ioc}};
      },
      encoder);
}

void encode_ca_clients(const std::vector<CaClientSample>& clients, exposition::Encoder& encoder) {
  exposition::encode_merged(
      kClients, clients,
      [](const CaClientSample& client) {
        return std::array<Label, 5>{{{"ioc", client.ioc},
                                     {"protocol", kCa},
                                     {"client", client.client},
                                     {"user", client.user},
                                     {"client_host", client.host}}};
      },
      encoder);
}

void encode_ca_network(const CaSamples& samples, exposition::Encoder& encoder) {
  exposition::encode_merged(
      kSearches, samples.searches,
      [](const SearchSample& search) {
        return std::array<Label, 2>{{{"protocol", kCa}, {"client", search.client}}};
      },
      encoder);
  exposition::encode_merged(
      kBeacons, samples.beacons,
      [](const BeaconSample& beacon) {
        return std::array{Label{"server", beacon.server}};
      },
      encoder);
}

void encode_ca(const CaSamples& samples, const exposition::HistogramEdges& put_edges,
               exposition::Encoder& encoder, exposition::SharedFamilies& shared) {
  encode_puts(samples, put_edges, encoder, shared);
  encode_ca_servers(samples.ca_servers, encoder);
  encode_ca_clients(samples.ca_clients, encoder);
  encode_ca_network(samples, encoder);
}

}  // namespace ioc_exporter::ca

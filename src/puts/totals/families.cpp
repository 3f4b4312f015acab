#include "puts/totals/families.h"

#include <array>
#include <string_view>
#include <utility>

#include "exposition/merged_series.h"
#include "puts/totals/put_families.h"

namespace ioc_exporter::ca {
namespace {

template <class Sample>
struct Column {
  exposition::Family family;
  std::uint64_t Sample::*value;
  bool Sample::*known = nullptr;  // null: always
};

constexpr std::array kServerGauges{
    Column<CaServerSample>{{"epics_circuits", exposition::FamilyType::gauge,
                            "TCP connections that clients have to the IOC."},
                           &CaServerSample::circuits,
                           &CaServerSample::open_known},
    Column<CaServerSample>{{"epics_monitors", exposition::FamilyType::gauge,
                            "Monitors (subscriptions) that clients hold at the IOC."},
                           &CaServerSample::monitors,
                           &CaServerSample::open_known},
};
// Of Channel Access alone.
constexpr std::array kCaServerGauges{
    Column<CaServerSample>{{"epics_ca_flow_controlled_circuits", exposition::FamilyType::gauge,
                            "Circuits whose client has told the IOC to send no monitor updates for "
                            "now, because it does not keep up (EVENTS_OFF)."},
                           &CaServerSample::flow_controlled,
                           &CaServerSample::flow_control_known},
};
constexpr std::array kServerCounters{
    Column<CaServerSample>{{"epics_ca_gets_total", exposition::FamilyType::counter,
                            "Reads that clients sent to the IOC (READ, READ_NOTIFY)."},
                           &CaServerSample::gets,
                           &CaServerSample::packets_known},
    Column<CaServerSample>{{"epics_ca_monitor_updates_total", exposition::FamilyType::counter,
                            "Monitor updates that the IOC sent."},
                           &CaServerSample::monitor_updates,
                           &CaServerSample::packets_known},
    Column<CaServerSample>{{"epics_ca_received_bytes_total", exposition::FamilyType::counter,
                            "Bytes of Channel Access that clients sent to the IOC."},
                           &CaServerSample::received_bytes,
                           &CaServerSample::packets_known},
    Column<CaServerSample>{{"epics_ca_sent_bytes_total", exposition::FamilyType::counter,
                            "Bytes of Channel Access that the IOC sent to clients."},
                           &CaServerSample::sent_bytes,
                           &CaServerSample::packets_known},
    Column<CaServerSample>{{"epics_ca_echoes_total", exposition::FamilyType::counter,
                            "Echo requests that clients sent: they heard nothing for a while."},
                           &CaServerSample::echoes,
                           &CaServerSample::packets_known},
    Column<CaServerSample>{{"epics_ca_server_disconnects_total", exposition::FamilyType::counter,
                            "Channels that the IOC closed, not the client (SERVER_DISCONN)."},
                           &CaServerSample::server_disconnects,
                           &CaServerSample::packets_known},
    Column<CaServerSample>{
        {"ioc_exporter_ca_unread_bytes_total", exposition::FamilyType::counter,
         "Bytes that clients sent to the IOC and that were not read: puts in them "
         "are missing."},
        &CaServerSample::unread_bytes,
        &CaServerSample::packets_known},
};
constexpr exposition::Family kChannels{
    "epics_channels", exposition::FamilyType::gauge,
    "Channels that clients hold at the IOC, by the access that it granted."};
constexpr std::array<std::string_view, CaServerSample::kAccesses> kAccessNames{
    "none", "read", "write", "read_write", "unknown"};

constexpr std::array kClientGauges{
    Column<CaClientSample>{{"epics_client_circuits", exposition::FamilyType::gauge,
                            "TCP connections that the client has to the IOC."},
                           &CaClientSample::circuits},
    Column<CaClientSample>{{"epics_client_channels", exposition::FamilyType::gauge,
                            "Channels that the client holds at the IOC."},
                           &CaClientSample::channels},
    Column<CaClientSample>{{"epics_client_monitors", exposition::FamilyType::gauge,
                            "Monitors (subscriptions) that the client holds at the IOC."},
                           &CaClientSample::monitors},
};

constexpr exposition::Family kSearches{
    "epics_search_requests_total", exposition::FamilyType::counter,
    "Names that the client searched by UDP, repetitions counted."};
constexpr exposition::Family kBeacons{
    "epics_ca_beacons_total", exposition::FamilyType::counter,
    "Beacons of the Channel Access server that this host has seen."};
constexpr exposition::Family kAnomalies{
    "epics_ca_beacon_anomalies_total", exposition::FamilyType::counter,
    "Beacons whose number did not follow: the server was restarted, or two share the address."};

// One family for each column, of samples whose labels are made already.
template <class Sample, std::size_t N>
void encode_columns(const std::array<Column<Sample>, N>& columns,
                    const std::vector<Sample>& samples,
                    const std::vector<exposition::EncodedLabels>& labels,
                    exposition::Encoder& encoder) {
  for (const Column<Sample>& column : columns) {
    exposition::SeriesList<std::uint64_t> series;
    series.reserve(samples.size());
    for (std::size_t i = 0; i < samples.size(); ++i)
      if (column.known == nullptr || samples[i].*column.known)
        series.emplace_back(labels[i], samples[i].*column.value);
    exposition::encode_counts(column.family, std::move(series), encoder);
  }
}

void encode_channels(const std::vector<CaServerSample>& servers, exposition::Encoder& encoder) {
  exposition::SeriesList<std::uint64_t> series;
  series.reserve(servers.size() * kAccessNames.size());
  for (const CaServerSample& server : servers)
    for (std::size_t i = 0; server.open_known && i < kAccessNames.size(); ++i)
      series.emplace_back(
          encoder.labels({{"ioc", server.ioc}, {"protocol", kCa}, {"access", kAccessNames[i]}}),
          server.channels[i]);
  exposition::encode_counts(kChannels, std::move(series), encoder);
}

}  // namespace

void encode_ca_servers(const std::vector<CaServerSample>& servers, exposition::Encoder& encoder) {
  std::vector<exposition::EncodedLabels> labels, with_protocol;
  for (const CaServerSample& server : servers) {
    labels.push_back(encoder.labels({{"ioc", server.ioc}}));
    with_protocol.push_back(encoder.labels({{"ioc", server.ioc}, {"protocol", kCa}}));
  }
  encode_columns(kServerGauges, servers, with_protocol, encoder);
  encode_channels(servers, encoder);
  encode_columns(kCaServerGauges, servers, labels, encoder);
  encode_columns(kServerCounters, servers, labels, encoder);
}

void encode_ca_clients(const std::vector<CaClientSample>& clients, exposition::Encoder& encoder) {
  std::vector<exposition::EncodedLabels> labels;
  labels.reserve(clients.size());
  for (const CaClientSample& client : clients)
    labels.push_back(encoder.labels({{"ioc", client.ioc},
                                     {"protocol", kCa},
                                     {"client", client.client},
                                     {"user", client.user},
                                     {"client_host", client.host}}));
  encode_columns(kClientGauges, clients, labels, encoder);
}

void encode_ca_network(const CaSamples& samples, exposition::Encoder& encoder) {
  exposition::SeriesList<std::uint64_t> searches, beacons, anomalies;
  for (const SearchSample& search : samples.searches)
    searches.emplace_back(encoder.labels({{"protocol", kCa}, {"client", search.client}}),
                          search.requests);
  for (const BeaconSample& beacon : samples.beacons) {
    beacons.emplace_back(encoder.labels({{"server", beacon.server}}), beacon.beacons);
    anomalies.emplace_back(beacons.back().first, beacon.anomalies);
  }
  exposition::encode_counts(kSearches, std::move(searches), encoder);
  exposition::encode_counts(kBeacons, std::move(beacons), encoder);
  exposition::encode_counts(kAnomalies, std::move(anomalies), encoder);
}

void encode_ca(const CaSamples& samples, const exposition::HistogramEdges& put_edges,
               exposition::Encoder& encoder, exposition::SharedFamilies& shared) {
  encode_puts(samples, put_edges, encoder, shared);
  encode_ca_servers(samples.ca_servers, encoder);
  encode_ca_clients(samples.ca_clients, encoder);
  encode_ca_network(samples, encoder);
}

}  // namespace ioc_exporter::ca

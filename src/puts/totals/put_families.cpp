#include "puts/totals/put_families.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "exposition/family_table.h"
#include "exposition/label_text.h"

namespace ioc_exporter::ca {
namespace {

using exposition::CountedSeries;
using exposition::counter;
using exposition::FamilyRow;
using exposition::gauge;
using exposition::histogram;
using exposition::Label;
using exposition::Series;
using exposition::when;

std::string_view op_name(const PutSample& put) {
  if (put.by_pva) return kPvaPutOp;
  return put.op == PutOp::write ? "write" : "write_notify";
}

std::size_t characters(std::string_view utf8) {
  return static_cast<std::size_t>(
      std::count_if(utf8.begin(), utf8.end(), [](char c) { return (c & '\xC0') != '\x80'; }));
}

// Quotes, braces and escapes in an exemplar are too much for readers that take them in a label:
// Prometheus 2.42 leaves the escapes as they are, Python's prometheus_client 0.26 fails.
bool is_safe_in_exemplar(std::string_view value) {
  return value.find_first_of("\"\\\n{}") == std::string_view::npos &&
         exposition::utf8_safe(value) == value;
}

// The last put: its time and its client; with as many of the labels as OpenMetrics 1.0 allows,
// which is 128 characters, names included. The client's address is always among them, and there is
// room for what others note of it: its number in the put log.
std::vector<exposition::Label> exemplar_labels(const PutSample& put) {
  constexpr std::size_t kMost = 128 - std::string_view("seq18446744073709551615").size();
  std::vector<exposition::Label> labels;
  std::size_t total = 0;
  for (const exposition::Label& label :
       {exposition::Label{"client", put.client}, exposition::Label{"user", put.user},
        exposition::Label{"client_host", put.host}}) {
    if (!is_safe_in_exemplar(label.value)) continue;
    total += label.name.size() + characters(label.value);
    if (total > kMost) break;
    labels.push_back(label);
  }
  return labels;
}

void add_put(const PutSample& put, Series& to) {
  CountedSeries series{put.count, put.created_seconds};
  if (to.encoder().has_counter_facts() && put.last_time_seconds > 0)
    series.exemplar = {to.encoder().labels(exemplar_labels(put)), 1, put.last_time_seconds};
  to.add({{"op", op_name(put)}}, std::move(series));
}

constexpr FamilyRow<PutSample> kPuts[] = {
    {counter(kPutsTotal,
             "Puts that clients sent to the IOC. Empty labels: the exporter does not "
             "know the name (yet)."),
     add_put},
    {gauge("epics_last_put_timestamp_seconds",
           "When the client put to the PV last, in seconds since 1970."),
     [](const PutSample& put, Series& to) {
       to.add(when(put.last_time_seconds > 0, put.last_time_seconds));
     }},
};

constexpr FamilyRow<PutFailureSample> kFailures[] = {
    {counter("epics_put_failures_total", "Puts that the IOC answered with an error, by reason."),
     [](const PutFailureSample& failure, Series& to) {
       to.add({{"reason", failure.reason}}, failure.count, failure.created_seconds);
     }},
};

constexpr FamilyRow<PutDurationSample> kDurations[] = {
    {histogram(kPutDurations,
               "Time from a put with callback to the IOC's answer, over all clients."),
     [](const PutDurationSample& duration, Series& to) {
       to.add_histogram({}, duration.buckets, duration.sum_ns);
     }},
};

constexpr FamilyRow<PvSample> kPvs[] = {
    {gauge("epics_pv_info",
           "Record and field that a PV name leads to, of PVs that were written to. Always 1."),
     [](const PvSample&, Series& to) { to.add(1.0); }},  // the largest of several, not their sum
};

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

// Of a put or a failure.
template <class Sample>
std::array<Label, 6> who_put_to_what(const Sample& sample) {
  return {{{"ioc", sample.ioc},
           {"protocol", protocol_of(sample.by_pva)},
           {"pv", sample.pv},
           {"client", sample.client},
           {"user", sample.user},
           {"client_host", sample.host}}};
}

}  // namespace

void add_puts(const CaSamples& samples, const exposition::Encoder& encoder,
              exposition::SharedFamilies& shared) {
  Series to(encoder, shared);
  exposition::add_families(kPuts, samples.puts, who_put_to_what<PutSample>, to);
  exposition::add_families(kFailures, samples.put_failures, who_put_to_what<PutFailureSample>, to);
}

void encode_ca(const CaSamples& samples, const exposition::HistogramEdges& put_edges,
               exposition::Encoder& encoder, exposition::SharedFamilies& shared) {
  using exposition::encode_merged;
  add_puts(samples, encoder, shared);
  encode_merged(
      kDurations, samples.put_durations,
      [](const PutDurationSample& one) {
        return std::array{Label{"ioc", one.ioc}, Label{"protocol", kCa}, Label{"pv", one.pv}};
      },
      encoder, &put_edges);
  encode_merged(
      kPvs, samples.pvs,
      [](const PvSample& pv) {
        return std::array{Label{"ioc", pv.ioc}, Label{"pv", pv.pv}, Label{"record", pv.record},
                          Label{"field", pv.field}};
      },
      encoder);
  encode_merged(
      kServers, samples.ca_servers,
      [](const CaServerSample& server) {
        return std::array{Label{"ioc", server.ioc}};
      },
      encoder);
  encode_merged(
      kClients, samples.ca_clients,
      [](const CaClientSample& one) {
        return std::array{Label{"ioc", one.ioc}, Label{"protocol", kCa},
                          Label{"client", one.client}, Label{"user", one.user},
                          Label{"client_host", one.host}};
      },
      encoder);
  encode_merged(
      kSearches, samples.searches,
      [](const SearchSample& search) {
        return std::array{Label{"protocol", kCa}, Label{"client", search.client}};
      },
      encoder);
  encode_merged(
      kBeacons, samples.beacons,
      [](const BeaconSample& beacon) {
        return std::array{Label{"server", beacon.server}};
      },
      encoder);
}

}  // namespace ioc_exporter::ca

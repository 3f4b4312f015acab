#include "puts/totals/put_families.h"

#include <array>
#include <string_view>

#include "exposition/family_table.h"
#include "exposition/prometheus_family.h"

namespace ioc_exporter::puts {
namespace {

using exposition::counter;
using exposition::FamilyRow;
using exposition::gauge;
using exposition::histogram;
using exposition::Label;
using exposition::Series;
using exposition::when;

constexpr FamilyRow<PutSample> kPuts[] = {
    {counter("epics_puts_total",
             "Puts that clients sent to the IOC. Empty labels: the exporter does not "
             "know the name (yet)."),
     [](const PutSample& put, Series& to) {
       to.add({{"op", op_name(put.op, put.by_pva)}}, put.count, put.created_seconds);
     }},
    {gauge("epics_last_put_timestamp_seconds",
           "When the client put to the PV last, in seconds since 1970."),
     [](const PutSample& put, Series& to) {
       to.add(when(put.last_time_seconds > 0, put.last_time_seconds));
     }},
};

constexpr FamilyRow<PutFailureSample> kFailures[] = {
    {counter("epics_put_failures_total",
             "Puts that the IOC refused, or whose client left before the answer (cancelled), by "
             "reason."),
     [](const PutFailureSample& failure, Series& to) {
       to.add({{"reason", failure.reason}}, failure.count, failure.created_seconds);
     }},
};

constexpr FamilyRow<GatewaySample> kGateways[] = {
    {gauge(
         "epics_gateway_info",
         "A client of the IOC that is a gateway: it passes on the puts of its own clients. Always "
         "1."),
     [](const GatewaySample&, Series& to) { to.add(1.0); }},
};

constexpr FamilyRow<PutDurationSample> kDurations[] = {
    {histogram("epics_put_duration_seconds",
               "Time from a put to the IOC's answer, over all clients: by Channel Access of those "
               "with callback."),
     [](const PutDurationSample& duration, Series& to) {
       to.add_histogram({}, duration.buckets, duration.sum_ns);
     }},
};

constexpr FamilyRow<PvSample> kPvs[] = {
    {gauge("epics_pv_info", "Record and field behind an alias that was written to. Always 1."),
     [](const PvSample&, Series& to) { to.add(1.0); }},  // the largest of several, not their sum
};

constexpr FamilyRow<PendingPutsSample> kPending[] = {
    {gauge("epics_ioc_put_callbacks_pending",
           "Puts with callback that have not ended, of clients and of programs in the IOC itself "
           "(sequencer, CA links)."),
     [](const PendingPutsSample& pending, Series& to) { to.add(pending.count); }},
    {gauge("epics_ioc_put_callback_oldest_seconds",
           "How long the oldest put with callback that has not ended has waited; 0: none."),
     [](const PendingPutsSample& pending, Series& to) { to.add(pending.oldest_seconds); }},
};

constexpr std::array<std::string_view, ServerSample::kAccesses> kAccessNames{
    "none", "read", "write", "read_write", "unknown"};

// Adds values that only the packets of an IOC's circuits give.
template <auto kValue>
void add_from_packets(const ServerSample& server, Series& to) {
  to.add(when(server.packets_known, server.*kValue));
}

constexpr FamilyRow<ServerSample> kOpen[] = {
    {gauge("epics_circuits", "TCP connections that clients have to the IOC."),
     [](const ServerSample& server, Series& to) {
       to.add(when(server.open_known, server.circuits));
     }},
    {gauge("epics_monitors", "Monitors (subscriptions) that clients hold at the IOC."),
     [](const ServerSample& server, Series& to) {
       to.add(when(server.open_known && !server.by_pva, server.monitors));
     }},
    {gauge("epics_channels",
           "Channels that clients hold at the IOC, by the access that it granted."),
     [](const ServerSample& server, Series& to) {
       for (std::size_t i = 0; i < kAccessNames.size(); ++i)
         to.add({{"access", kAccessNames[i]}},
                when(server.open_known && (!server.by_pva || i == OpenConnections::unknown),
                     server.channels[i]));
     }},
};

constexpr FamilyRow<ServerSample> kServers[] = {
    {gauge(
         "epics_ca_flow_controlled_circuits",
         "Circuits whose client does not keep up and has turned monitor updates off (EVENTS_OFF)."),
     [](const ServerSample& server, Series& to) {
       to.add(when(server.flow_control_known, server.flow_controlled));
     }},
    {counter("epics_ca_puts_to_others_channels_total",
             "Puts of clients to a channel that another client of the IOC has opened. No EPICS "
             "library sends them."),
     [](const ServerSample& server, Series& to) {
       to.add(when(server.to_others_channels.has_value(), server.to_others_channels.value_or(0)));
     }},
    {counter("epics_ca_gets_total", "Reads that clients sent to the IOC (READ, READ_NOTIFY)."),
     add_from_packets<&ServerSample::gets>},
    {counter("epics_ca_monitor_updates_total", "Monitor updates that the IOC sent."),
     add_from_packets<&ServerSample::monitor_updates>},
    {counter("epics_ca_received_bytes_total",
             "Bytes of Channel Access that clients sent to the IOC."),
     add_from_packets<&ServerSample::received_bytes>},
    {counter("epics_ca_sent_bytes_total", "Bytes of Channel Access that the IOC sent to clients."),
     add_from_packets<&ServerSample::sent_bytes>},
    {counter("epics_ca_echoes_total", "Echo requests of clients on idle circuits."),
     add_from_packets<&ServerSample::echoes>},
    {counter("epics_ca_server_disconnects_total",
             "Channels that the IOC closed, not the client (SERVER_DISCONN)."),
     add_from_packets<&ServerSample::server_disconnects>},
    {counter("ioc_exporter_ca_unread_bytes_total",
             "Bytes that clients sent to the IOC and that were not read: puts in them are "
             "missing."),
     add_from_packets<&ServerSample::unread_bytes>},
};

constexpr FamilyRow<ClientSample> kClients[] = {
    {gauge("epics_client_circuits", "TCP connections that the client has to the IOC."),
     [](const ClientSample& client, Series& to) { to.add(client.circuits); }},
    {gauge("epics_client_channels", "Channels that the client holds at the IOC."),
     [](const ClientSample& client, Series& to) { to.add(client.channels); }},
    {gauge("epics_client_monitors", "Monitors (subscriptions) that the client holds at the IOC."),
     [](const ClientSample& client, Series& to) { to.add(when(!client.by_pva, client.monitors)); }},
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

void add_puts(const PutsSamples& samples, const exposition::HistogramEdges& put_edges,
              const exposition::Encoder& encoder, exposition::SharedFamilies& shared) {
  Series to(encoder, shared);
  exposition::add_families(kPuts, samples.puts, who_put_to_what<PutSample>, to);
  exposition::add_families(kFailures, samples.put_failures, who_put_to_what<PutFailureSample>, to);
  exposition::add_families(
      kGateways, samples.gateways,
      [](const GatewaySample& one) {
        return std::array{Label{"ioc", one.ioc}, Label{"client", one.client}};
      },
      to);
  exposition::add_families(
      kDurations, samples.put_durations,
      [](const PutDurationSample& one) {
        return std::array{Label{"ioc", one.ioc}, Label{"protocol", protocol_of(one.by_pva)},
                          Label{"pv", one.pv}};
      },
      to, &put_edges);
  exposition::add_families(
      kOpen, samples.servers,
      [](const ServerSample& server) {
        return std::array{Label{"ioc", server.ioc}, Label{"protocol", protocol_of(server.by_pva)}};
      },
      to);
  exposition::add_families(
      kClients, samples.clients,
      [](const ClientSample& one) {
        return std::array{Label{"ioc", one.ioc}, Label{"protocol", protocol_of(one.by_pva)},
                          Label{"client", one.client}, Label{"user", one.user},
                          Label{"client_host", one.host}};
      },
      to);
}

void encode_puts(const PutsSamples& samples, const exposition::HistogramEdges& put_edges,
                 exposition::Encoder& encoder, exposition::SharedFamilies& shared) {
  using exposition::encode_merged;
  add_puts(samples, put_edges, encoder, shared);
  encode_merged(
      kPending, samples.pending_puts,
      [](const PendingPutsSample& one) {
        return std::array{Label{"ioc", one.ioc}};
      },
      encoder);
  encode_merged(
      kPvs, samples.pvs,
      [](const PvSample& pv) {
        return std::array{Label{"ioc", pv.ioc}, Label{"pv", pv.pv}, Label{"record", pv.record},
                          Label{"field", pv.field}};
      },
      encoder);
  encode_merged(
      kServers, samples.servers,
      [](const ServerSample& server) {
        return std::array{Label{"ioc", server.ioc}};
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

std::vector<prometheus::MetricFamily> source_families(
    const std::vector<PutSourceSample>& sources, const std::vector<PutSwitchSample>& switches) {
  exposition::FamilyList to;
  auto& source = to.flag("epics_ioc_put_source",
                         "Where the counts of puts to the IOC come from: its server, packets, or "
                         "none: puts are not counted. Always 1.");
  for (const PutSourceSample& one : sources)
    source.add({{"ioc", one.ioc}, {"protocol", one.protocol}, {"source", one.source}}, 1);
  auto& changes = to.counter(
      "ioc_exporter_put_source_switch_total",
      "Changes of the source of the counts of puts between the IOC's server and packets. "
      "Puts between are in neither.");
  for (const PutSwitchSample& one : switches)
    changes.add({{"ioc", one.ioc}, {"protocol", one.protocol}}, one.count);
  return to.take();
}

}  // namespace ioc_exporter::puts

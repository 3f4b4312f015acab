#include "ca/samples_by_name.h"

#include <utility>

namespace ioc_exporter::ca {
namespace {

using Names = std::map<std::uint32_t, std::string>;

// Calls each(name, item) for the items whose IOC has a name.
template <class Item, class Number, class Each>
void for_each_named(const Names& names, std::vector<Item>& items, Number number, Each each) {
  for (Item& item : items)
    if (const auto name = names.find(number(item)); name != names.end()) each(name->second, item);
}

template <class Item>
std::uint32_t own_number(const Item& item) {
  return item.ioc;
}

template <class Item>
std::uint32_t number_in_labels(const Item& item) {
  return item.labels.ioc;
}

CaServerSample server_sample(const std::string& ioc, const CaServerCount& count) {
  CaServerSample sample;
  sample.ioc = ioc;
  sample.circuits = count.circuits;
  sample.channels = count.channels;
  sample.monitors = count.monitors;
  sample.flow_controlled = count.flow_controlled;
  sample.gets = count.gets;
  sample.monitor_updates = count.monitor_updates;
  sample.echoes = count.echoes;
  sample.server_disconnects = count.server_disconnects;
  sample.received_bytes = count.received_bytes;
  sample.sent_bytes = count.sent_bytes;
  return sample;
}

void add_puts(const Names& names, CaTapReading& reading, const WallClock& clock,
              CaSamples& samples) {
  for_each_named(names, reading.puts, number_in_labels<CaPutCount>,
                 [&](const std::string& ioc, CaPutCount& put) {
                   auto& labels = put.labels;
                   samples.puts.push_back({ioc, std::move(labels.pv), std::move(labels.client),
                                            std::move(labels.user), std::move(labels.host), put.op,
                                            put.count, clock.seconds(put.last_ns)});
                 });
  for_each_named(names, reading.failures, number_in_labels<CaPutFailure>,
                 [&](const std::string& ioc, CaPutFailure& failure) {
                   auto& labels = failure.labels;
                   samples.put_failures.push_back(
                       {ioc, std::move(labels.pv), std::move(labels.client), std::move(labels.user),
                        std::move(labels.host), std::move(failure.reason), failure.count});
                 });
  for_each_named(names, reading.durations, own_number<CaPutDuration>,
                 [&](const std::string& ioc, CaPutDuration& duration) {
                   samples.put_durations.push_back(
                       {ioc, std::move(duration.pv), duration.sum_ns, duration.buckets});
                 });
}

void add_servers(const Names& names, CaTapReading& reading, CaSamples& samples) {
  Names quiet = names;
  for_each_named(names, reading.servers, own_number<CaServerCount>,
                 [&](const std::string& ioc, CaServerCount& count) {
                   samples.ca_servers.push_back(server_sample(ioc, count));
                   quiet.erase(count.ioc);
                 });
  for (const auto& [number, ioc] : quiet) samples.ca_servers.push_back(server_sample(ioc, {}));
  for_each_named(names, reading.clients, own_number<CaClientCount>,
                 [&](const std::string& ioc, CaClientCount& client) {
                   samples.ca_clients.push_back(
                       {ioc, std::move(client.client), std::move(client.user),
                        std::move(client.host), client.circuits, client.channels, client.monitors});
                 });
}

}  // namespace

void add_ca_samples(const Names& names, CaTapReading reading, const WallClock& clock,
                    CaSamples& samples, SelfSamples& self) {
  add_puts(names, reading, clock, samples);
  add_servers(names, reading, samples);
  for (MapSample& map : reading.maps) self.maps.push_back(std::move(map));
  for (DropSample& drop : reading.drops) self.drops.push_back(std::move(drop));
}

}  // namespace ioc_exporter::ca

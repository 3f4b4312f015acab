#include "puts/totals/samples_by_name.h"

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
std::uint32_t number_in_labels(const Item& item) {
  return item.labels.ioc;
}

// Adds the items that are samples but for their IOC's name.
template <class Item, class Sample>
void add_named(const Names& names, std::vector<Item>& items, std::vector<Sample>& to) {
  for_each_named(
      names, items, [](const Item& item) { return item.number; },
      [&to](const std::string& ioc, Item& item) {
        item.ioc = ioc;
        to.push_back(std::move(item));
      });
}

void add_puts(const Names& names, CaTapReading& reading, const WallClock& clock,
              CaSamples& samples) {
  for_each_named(
      names, reading.puts, number_in_labels<CaPutCount>,
      [&](const std::string& ioc, CaPutCount& put) {
        auto& labels = put.labels;
        samples.puts.push_back({ioc, std::move(labels.pv), std::move(labels.client),
                                std::move(labels.user), std::move(labels.host), put.op, put.count,
                                clock.seconds(put.last_ns), clock.seconds(put.created_ns)});
      });
  for_each_named(names, reading.failures, number_in_labels<CaPutFailure>,
                 [&](const std::string& ioc, CaPutFailure& failure) {
                   auto& labels = failure.labels;
                   samples.put_failures.push_back(
                       {ioc, std::move(labels.pv), std::move(labels.client), std::move(labels.user),
                        std::move(labels.host), std::move(failure.reason), failure.count,
                        clock.seconds(failure.created_ns)});
                 });
}

void add_servers(const Names& names, CaTapReading& reading, CaSamples& samples) {
  Names quiet = names;
  for (const CaServerCount& server : reading.servers) quiet.erase(server.number);
  add_named(names, reading.servers, samples.ca_servers);
  for (const auto& [number, ioc] : quiet) samples.ca_servers.emplace_back().ioc = ioc;
}

}  // namespace

void add_ca_samples(const Names& names, CaTapReading reading, const WallClock& clock,
                    CaSamples& samples, SelfSamples& self) {
  add_puts(names, reading, clock, samples);
  add_named(names, reading.durations, samples.put_durations);
  add_servers(names, reading, samples);
  add_named(names, reading.clients, samples.ca_clients);
  for (MapSample& map : reading.maps) self.maps.push_back(std::move(map));
  self.add(std::move(reading.drops));
}

}  // namespace ioc_exporter::ca

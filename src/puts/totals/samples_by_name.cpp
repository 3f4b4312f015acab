#include "puts/totals/samples_by_name.h"

#include <algorithm>
#include <utility>

namespace ioc_exporter::ca {
namespace {

template <class Item>
std::uint32_t& number_of(Item& item) {
  if constexpr (requires { item.number; })
    return item.number;
  else
    return item.labels.ioc;
}

// Calls each(name, item) for the items whose IOC has a name.
template <class Item, class Each>
void for_each_named(const IocNames& names, std::vector<Item>& items, Each each) {
  for (Item& item : items) {
    if (const auto name = names.find(number_of(item)); name != names.end())
      each(name->second, item);
  }
}

// Adds the items that are samples but for their IOC's name.
template <class Item, class Sample>
void add_named(const IocNames& names, std::vector<Item>& items, std::vector<Sample>& to) {
  for_each_named(names, items, [&to](const std::string& ioc, Item& item) {
    item.ioc = ioc;
    to.push_back(std::move(item));
  });
}

// Moves the items of PV Access.
template <class Item>
void take_pva(std::vector<Item>& from, std::vector<Item>& to) {
  const auto rest = std::stable_partition(from.begin(), from.end(),
                                          [](Item& item) { return !is_pva(number_of(item)); });
  for (auto item = rest; item != from.end(); ++item) {
    number_of(*item) &= ~kPvaServer;
    to.push_back(std::move(*item));
  }
  from.erase(rest, from.end());
}

}  // namespace

CaTapReading take_pva(CaTapReading& reading) {
  CaTapReading pva;
  take_pva(reading.puts, pva.puts);
  take_pva(reading.failures, pva.failures);
  take_pva(reading.durations, pva.durations);
  take_pva(reading.servers, pva.servers);
  take_pva(reading.clients, pva.clients);
  return pva;
}

void add_put_samples(const IocNames& names, CaTotalsReading reading, const WallClock& clock,
                     bool by_pva, CaSamples& samples) {
  for_each_named(names, reading.puts, [&](const std::string& ioc, CaPutCount& put) {
    auto& labels = put.labels;
    if (labels.inside || put.count == 0) return;  // records/ counts the former
    samples.puts.push_back({ioc, std::move(labels.pv), std::move(labels.client),
                            std::move(labels.user), std::move(labels.host), put.op, put.count,
                            clock.seconds(put.last_ns), clock.seconds(put.created_ns), by_pva});
  });
  for_each_named(names, reading.failures, [&](const std::string& ioc, CaPutFailure& failure) {
    auto& labels = failure.labels;
    samples.put_failures.push_back({ioc, std::move(labels.pv), std::move(labels.client),
                                    std::move(labels.user), std::move(labels.host),
                                    std::move(failure.reason), failure.count,
                                    clock.seconds(failure.created_ns), by_pva});
  });
  add_named(names, reading.durations, samples.put_durations);
}

void add_ca_samples(const IocNames& names, CaTapReading reading, const WallClock& clock,
                    CaSamples& samples, SelfSamples& self) {
  IocNames quiet = names;
  for (const CaServerCount& server : reading.servers) quiet.erase(server.number);
  add_named(names, reading.servers, samples.ca_servers);
  for (const auto& [number, ioc] : quiet) samples.ca_servers.emplace_back().ioc = ioc;
  add_named(names, reading.clients, samples.ca_clients);
  for (MapSample& map : reading.maps) self.maps.push_back(std::move(map));
  self.add(reading.drops);
  add_put_samples(names, std::move(reading), clock, false, samples);
}

}  // namespace ioc_exporter::ca

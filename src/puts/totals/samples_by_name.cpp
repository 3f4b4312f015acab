#include "puts/totals/samples_by_name.h"

#include <utility>

namespace ioc_exporter::puts {
namespace {

// Of a put or a failure.
template <class Sample, class Item>
Sample with_labels(const std::string& ioc, Item& item) {
  auto& labels = item.labels;
  Sample sample;
  sample.ioc = ioc;
  sample.pv = std::move(labels.pv);
  sample.client = std::move(labels.client);
  sample.user = std::move(labels.user);
  sample.host = std::move(labels.host);
  sample.count = item.count;
  sample.by_pva = labels.protocol == Protocol::pva;
  return sample;
}

}  // namespace

void add_samples(const IocNames& names, const std::set<std::uint32_t>& seen_by_pva,
                 TapReading reading, const WallClock& clock, SamplesOfBoth& samples,
                 SelfSamples& self) {
  // Calls each(name, samples of the protocol, item) for the items whose IOC has a name.
  const auto for_each_named = [&](auto& items, auto server_of, auto each) {
    for (auto& item : items) {
      const ServerKey server = server_of(item);
      if (const auto name = names.find(server.ioc); name != names.end())
        each(name->second, samples.of(server.protocol), item);
    }
  };
  const auto of_labels = [](const auto& item) { return item.labels.server(); };
  const auto itself = [](const auto& item) { return item.server; };
  for_each_named(reading.puts, of_labels, [&](const std::string& ioc, PutsSamples& to, auto& put) {
    if (put.labels.inside || put.count == 0) return;  // records/ counts the former
    auto& sample = to.puts.emplace_back(with_labels<PutSample>(ioc, put));
    sample.op = put.op;
    sample.last_time_seconds = clock.seconds(put.last_ns);
    sample.created_seconds = clock.seconds(put.created_ns);
  });
  for_each_named(
      reading.failures, of_labels, [&](const std::string& ioc, PutsSamples& to, auto& failure) {
        auto& sample = to.put_failures.emplace_back(with_labels<PutFailureSample>(ioc, failure));
        sample.reason = std::move(failure.reason);
        sample.created_seconds = clock.seconds(failure.created_ns);
      });
  const auto of_duration = [](const PutDuration& one) {
    return ServerKey{one.number, one.by_pva ? Protocol::pva : Protocol::ca};
  };
  for_each_named(reading.durations, of_duration,
                 [](const std::string& ioc, PutsSamples& to, PutDuration& duration) {
                   duration.ioc = ioc;
                   to.put_durations.push_back(std::move(duration));
                 });
  IocNames quiet = names;
  for_each_named(
      reading.servers, itself, [&](const std::string& ioc, PutsSamples& to, ServerCount& server) {
        const bool by_pva = server.server.protocol == Protocol::pva;
        if (by_pva ? !seen_by_pva.contains(server.server.ioc) : quiet.erase(server.server.ioc) == 0)
          return;
        server.ioc = ioc;
        server.by_pva = by_pva;
        to.servers.push_back(std::move(server));
      });
  for (const auto& [number, ioc] : quiet) samples.ca.servers.emplace_back().ioc = ioc;
  for_each_named(reading.clients, itself,
                 [](const std::string& ioc, PutsSamples& to, ClientCount& client) {
                   client.ioc = ioc;
                   client.by_pva = client.server.protocol == Protocol::pva;
                   to.clients.push_back(std::move(client));
                 });
  for (MapSample& map : reading.maps) self.maps.push_back(std::move(map));
  self.add(reading.drops);
}

}  // namespace ioc_exporter::puts

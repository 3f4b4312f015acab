#include "puts/searches/udp.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "base/wall_clock.h"
#include "puts/searches/udp_totals.h"
#include "puts/tap/connections.h"

namespace ioc_exporter::ca {
namespace {

static_assert(sizeof(iocx_ca_search_client) == 8 && sizeof(iocx_ca_search_count) == 16);
static_assert(sizeof(iocx_ca_search_key) == 16 && offsetof(iocx_ca_search_key, port) == 12);
static_assert(sizeof(iocx_ca_search) == 120 && offsetof(iocx_ca_search, name) == 24);
static_assert(sizeof(iocx_ca_beacon_key) == 12 && sizeof(iocx_ca_beacon) == 32);
static_assert(sizeof(iocx_ca_device) == 8 && offsetof(iocx_ca_beacon, holder) == 28);

constexpr const char* kProbe = "ca_udp";
constexpr const char* kOther = "(other)";
constexpr std::chrono::minutes kForgetEvery{1};

std::string server_label(const iocx_ca_beacon_key& key) {
  return ca_address_text(key.server) + ":" + std::to_string(key.port);
}

// After the entry was erased, as the program does.
void give_back(const CaUdpObject&, const iocx_ca_search_client&, const iocx_ca_search_count&) {}
void give_back(const CaUdpObject& object, const iocx_ca_search_key& key, const iocx_ca_search&) {
  object.caps().give(IOCX_CA_UDP_HELD_SEARCHES, iocx_ca_holder_of(&key.client, key.port));
}
void give_back(const CaUdpObject& object, const iocx_ca_beacon_key&, const iocx_ca_beacon& beacon) {
  object.caps().give(IOCX_CA_UDP_HELD_BEACONS, beacon.holder);
}

// Erases the entries of `map` that `unwanted(key, value)` accepts.
template <class Map, class Unwanted>
Result<void> erase_from(const CaUdpObject& object, const Map& map, Unwanted&& unwanted) {
  std::vector<std::pair<typename Map::Key, typename Map::Value>> entries;
  auto read = map.for_each([&](const auto& key, const auto& value) {
    if (unwanted(key, value)) entries.emplace_back(key, value);
  });
  if (!read) return read;
  for (const auto& [key, value] : entries) {
    auto erased = map.erase(key);
    if (!erased) return std::move(erased).error();
    if (*erased) give_back(object, key, value);  // else the program did
  }
  return {};
}

}  // namespace

Result<CaUdp> CaUdp::start(const CaSharedMaps& maps, const CaUdpOptions& options) {
  auto object = CaUdpObject::load(maps, options.sizes, options.remote);
  if (!object) return std::move(object).error();
  auto devices = EnslavedDevices::open();
  if (!devices) return std::move(devices).error();
  CaUdp udp(std::move(*object));
  udp.namespaces_.emplace(0u, Namespace{std::move(*devices), {}});
  if (auto ok = udp.update_devices(0, udp.namespaces_.at(0)); !ok) return ok.error();
  return udp;
}

Result<void> CaUdp::add_namespace(std::uint32_t net, int ns_fd) {
  auto devices = EnslavedDevices::open_in(ns_fd);
  if (!devices) return std::move(devices).error();
  const auto [at, is_new] = namespaces_.insert_or_assign(net, Namespace{std::move(*devices), {}});
  return update_devices(net, at->second);
}

Result<void> CaUdp::remove_namespace(std::uint32_t net) {
  if (const auto in = namespaces_.extract(net))
    for (const std::uint32_t index : in.mapped().lower)
      if (auto erased = object_.maps().enslaved_devices.erase({net, index}); !erased)
        return erased.error();
  if (auto ok = observe(); !ok) return ok;
  other_ += clients_.remove_namespace(net)[0];
  servers_.remove_namespace(net);
  const auto its = [net](const auto& key, const auto&) { return key.net == net; };
  const CaUdpMaps& maps = object_.maps();
  if (auto ok = erase_from(object_, maps.clients, its); !ok) return ok;
  if (auto ok = erase_from(object_, maps.beacons, its); !ok) return ok;
  return erase_from(object_, maps.searches, its);
}

Result<void> CaUdp::update_devices(std::uint32_t net, Namespace& in) {
  auto found = in.devices.read();
  if (!found) return std::move(found).error();
  for (const std::uint32_t index : *found) {
    if (in.lower.contains(index)) continue;
    if (auto ok = object_.maps().enslaved_devices.update({net, index}, 1); !ok) return ok;
    in.lower.insert(index);
  }
  for (auto at = in.lower.begin(); at != in.lower.end();) {
    if (found->contains(*at)) {
      ++at;
      continue;
    }
    if (auto erased = object_.maps().enslaved_devices.erase({net, *at}); !erased)
      return erased.error();
    at = in.lower.erase(at);
  }
  return {};
}

Result<void> CaUdp::look(Clock::time_point now) {
  for (auto& [net, in] : namespaces_)
    if (auto ok = update_devices(net, in); !ok) return ok;
  if (now < next_forgetting_) return {};
  next_forgetting_ = now + kForgetEvery;
  if (auto ok = forget_searches(kernel_ns(now - kSearchOver)); !ok) return ok;
  return forget_silent(now);
}

Result<void> CaUdp::forget_searches(std::uint64_t before_ns) {
  const auto over = [before_ns](const auto&, const iocx_ca_search& search) {
    return search.last_ns < before_ns;
  };
  return erase_from(object_, object_.maps().searches, over);
}

// Erases what is silent for too long, and gives its labels: one leaves when no namespace has seen
// it any more, else its total would shrink.
template <class Map, class LabelOf>
Result<std::vector<std::string>> CaUdp::erase_silent(const Map& map, std::uint64_t entries,
                                                     Clock::time_point now, LabelOf label_of) {
  const std::uint64_t before_ns =
      kernel_ns(now - (entries < map.capacity() / 2 ? kSilent : kSilentWhenCrowded));
  std::map<std::string, std::uint64_t> last;
  auto read = map.for_each([&](const auto& key, const auto& value) {
    std::uint64_t& newest = last[label_of(key)];
    newest = std::max<std::uint64_t>(newest, value.last_ns);
  });
  if (!read) return read.error();
  const auto is_silent = [&](const auto& key, const auto&) {
    const auto found = last.find(label_of(key));
    return found != last.end() && found->second < before_ns;
  };
  if (auto erased = erase_from(object_, map, is_silent); !erased) return erased.error();
  std::vector<std::string> silent;
  for (const auto& [label, last_ns] : last)
    if (last_ns < before_ns) silent.push_back(label);
  return silent;
}

Result<void> CaUdp::forget_silent(Clock::time_point now) {
  if (auto ok = observe(); !ok) return ok;
  const auto client_label = [](const auto& key) { return ca_address_text(key.address); };
  const auto clients = erase_silent(object_.maps().clients, client_entries_, now, client_label);
  if (!clients) return clients.error();
  for (const std::string& label : *clients) other_ += clients_.forget(label)[0];
  const auto servers = erase_silent(object_.maps().beacons, beacon_entries_, now, server_label);
  if (!servers) return servers.error();
  for (const std::string& label : *servers) servers_.forget(label);
  return {};
}

Result<void> CaUdp::observe() {
  client_entries_ = 0;
  beacon_entries_ = 0;
  auto read = object_.maps().clients.for_each([this](const auto& key, const auto& value) {
    ++client_entries_;
    clients_.observe(ca_address_text(key.address), is_loopback(key.address), key.net,
                     {value.requests, 0});
  });
  if (!read) return read;
  return object_.maps().beacons.for_each([this](const auto& key, const auto& value) {
    ++beacon_entries_;
    servers_.observe(server_label(key), is_loopback(key.server), key.net,
                     {value.beacons, value.anomalies});
  });
}

Result<std::vector<SearchedName>> CaUdp::most_searched() {
  CaUdpNames names;
  search_entries_ = 0;
  auto read = object_.maps().searches.for_each([&](const auto& key, const iocx_ca_search& search) {
    ++search_entries_;
    names.add(key, search);
  });
  if (!read) return read.error();
  const auto now = WallClock::read();
  return names.most(kLeastRequests, kMostNames,
                    static_cast<double>(now.realtime_ns - now.monotonic_ns) / 1e9);
}

Result<void> CaUdp::add_counters(CaUdpReading& reading) const {
  auto counters = kernel::sum_per_cpu_counters(object_.maps().counters, IOCX_CA_UDP_DROPS);
  if (!counters) return std::move(counters).error();
  reading.drops = drop_samples(kProbe, *counters, iocx_ca_udp_drop_labels, iocx_ca_udp_drop_lost);
  add_samples(reading, (*counters)[IOCX_CA_UDP_DROP_CLIENTS_FULL]);
  return {};
}

// `without_room`: requests of clients that the kernel's table had no room for.
void CaUdp::add_samples(CaUdpReading& reading, std::uint64_t without_room) const {
  for (const auto& [client, counts] : clients_.totals())
    reading.searches.push_back({client, counts[0]});
  if (other_ + without_room > 0) reading.searches.push_back({kOther, other_ + without_room});
  for (const auto& [server, counts] : servers_.totals())
    reading.beacons.push_back({server, counts[0], counts[1]});
  reading.maps = {{"ca_search_clients", client_entries_, object_.maps().clients.capacity()},
                  {"ca_searches", search_entries_, object_.maps().searches.capacity()},
                  {"ca_beacons", beacon_entries_, object_.maps().beacons.capacity()}};
}

Result<CaUdpReading> CaUdp::collect() {
  if (auto ok = observe(); !ok) return ok.error();
  CaUdpReading reading;
  auto names = most_searched();
  if (!names) return std::move(names).error();
  reading.names = std::move(*names);
  if (auto ok = add_counters(reading); !ok) return ok.error();
  return reading;
}

}  // namespace ioc_exporter::ca

#include "puts/searches/udp.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "base/wall_clock.h"
#include "puts/tap/connections.h"
#include "puts/tap/tap_labels.h"

namespace ioc_exporter::puts {
namespace {

static_assert(sizeof(iocx_ca_search_client) == 4 && sizeof(iocx_ca_search_count) == 16);
static_assert(sizeof(iocx_ca_search_key) == 100 && offsetof(iocx_ca_search_key, client) == 96);
static_assert(sizeof(iocx_ca_search) == 32 && offsetof(iocx_ca_search, holder) == 24);
static_assert(sizeof(iocx_ca_beacon_key) == 8 && sizeof(iocx_ca_beacon) == 24);
static_assert(offsetof(iocx_ca_beacon, holder) == 16);

constexpr const char* kProbe = "ca_udp";
constexpr const char* kOther = "(other)";
constexpr std::chrono::minutes kForgetEvery{1};

std::string server_label(const iocx_ca_beacon_key& key) {
  return ca_address_text(key.server) + ":" + std::to_string(key.port);
}

// After the entry was erased.
void give_back(const CaUdpObject& object, const iocx_ca_search_client& key,
               const iocx_ca_search_count&) {
  object.caps().give(IOCX_CA_UDP_HELD_CLIENTS, iocx_ca_holder_of_network(&key.address));
}
void give_back(const CaUdpObject& object, const iocx_ca_search_key&, const iocx_ca_search& search) {
  object.caps().give(IOCX_CA_UDP_HELD_SEARCHES, search.holder);
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
    if (*erased) give_back(object, key, value);
  }
  return {};
}

}  // namespace

Result<CaUdp> CaUdp::start(const TapSharedMaps& maps, const CaUdpOptions& options) {
  auto object = CaUdpObject::load(maps, options.sizes, options.remote, options.searches);
  if (!object) return std::move(object).error();
  auto devices = EnslavedDevices::open();
  if (!devices) return std::move(devices).error();
  CaUdp udp(std::move(*object), std::move(*devices), options.searches);
  if (auto ok = udp.update_devices(); !ok) return ok.error();
  return udp;
}

Result<void> CaUdp::update_devices() {
  auto found = devices_.read();
  if (!found) return std::move(found).error();
  const auto& map = object_.maps().enslaved_devices;
  for (const std::uint32_t index : lower_)
    if (!found->contains(index))
      if (auto erased = map.erase(index); !erased) return erased.error();
  for (const std::uint32_t index : *found)
    if (!lower_.contains(index))
      if (auto ok = map.update(index, 1); !ok) return ok;
  lower_ = std::move(*found);
  return {};
}

Result<void> CaUdp::look(Clock::time_point now) {
  if (auto ok = update_devices(); !ok) return ok;
  if (!searches_ || now < next_forgetting_) return {};
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

// Erases what is silent for too long, and gives its labels.
template <class Map, class LabelOf>
Result<std::vector<std::string>> CaUdp::erase_silent(const Map& map, std::uint64_t entries,
                                                     Clock::time_point now, LabelOf label_of) {
  const std::uint64_t before_ns =
      kernel_ns(now - (entries < map.capacity() / 2 ? kSilent : kSilentWhenCrowded));
  std::vector<std::string> silent;
  auto erased = erase_from(object_, map, [&](const auto& key, const auto& value) {
    if (value.last_ns >= before_ns) return false;
    silent.push_back(label_of(key));
    return true;
  });
  if (!erased) return erased.error();
  return silent;
}

CounterValues<1> CaUdp::forget(Totals& totals, const std::string& label) {
  const auto found = totals.totals().find(label);
  const auto counts = found == totals.totals().end() ? CounterValues<1>{} : found->second;
  totals.close(label);
  totals.drop(label);
  return counts;
}

Result<void> CaUdp::forget_silent(Clock::time_point now) {
  if (auto ok = observe(); !ok) return ok;
  const auto client_label = [](const auto& key) { return ca_address_text(key.address); };
  const auto clients = erase_silent(object_.maps().clients, client_entries_, now, client_label);
  if (!clients) return clients.error();
  for (const std::string& label : *clients) other_ += forget(clients_, label)[0];
  const auto servers = erase_silent(object_.maps().beacons, beacon_entries_, now, server_label);
  if (!servers) return servers.error();
  for (const std::string& label : *servers) forget(servers_, label);
  return {};
}

Result<void> CaUdp::observe() {
  client_entries_ = 0;
  beacon_entries_ = 0;
  auto read = object_.maps().clients.for_each([this](const auto& key, const auto& value) {
    ++client_entries_;
    const std::string client = ca_address_text(key.address);
    clients_.observe(client, client, {value.requests});
  });
  if (!read) return read;
  return object_.maps().beacons.for_each([this](const auto& key, const auto& value) {
    ++beacon_entries_;
    const std::string server = server_label(key);
    servers_.observe(server, server, {value.beacons});
  });
}

Result<std::vector<SearchedName>> CaUdp::most_searched() {
  const auto now = WallClock::read();
  const auto time_of_day = [&now](std::uint64_t ns) {
    return (static_cast<double>(now.realtime_ns - now.monotonic_ns) + static_cast<double>(ns)) /
           1e9;
  };
  std::vector<SearchedName> names;
  search_entries_ = 0;
  auto read = object_.maps().searches.for_each([&](const auto& key, const iocx_ca_search& search) {
    ++search_entries_;
    if (search.found == 0 && search.requests >= kLeastRequests)
      names.push_back({ca_address_text(key.client), kernel_text(key.name), search.requests,
                       time_of_day(search.first_ns), time_of_day(search.last_ns)});
  });
  if (!read) return read.error();
  std::ranges::sort(names, [](const SearchedName& a, const SearchedName& b) {
    return std::tie(b.requests, a.name, a.client) < std::tie(a.requests, b.name, b.client);
  });
  if (names.size() > kMostNames) names.resize(kMostNames);
  return names;
}

Result<void> CaUdp::add_counters(CaUdpReading& reading) const {
  auto counters = kernel::sum_per_cpu_counters(object_.maps().counters, IOCX_CA_UDP_DROPS);
  if (!counters) return std::move(counters).error();
  add_drops(reading.drops, kProbe, *counters, iocx_ca_udp_drop_labels);
  if (searches_) add_samples(reading, (*counters)[IOCX_CA_UDP_DROP_CLIENTS_FULL]);
  return {};
}

// `without_room`: requests of clients that the kernel's table had no room for.
void CaUdp::add_samples(CaUdpReading& reading, std::uint64_t without_room) const {
  for (const auto& [client, counts] : clients_.totals())
    reading.searches.push_back({client, counts[0]});
  if (other_ + without_room > 0) reading.searches.push_back({kOther, other_ + without_room});
  for (const auto& [server, counts] : servers_.totals())
    reading.beacons.push_back({server, counts[0]});
  reading.maps = {{"ca_search_clients", client_entries_, object_.maps().clients.capacity()},
                  {"ca_searches", search_entries_, object_.maps().searches.capacity()},
                  {"ca_beacons", beacon_entries_, object_.maps().beacons.capacity()}};
}

Result<CaUdpReading> CaUdp::collect() {
  CaUdpReading reading;
  if (searches_) {
    if (auto ok = observe(); !ok) return ok.error();
    auto names = most_searched();
    if (!names) return std::move(names).error();
    reading.names = std::move(*names);
  }
  if (auto ok = add_counters(reading); !ok) return ok.error();
  return reading;
}

}  // namespace ioc_exporter::puts

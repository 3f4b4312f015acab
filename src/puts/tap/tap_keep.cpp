// The part of CaTap that tells the next run what is open, and is told by the one before.
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "puts/tap/tap.h"

namespace ioc_exporter::ca {

Result<CaKeptCircuits> CaTap::open_circuits(const std::set<std::uint32_t>& without) const {
  // Before the circuits: one that uses the addresses and ports of another again since then has the
  // cookie of a socket that is gone.
  const auto sockets = read_all_connections();
  if (!sockets) return sockets.error();
  CaKeptCircuits all;
  std::unordered_map<std::uint64_t, std::size_t> places;
  auto read = object_.maps().flows.for_each([&](const auto& key, const iocx_ca_flow& flow) {
    const auto ioc = ioc_of(flow.circuit, flow.ioc);
    const auto socket = sockets->find(key);
    if (flow.ended || !ioc || without.contains(*ioc) || socket == sockets->end() ||
        socket->second == 0)
      return;
    places.emplace(flow.circuit, all.size());
    all.push_back({namespaces_.inode(key.net), socket->second, {key, {}, {}, {}}});
  });
  if (!read) return read.error();
  for (std::uint32_t slot = 0; slot < used_end_ && !places.empty(); ++slot) {
    const iocx_ca_channel& channel = object_.channels()[slot];
    const auto place = places.find(channel.circuit);
    if (!used_[slot] || place == places.end() ||
        __atomic_load_n(&channel.state, __ATOMIC_ACQUIRE) != IOCX_CA_SLOT_LIVE)
      continue;
    const CaPutLabels* const labels = totals_->puts.labels(slot, channel.channel);
    if (labels == nullptr || labels->pv.empty()) continue;
    CaSeedCircuit& circuit = all[place->second].circuit;
    circuit.user = labels->user;
    circuit.host = labels->host;
    circuit.channels.push_back(
        {channel.cid, channel.sid, labels->pv, channel.monitors, channel.access});
  }
  std::erase_if(all, [](const CaKeptCircuit& one) { return one.circuit.channels.empty(); });
  return all;
}

Result<std::uint64_t> CaTap::restore(CaKeptCircuits& before, const std::set<std::uint32_t>& without,
                                     Clock::time_point now) {
  struct Place {
    iocx_ca_flow_key key;
    std::uint32_t ioc;
  };
  const auto place_of = [this](const CaKeptCircuit& one) -> std::optional<Place> {
    const auto net = namespaces_.number(one.net_inode);
    if (!net) return std::nullopt;
    Place place{one.circuit.key, 0};
    place.key.net = *net;
    const auto server = find_server(place.key);
    if (server == servers_.end() || !is_ioc_number(server->second)) return std::nullopt;
    place.ioc = server->second;
    return place;
  };
  const auto found = std::partition(before.begin(), before.end(),
                                    [&](const CaKeptCircuit& one) { return !place_of(one); });
  if (found == before.end()) return std::uint64_t{0};
  const auto sockets = read_all_connections();
  if (!sockets) return sockets.error();
  std::map<std::uint32_t, CaSeed> seeds;
  for (auto one = found; one != before.end(); ++one) {
    const Place place = *place_of(*one);
    const auto socket = sockets->find(place.key);
    if (without.contains(place.ioc) || socket == sockets->end() || socket->second != one->cookie)
      continue;
    seeds[place.ioc].ioc = place.ioc;
    one->circuit.key = place.key;
    seeds[place.ioc].circuits.push_back(std::move(one->circuit));
  }
  before.erase(found, before.end());
  std::uint64_t named = 0;
  for (const auto& [ioc, its] : seeds) {
    const auto result = seed(its, now);
    if (!result) return result.error();
    named += result->channels_added + result->channels_named;
  }
  return named;
}

}  // namespace ioc_exporter::ca

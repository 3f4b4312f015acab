#include "puts/searches/udp_totals.h"

#include <algorithm>
#include <tuple>

#include "puts/tap/connections.h"
#include "puts/tap/tap_labels.h"

namespace ioc_exporter::ca {

CaUdpTotals::Counts CaUdpTotals::Entry::seen() const {
  Counts seen{};
  for (const auto& [net, counts] : by_net)
    for (std::size_t i = 0; i < seen.size(); ++i)
      seen[i] = apart ? seen[i] + counts[i] : std::max(seen[i], counts[i]);
  return seen;
}

void CaUdpTotals::observe(const std::string& label, bool apart, std::uint32_t net,
                          const Counts& counts) {
  Entry& entry = entries_[label];
  entry.apart = apart;
  entry.by_net[net] = counts;
  add_to(entry.total, entry.growth.advance(entry.seen()));
}

CaUdpTotals::Counts CaUdpTotals::remove_namespace(std::uint32_t net) {
  Counts left{};
  for (auto& [label, entry] : entries_) {
    if (entry.by_net.erase(net) == 0) continue;
    entry.growth.restart_at(entry.seen());
    if (entry.by_net.empty()) add_to(left, entry.total);
  }
  std::erase_if(entries_, [](const auto& entry) { return entry.second.by_net.empty(); });
  return left;
}

CaUdpTotals::Counts CaUdpTotals::forget(const std::string& label) {
  const auto found = entries_.find(label);
  if (found == entries_.end()) return {};
  const Counts counts = found->second.total;
  entries_.erase(found);
  return counts;
}

std::map<std::string, CaUdpTotals::Counts> CaUdpTotals::totals() const {
  std::map<std::string, Counts> all;
  for (const auto& [label, entry] : entries_) all.emplace(label, entry.total);
  return all;
}

void CaUdpNames::add(const iocx_ca_search_key& key, const iocx_ca_search& search) {
  Entry& entry = entries_[{ca_address_text(key.client), kernel_text(search.name)}];
  entry.apart = is_loopback(key.client);
  entry.requests[key.net] += search.requests;
  entry.first_ns = std::min<std::uint64_t>(entry.first_ns, search.first_ns);
  entry.last_ns = std::max<std::uint64_t>(entry.last_ns, search.last_ns);
}

std::vector<SearchedName> CaUdpNames::most(std::uint64_t least, std::size_t most,
                                           double boot_seconds) const {
  constexpr double kSecond = 1e9;
  std::vector<SearchedName> all;
  for (const auto& [who, entry] : entries_) {
    std::uint64_t requests = 0;
    for (const auto& [net, seen] : entry.requests)
      requests = entry.apart ? requests + seen : std::max(requests, seen);
    if (requests < least) continue;
    all.push_back({who.first, who.second, requests,
                   boot_seconds + static_cast<double>(entry.first_ns) / kSecond,
                   boot_seconds + static_cast<double>(entry.last_ns) / kSecond});
  }
  std::ranges::sort(all, [](const SearchedName& a, const SearchedName& b) {
    return std::tie(b.requests, a.name, a.client) < std::tie(a.requests, b.name, b.client);
  });
  if (all.size() > most) all.resize(most);
  return all;
}

}  // namespace ioc_exporter::ca

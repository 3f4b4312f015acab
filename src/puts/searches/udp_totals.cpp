#include "puts/searches/udp_totals.h"

#include <algorithm>

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

}  // namespace ioc_exporter::ca

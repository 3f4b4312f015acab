#include "ca/udp_totals.h"

#include <algorithm>

namespace ioc_exporter::ca {

CaUdpTotals::Counts CaUdpTotals::Entry::total() const {
  Counts seen{};
  for (const auto& [net, counts] : by_net)
    for (std::size_t i = 0; i < seen.size(); ++i)
      seen[i] = apart ? seen[i] + counts[i] : std::max(seen[i], counts[i]);
  for (std::size_t i = 0; i < seen.size(); ++i) seen[i] += carried[i];
  return seen;
}

void CaUdpTotals::observe(const std::string& label, bool apart, std::uint32_t net,
                          const Counts& counts) {
  Entry& entry = entries_[label];
  entry.apart = apart;
  entry.by_net[net] = counts;
}

CaUdpTotals::Counts CaUdpTotals::remove_namespace(std::uint32_t net) {
  Counts left{};
  for (auto at = entries_.begin(); at != entries_.end();) {
    Entry& entry = at->second;
    const Counts before = entry.total();
    if (entry.by_net.erase(net) == 0) {
      ++at;
      continue;
    }
    const Counts after = entry.total();
    if (entry.by_net.empty()) {
      for (std::size_t i = 0; i < left.size(); ++i) left[i] += before[i];
      at = entries_.erase(at);
      continue;
    }
    for (std::size_t i = 0; i < left.size(); ++i) entry.carried[i] += before[i] - after[i];
    ++at;
  }
  return left;
}

CaUdpTotals::Counts CaUdpTotals::forget(const std::string& label) {
  const auto found = entries_.find(label);
  if (found == entries_.end()) return {};
  const Counts counts = found->second.total();
  entries_.erase(found);
  return counts;
}

std::map<std::string, CaUdpTotals::Counts> CaUdpTotals::totals() const {
  std::map<std::string, Counts> all;
  for (const auto& [label, entry] : entries_) all.emplace(label, entry.total());
  return all;
}

}  // namespace ioc_exporter::ca

#include "puts/searches/udp_names.h"

#include <algorithm>
#include <tuple>

#include "puts/tap/connections.h"
#include "puts/tap/tap_labels.h"

namespace ioc_exporter::ca {

void CaUdpNames::add(const iocx_ca_search_key& key, const iocx_ca_search& search) {
  Entry& entry = entries_[{ca_address_text(key.client), kernel_text(search.name)}];
  entry.requests += search.requests;
  entry.first_ns = std::min<std::uint64_t>(entry.first_ns, search.first_ns);
  entry.last_ns = std::max<std::uint64_t>(entry.last_ns, search.last_ns);
}

std::vector<SearchedName> CaUdpNames::most(std::uint64_t least, std::size_t most,
                                           double boot_seconds) const {
  constexpr double kSecond = 1e9;
  std::vector<SearchedName> all;
  for (const auto& [who, entry] : entries_) {
    if (entry.requests < least) continue;
    all.push_back({who.first, who.second, entry.requests,
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

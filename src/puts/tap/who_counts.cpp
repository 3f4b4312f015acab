#include "puts/tap/who_counts.h"

#include <utility>

namespace ioc_exporter::ca {

WhoCounts::One WhoCounts::of(std::uint32_t ioc) const {
  const auto found = all_.find(ioc);
  return found == all_.end() ? One{} : found->second;
}

bool WhoCounts::results_by_packets(std::uint32_t ioc) const {
  const One one = of(ioc);
  return one.source == Source::packets || (one.source == Source::server && !one.results);
}

bool WhoCounts::is_settled(std::uint32_t ioc, std::uint64_t now_ns) const {
  const One one = of(ioc);
  return one.source != Source::packets &&
         now_ns >= one.packets.until_ns + static_cast<std::uint64_t>(kSettle.count());
}

void WhoCounts::begin(One& one, Source source) {
  const Source before = std::exchange(one.source, source);
  if (source == Source::nobody) return;
  const bool again = source == Source::packets && before == Source::nobody;
  if (one.last != Source::nobody && (one.last != source || again)) ++one.switches;
  one.last = source;
}

void WhoCounts::begin_packets(std::uint32_t ioc, std::uint64_t now_ns) {
  const auto [found, is_new] = all_.try_emplace(ioc);
  One& one = found->second;
  if (one.source != Source::packets) one.packets = {now_ns, UINT64_MAX};
  begin(one, Source::packets);
}

void WhoCounts::begin_nobody(std::uint32_t ioc, std::uint64_t now_ns) {
  const auto [found, is_new] = all_.try_emplace(ioc);
  One& one = found->second;
  if (one.source == Source::packets) one.packets.until_ns = is_new ? 0 : now_ns;
  one.was_probed = true;
  begin(one, Source::nobody);
}

void WhoCounts::begin_server(std::uint32_t ioc, bool results) {
  One& one = all_[ioc];
  one.results = results;
  begin(one, Source::server);
}

std::map<std::uint32_t, std::uint64_t> WhoCounts::switches() const {
  std::map<std::uint32_t, std::uint64_t> all;
  for (const auto& [ioc, one] : all_)
    if (one.was_probed) all.emplace(ioc, one.switches);
  return all;
}

}  // namespace ioc_exporter::ca

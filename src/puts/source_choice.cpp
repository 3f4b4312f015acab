#include "puts/source_choice.h"

#include <utility>

namespace ioc_exporter::puts {

SourceChoice::One SourceChoice::of(const ServerKey& server) const {
  const auto found = all_.find(server);
  return found == all_.end() ? One{} : found->second;
}

bool SourceChoice::results_by_packets(const ServerKey& server) const {
  const One one = of(server);
  return one.source == Source::packets || (one.source == Source::server && !one.results);
}

std::optional<std::uint64_t> SourceChoice::counted_since(const ServerKey& server) const {
  const One one = of(server);
  if (one.source == Source::nobody) return std::nullopt;
  return one.source == Source::server ? one.server_from_ns : one.packets.from_ns;
}

bool SourceChoice::is_settled(const ServerKey& server, std::uint64_t now_ns) const {
  const One one = of(server);
  return one.source != Source::packets &&
         now_ns >= one.packets.until_ns + static_cast<std::uint64_t>(kSettle.count());
}

void SourceChoice::begin(One& one, Source source) {
  const Source before = std::exchange(one.source, source);
  if (source == Source::nobody) return;
  const bool again = source == Source::packets && before == Source::nobody;
  if (one.last != Source::nobody && (one.last != source || again)) ++one.switches;
  one.last = source;
}

void SourceChoice::begin_packets(const ServerKey& server, std::uint64_t now_ns) {
  One& one = all_[server];
  if (one.source != Source::packets) one.packets = {now_ns, UINT64_MAX};
  begin(one, Source::packets);
}

void SourceChoice::begin_nobody(const ServerKey& server, std::uint64_t now_ns) {
  const auto [found, is_new] = all_.try_emplace(server);
  One& one = found->second;
  if (one.source == Source::packets) one.packets.until_ns = is_new ? 0 : now_ns;
  one.was_probed = true;
  begin(one, Source::nobody);
}

void SourceChoice::begin_server(const ServerKey& server, bool results, std::uint64_t now_ns) {
  One& one = all_[server];
  one.server_from_ns = now_ns;
  one.results = results;
  begin(one, Source::server);
}

std::map<ServerKey, std::uint64_t> SourceChoice::switches() const {
  std::map<ServerKey, std::uint64_t> all;
  for (const auto& [server, one] : all_)
    if (one.was_probed) all.emplace(server, one.switches);
  return all;
}

}  // namespace ioc_exporter::puts

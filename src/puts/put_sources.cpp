#include "puts/put_sources.h"

#include <algorithm>
#include <utility>

#include "shared/ca_servers.h"

namespace ioc_exporter::ca {

void CaPutSources::look() {
  for (auto& [ioc, source] : all_) {
    source.seen_before = source.seen_last;
    source.seen_last = source.seen;
  }
}

bool CaPutSources::is_server(std::uint32_t ioc, std::uint16_t port) const {
  const auto found = all_.find(ioc);
  if (found == all_.end() || !found->second.server) return false;
  return found->second.port == 0 || found->second.port == port;
}

void CaPutSources::saw_unnamed(std::uint32_t ioc, std::uint64_t in_all) {
  Source& source = all_[ioc];
  const std::uint64_t growth = in_all - std::exchange(source.unnamed, in_all);
  source.seen += growth;
  if (!source.server) source.switched.missing += growth;
}

bool CaPutSources::server_tells_results(std::uint32_t ioc, std::uint16_t port) const {
  return is_server(ioc, port) && all_.at(ioc).results;
}

CaPutSources::Counts CaPutSources::counts(std::uint32_t ioc, std::uint16_t port,
                                          std::uint64_t since_ns) const {
  if (const auto found = all_.find(ioc); found != all_.end() && found->second.expected)
    return Counts::nobody;
  if (!is_server(ioc, port)) return Counts::packets;
  const Source& source = all_.at(ioc);
  if (since_ns <= source.ran_ns) return Counts::server;
  return source.ended && !source.end_known ? Counts::nobody : Counts::not_known_yet;
}

CaPutSources::Counts CaPutSources::counts_results(std::uint32_t ioc, std::uint16_t port,
                                                  std::uint64_t since_ns) const {
  const auto found = all_.find(ioc);
  const bool expected = found != all_.end() && found->second.expected;
  return expected || server_tells_results(ioc, port) ? counts(ioc, port, since_ns)
                                                     : Counts::packets;
}

void CaPutSources::saw_process(std::uint32_t ioc, std::uint64_t at_ns) {
  std::uint64_t& ran_ns = all_[ioc].ran_ns;
  ran_ns = std::max(ran_ns, at_ns);
}

void CaPutSources::saw_processes(std::uint64_t at_ns, bool by_pva) {
  for (const auto& [ioc, source] : all_)
    if (source.server && (iocx_ca_is_pva(ioc) != 0) == by_pva) saw_process(ioc, at_ns);
}

void CaPutSources::process_ended(std::uint32_t ioc, std::uint64_t at_ns) {
  saw_process(ioc, at_ns);
  all_[ioc].ended = true;
  all_[ioc].end_known = at_ns != 0;
}

void CaPutSources::begin_switch(const UnreadByIoc& unread) {
  for (auto& [ioc, source] : all_) {
    source.at_begin = source.seen;
    source.unserved = 0;
    const auto found = unread.find(ioc);
    if (found == unread.end()) continue;
    const std::uint64_t recent = source.seen - source.seen_before;
    source.unserved =
        found->second.bytes / kSmallestPut + std::min(recent, kReadAhead * found->second.sockets);
  }
}

void CaPutSources::to_server(std::uint32_t ioc, bool results) {
  Source& source = all_[ioc];
  if (source.server) return;
  if (std::exchange(source.expected, false))
    source.packets_ns = UINT64_MAX;
  else
    source.switched.twice +=
        std::min(source.seen - source.at_switch, source.seen - source.at_begin + source.unserved);
  source.at_switch = source.seen;
  source.server = source.switches = true;
  source.ended = false;
  source.results = results;
}

void CaPutSources::expect_none(std::uint32_t ioc, std::uint64_t now_ns) {
  Source& source = all_[ioc];
  if (std::exchange(source.expected, false)) source.packets_ns = now_ns;
}

std::uint64_t CaPutSources::packets_since(std::uint32_t ioc) const {
  const auto found = all_.find(ioc);
  if (found == all_.end()) return 0;
  return found->second.expected ? UINT64_MAX : found->second.packets_ns;
}

void CaPutSources::leave_server(std::uint32_t ioc, std::uint64_t now_ns) {
  Source& source = all_[ioc];
  if (!source.server) return;
  source.server = false;
  source.packets_ns = std::min(source.packets_ns, now_ns);
  if (source.ended) return;  // requests that it has not served are no puts
  source.leaving = source.left = true;
  source.switched.missing += std::min(source.seen - source.at_switch, source.unserved);
  source.at_switch = source.seen;
}

void CaPutSources::end_switch() {
  for (auto& [ioc, source] : all_) {
    if (!source.leaving) continue;
    source.leaving = false;
    source.switched.twice += source.seen - source.at_switch;
  }
}

std::map<std::uint32_t, CaPutSources::Switched> CaPutSources::switched() const {
  std::map<std::uint32_t, Switched> all;
  for (const auto& [ioc, source] : all_)
    if (source.switches || source.switched.missing > 0) all.emplace(ioc, source.switched);
  return all;
}

}  // namespace ioc_exporter::ca

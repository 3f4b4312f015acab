// The part of CaTap that knows where puts go: which IOC's server a slot counts for, and whose word
// counts there.
#include <algorithm>

#include "base/wall_clock.h"
#include "puts/tap/tap.h"
#include "puts/tap/tap_labels.h"

namespace ioc_exporter::ca {

// Its IOC may turn out to be another one than was thought: what was seen before stays the first
// one's.
void CaTap::note_place(std::uint32_t slot, std::uint32_t ioc, const iocx_ca_channel_info& info) {
  if (slot >= placed_.size()) placed_.resize(slot + std::size_t{1});
  Placed& placed = placed_[slot];
  const iocx_ca_channel& channel = object_.channels()[slot];
  if (placed.channel != channel.channel) placed = {};
  placed.channel = channel.channel;
  placed.ioc = ioc;
  placed.server_port = info.server_port;
  placed.since_ns = info.since_ns;
}

// Notes the counts of the slot, and tells whose they are.
CaPutSources::Counts CaTap::note_counts(Placed& placed, const CaPuts& puts) {
  const CaPuts growth = placed.growth.advance(puts);
  sources_.saw(placed.ioc, growth[0] + growth[1]);
  const auto counts = sources_.counts(placed.ioc, placed.server_port, placed.since_ns);
  // Waiting puts are in no put log: the server was to tell them.
  if (counts == CaPutSources::Counts::packets)
    __atomic_fetch_add(&unlogged_, placed.waiting[0] + placed.waiting[1], __ATOMIC_RELAXED);
  add_to(placed.waiting, growth);
  if (counts == CaPutSources::Counts::not_known_yet) return counts;
  if (counts == CaPutSources::Counts::packets) add_to(placed.kept, placed.waiting);
  if (counts == CaPutSources::Counts::nobody)
    sources_.add_missing(placed.ioc, placed.waiting[0] + placed.waiting[1]);
  placed.waiting = {};
  return counts;
}

// Puts of the channel of which it is not known yet whose they are.
std::uint64_t CaTap::waiting_puts(std::uint32_t slot) const {
  if (slot >= placed_.size() || placed_[slot].channel != object_.channels()[slot].channel) return 0;
  return placed_[slot].waiting[0] + placed_[slot].waiting[1];
}

// The first look at a channel under its labels, after note_counts(). It may have waited for them,
// while the source of its IOC's puts changed.
void CaTap::open_slot(std::uint32_t slot, CaPutLabels labels, const CaPuts& puts,
                      std::uint64_t last_put) {
  const Placed& placed = placed_[slot];
  if (placed.kept != puts && placed.kept != CaPuts{})
    totals_->puts.add(labels, placed.kept, last_put & ~1ULL);
  totals_->puts.open(slot, placed.channel, std::move(labels));
  if (placed.kept == puts)
    totals_->puts.observe(slot, puts, last_put);
  else
    totals_->puts.pass_over(slot, puts);
}

Result<CaPutSources::UnreadByIoc> CaTap::read_unread() const {
  CaPutSources::UnreadByIoc unread;
  const auto note = [&](const InetSocket& socket, std::uint32_t net) {
    const auto server = find_server(ca_flow_key(socket, net));
    if (server == servers_.end() || !is_ioc_number(server->second)) return;
    CaPutSources::Unread& its = unread[server->second];
    its.bytes += socket.unread;
    ++its.sockets;
  };
  auto done = for_each_socket(SocketKind::connected, note);
  if (!done) return done.error();
  return unread;
}

Result<void> CaTap::begin_source_switch(Clock::time_point now) {
  if (auto ok = observe_flows(); !ok) return ok;
  if (auto ok = observe_channels(now); !ok) return ok;
  if (auto ok = observe_outcomes(); !ok) return ok;
  auto unread = read_unread();
  sources_.begin_switch(unread ? *unread : CaPutSources::UnreadByIoc());
  return unread ? Result<void>() : unread.error();
}

Result<void> CaTap::let_server_count(std::uint32_t ioc, bool results, Clock::time_point now) {
  auto seen = observe_flows();
  if (seen) seen = observe_channels(now);
  if (seen) seen = observe_outcomes();
  sources_.to_server(ioc, results);
  return seen;
}

void CaTap::process_ended(std::uint32_t ioc, std::uint64_t at_ns) {
  sources_.process_ended(ioc, at_ns);
  log_packets(ioc);
}

void CaTap::set_told_ports(std::set<std::uint16_t> ports) {
  told_ports_ = std::move(ports);
  object_.set_told_ports(told_ports_);
}

// Its puts by packets are in the put log from now on.
void CaTap::log_packets(std::uint32_t ioc) {
  told_ports_.erase(sources_.port(ioc));
  object_.set_told_ports(told_ports_);
}

Result<void> CaTap::leave_server(std::uint32_t ioc) {
  sources_.leave_server(ioc);
  log_packets(ioc);
  auto told = told_;
  std::erase_if(told, [ioc](const auto& server) { return server.first == ioc; });
  return set_told(std::move(told), {});
}

// Connections that began since may be to another process at that port.
Result<void> CaTap::set_told(CaToldServers servers, Clock::time_point seen) {
  const auto key_of = [](const auto& server) { return iocx_ca_told{server.first, server.second}; };
  for (const auto& server : told_)
    if (!servers.contains(server))
      if (auto erased = object_.maps().told.erase(key_of(server)); !erased) return erased.error();
  told_ = std::move(servers);
  for (const auto& server : told_)
    if (seen != Clock::time_point{})
      if (auto ok = object_.maps().told.update(key_of(server), kernel_ns(seen)); !ok) return ok;
  object_.told_changed();
  return {};
}

Result<void> CaTap::end_source_switch(Clock::time_point now) {
  auto seen = observe_flows();
  if (seen) seen = observe_channels(now);
  sources_.end_switch();
  return seen;
}

std::optional<CaPutIdentity> CaTap::identify(const iocx_putlog_event& event) const {
  const auto info = object_.maps().channel_info.lookup(event.id);
  if (!info || !*info) return std::nullopt;
  const auto ioc = ioc_of((*info)->circuit, (*info)->ioc);
  if (!ioc) return std::nullopt;
  return CaPutIdentity{put_labels(*ioc, **info),
                       put_place(*ioc, (*info)->client, (*info)->client_port, event.sid)};
}

// The server's address is this host's: that of a client on it, too, or one of the others.
std::string CaTap::server_of(const CaPutPlace& place, std::uint16_t port, std::uint32_t net) const {
  iocx_ca_flow_key key{};
  std::copy(place.address.begin(), place.address.end(), std::begin(key.client.bytes));
  key.client_port = place.port;
  key.server_port = port;
  key.net = net;
  const auto is_there = [&](const iocx_ca_address& server) {
    key.server = server;
    const auto flow = object_.maps().flows.lookup(key);
    return flow && *flow;
  };
  const auto text = [&] { return ca_address_text(key.server) + ":" + std::to_string(port); };
  if (is_there(key.client)) return text();
  const auto local = object_.maps().local_addresses.keys();
  if (!local) return {};
  for (const iocx_ca_local& address : *local)
    if (address.net == net && is_there(address.address)) return text();
  return {};
}

}  // namespace ioc_exporter::ca

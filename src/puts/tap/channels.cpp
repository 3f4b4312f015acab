#include "puts/tap/channels.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "puts/tap/tap_labels.h"

namespace ioc_exporter::puts {
namespace {

std::uint32_t state_of(const iocx_ca_channel& channel) {
  return __atomic_load_n(&channel.state, __ATOMIC_ACQUIRE);
}

}  // namespace

Result<void> Channels::observe() {
  const std::uint32_t before = std::exchange(used_end_, object_.max_channels());
  std::uint32_t slot = 0, found = 0;
  // When as many were found as are held the others are free.
  for (; slot < used_.size() && found < object_.caps().held(IOCX_CA_HELD_CHANNELS); ++slot) {
    used_[slot] = state_of(object_.channels()[slot]) != IOCX_CA_SLOT_FREE;
    if (!used_[slot]) continue;
    ++found;
    if (auto ok = observe_slot(slot); !ok) return ok;
  }
  used_end_ = slot;
  for (; slot < before; ++slot) used_[slot] = false;
  return {};
}

Result<void> Channels::observe_slot(std::uint32_t slot) {
  const auto& channel = object_.channels()[slot];
  const std::uint64_t id = __atomic_load_n(&channel.channel, __ATOMIC_RELAXED);
  const PutsByOp puts{__atomic_load_n(&channel.puts[0], __ATOMIC_RELAXED),
                      __atomic_load_n(&channel.puts[1], __ATOMIC_RELAXED)};
  const std::uint64_t last_put = __atomic_load_n(&channel.last_put, __ATOMIC_RELAXED);
  if (!puts_.is_open(slot, id)) {
    auto info = object_.maps().channel_info.lookup(id);
    if (!info) return std::move(info).error();
    if (!*info) {  // being made on another CPU: the next look finds it
      used_[slot] = false;
      return {};
    }
    const auto server = circuits_.server_of((*info)->circuit, (*info)->ioc);
    if (!server) return {};
    if (!circuits_.is_met((*info)->circuit)) return {};
    if ((*info)->name[0] != 0) circuits_.drop_kept_name((*info)->circuit, channel.sid);
    puts_.open(slot, id, labels_of(*server, **info, channel.sid));
  }
  if (puts_.is_current(slot, puts)) return {};
  if (by_packets(slot, id))
    puts_.observe(slot, puts, last_put);
  else
    puts_.pass_over(slot, puts);
  return {};
}

void Channels::add_open(OpenCounts& open) const {
  for (std::uint32_t slot = 0; slot < used_end_; ++slot) {
    if (!used_[slot]) continue;
    const iocx_ca_channel channel = object_.channels()[slot];
    if (channel.state == IOCX_CA_SLOT_LIVE) open.add_channel(channel);
  }
}

Result<void> Channels::relabel(const std::function<bool(std::uint64_t circuit)>& of) {
  for (std::uint32_t slot = 0; slot < used_end_; ++slot) {
    if (!used_[slot]) continue;
    const iocx_ca_channel& channel = object_.channels()[slot];
    const std::uint64_t id = __atomic_load_n(&channel.channel, __ATOMIC_RELAXED);
    if (!of(channel.circuit) || !puts_.is_open(slot, id)) continue;
    auto info = object_.maps().channel_info.lookup(id);
    if (!info) return std::move(info).error();
    const auto server = *info ? circuits_.server_of((*info)->circuit, (*info)->ioc) : std::nullopt;
    if (!server) continue;
    puts_.relabel(slot, labels_of(*server, **info, channel.sid));
  }
  return {};
}

std::vector<std::uint32_t> Channels::due(const Circuits::Seen& seen, Clock::time_point now) {
  std::set<std::uint32_t> gone, orphans;
  unnamed_.clear();
  std::uint64_t circuit = 0;  // the last one asked for: neighbours mostly share theirs
  bool alive = false;
  for (std::uint32_t slot = 0; slot < used_end_; ++slot) {
    if (!used_[slot]) continue;
    const auto& channel = object_.channels()[slot];
    const std::uint32_t state = state_of(channel);
    if (state != IOCX_CA_SLOT_ENDED) {
      if (channel.circuit != circuit) {
        circuit = channel.circuit;
        alive = seen.alive.contains(circuit);
      }
      if (alive && state != IOCX_CA_SLOT_LIVE) count_unnamed(slot);
      if (alive) continue;
    }
    (puts_.is_open(slot, channel.channel) ? gone : orphans).insert(slot);
  }
  auto due = gone_.due(gone, now, kGrace);
  std::ranges::copy(orphans_.due(orphans, now, kPatience), std::back_inserter(due));
  return due;
}

Result<void> Channels::free(std::uint32_t slot) {
  if (auto ok = observe_slot(slot); !ok) return ok;
  const iocx_ca_channel channel = object_.channels()[slot];
  const TapMaps& maps = object_.maps();
  auto info = maps.channel_info.lookup(channel.channel);
  if (!info) return std::move(info).error();
  if (!puts_.is_open(slot, channel.channel) && *info && circuits_.was_iocs((*info)->server_port))
    puts_lost_ += channel.puts[0] + channel.puts[1];
  if (channel.state != IOCX_CA_SLOT_SHARED) {
    // The server may not have confirmed the end, and used the SID again all the same.
    const iocx_ca_channel_key by_sid{channel.circuit, channel.sid, 0};
    auto found = maps.sids.lookup(by_sid);
    if (!found) return std::move(found).error();
    if (*found == slot)
      if (auto erased = maps.sids.erase(by_sid); !erased) return erased.error();
  }
  if (channel.state == IOCX_CA_SLOT_LIVE)  // lost with its circuit: the kernel left its key
    if (auto erased = maps.cids.erase({channel.circuit, channel.cid, 0}); !erased)
      return erased.error();
  if (auto erased = maps.channel_info.erase(channel.channel); !erased) return erased.error();
  puts_.close(slot);
  gone_.forget(slot);
  orphans_.forget(slot);
  used_[slot] = false;
  return object_.give_slot(slot, *info ? (*info)->holder : IOCX_HELD_ALL);
}

// Also of an IOC that was forgotten: what its channels still count is not lost from sight.
bool Channels::by_packets(std::uint32_t slot, std::uint64_t channel) const {
  const PutLabels* const labels = puts_.labels(slot, channel);
  return labels == nullptr || choice_.by_packets(labels->server());
}

PutLabels Channels::labels_of(const ServerKey& server, const iocx_ca_channel_info& info,
                              std::uint32_t sid) const {
  PutLabels labels = puts::labels_of(server, info);
  if (labels.pv.empty()) labels.pv = circuits_.kept_name(info.circuit, sid);
  const Circuits::Identity* const identity = circuits_.identity(info.circuit);
  if (identity == nullptr || !labels.user.empty() ||
      (!labels.host.empty() && server.protocol == Protocol::ca))
    return labels;
  labels.user = identity->user;
  labels.host = identity->host;
  return labels;
}

void Channels::count_unnamed(std::uint32_t slot) {
  const PutLabels* labels = puts_.labels(slot, object_.channels()[slot].channel);
  if (labels != nullptr && labels->protocol == Protocol::ca && labels->pv.empty() &&
      choice_.by_packets(labels->server()))
    ++unnamed_[labels->ioc];
}

std::optional<PutIdentity> Channels::identify(const iocx_putlog_event& event) const {
  const auto info = object_.maps().channel_info.lookup(event.id);
  if (!info || !*info) return std::nullopt;
  const auto server = circuits_.server_of((*info)->circuit, (*info)->ioc);
  if (!server || !circuits_.is_met((*info)->circuit)) return std::nullopt;
  return PutIdentity{labels_of(*server, **info, event.sid),
                     {server->ioc, event.sid, (*info)->client, (*info)->client_port}};
}

void Channels::for_each_named(
    const std::function<void(const iocx_ca_channel&, const PutLabels&)>& each) const {
  for (std::uint32_t slot = 0; slot < used_end_; ++slot) {
    const iocx_ca_channel& channel = object_.channels()[slot];
    const std::uint32_t state = state_of(channel);
    if (!used_[slot] || (state != IOCX_CA_SLOT_LIVE && state != IOCX_CA_SLOT_UNNAMED)) continue;
    const PutLabels* const labels = puts_.labels(slot, channel.channel);
    if (labels != nullptr && !labels->pv.empty()) each(channel, *labels);
  }
}

std::uint64_t Channels::count() const {
  return static_cast<std::uint64_t>(std::ranges::count(used_, true));
}

}  // namespace ioc_exporter::puts

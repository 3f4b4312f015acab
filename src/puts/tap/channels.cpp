#include "puts/tap/channels.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "puts/tap/tap_labels.h"

namespace ioc_exporter::ca {
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
  const CaPuts puts{__atomic_load_n(&channel.puts[0], __ATOMIC_RELAXED),
                    __atomic_load_n(&channel.puts[1], __ATOMIC_RELAXED)};
  const std::uint64_t last_put = __atomic_load_n(&channel.last_put, __ATOMIC_RELAXED);
  if (!puts_.is_open(slot, id)) {
    auto info = object_.maps().channel_info.lookup(id);
    if (!info) return std::move(info).error();
    if (!*info) {  // being made on another CPU: the next look finds it
      used_[slot] = false;
      return {};
    }
    const auto ioc = circuits_.ioc_of((*info)->circuit, (*info)->ioc);
    if (!ioc) return {};
    note_place(slot, *ioc, **info);
    if (note_counts(placed_[slot], puts) == CaPutSources::Counts::not_known_yet) return {};
    if (!circuits_.is_met((*info)->circuit)) return {};
    if ((*info)->name[0] != 0) circuits_.drop_kept_name((*info)->circuit, channel.sid);
    open_slot(slot, labels_of(*ioc, **info, channel.sid), puts, last_put);
    return {};
  }
  if (puts_.is_current(slot, puts)) return {};
  const auto counts = note_counts(placed_[slot], puts);
  if (counts == CaPutSources::Counts::packets)
    puts_.observe(slot, puts, last_put);
  else if (counts != CaPutSources::Counts::not_known_yet)
    puts_.pass_over(slot, puts);
  return {};
}

void Channels::add_open(CaOpenCounts& open) const {
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
    const auto ioc = *info ? circuits_.ioc_of((*info)->circuit, (*info)->ioc) : std::nullopt;
    if (!ioc) continue;
    note_place(slot, *ioc, **info);
    puts_.relabel(slot, labels_of(*ioc, **info, channel.sid));
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
    const bool waits = waiting_puts(slot) > 0 || !puts_.is_open(slot, channel.channel);
    (waits ? orphans : gone).insert(slot);
  }
  auto due = gone_.due(gone, now, kGrace);
  std::ranges::copy(orphans_.due(orphans, now, kPatience), std::back_inserter(due));
  return due;
}

Result<void> Channels::free(std::uint32_t slot) {
  if (auto ok = observe_slot(slot); !ok) return ok;
  const iocx_ca_channel channel = object_.channels()[slot];
  const CaTapMaps& maps = object_.maps();
  auto info = maps.channel_info.lookup(channel.channel);
  if (!info) return std::move(info).error();
  if (const std::uint64_t waiting = waiting_puts(slot); waiting > 0)
    sources_.add_missing(placed_[slot].ioc, waiting);
  else if (!puts_.is_open(slot, channel.channel))
    (*info && circuits_.was_iocs((*info)->server_port) ? puts_lost_ : puts_elsewhere_) +=
        channel.puts[0] + channel.puts[1];
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

// Its IOC may turn out to be another one than was thought: what was seen before stays the first
// one's.
void Channels::note_place(std::uint32_t slot, std::uint32_t ioc, const iocx_ca_channel_info& info) {
  if (slot >= placed_.size()) placed_.resize(slot + std::size_t{1});
  Placed& placed = placed_[slot];
  const std::uint64_t channel = object_.channels()[slot].channel;
  if (placed.channel != channel) placed = {};
  placed.channel = channel;
  placed.ioc = ioc;
  placed.server_port = info.server_port;
  placed.since_ns = info.since_ns;
}

// Notes the counts of the slot, and tells whose they are.
CaPutSources::Counts Channels::note_counts(Placed& placed, const CaPuts& puts) {
  const CaPuts growth = placed.growth.advance(puts);
  sources_.saw(placed.ioc, growth[0] + growth[1]);
  const auto counts = sources_.counts(placed.ioc, placed.server_port, placed.since_ns);
  // What waited is in no put log: the server was to tell it.
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
std::uint64_t Channels::waiting_puts(std::uint32_t slot) const {
  if (slot >= placed_.size() || placed_[slot].channel != object_.channels()[slot].channel) return 0;
  return placed_[slot].waiting[0] + placed_[slot].waiting[1];
}

CaPutSources::Counts Channels::counts_results(std::uint32_t slot) const {
  const Placed& placed = placed_[slot];
  return sources_.counts_results(placed.ioc, placed.server_port, placed.since_ns);
}

// The first look at a channel under its labels, after note_counts(). It may have waited for them,
// while the source of its IOC's puts changed.
void Channels::open_slot(std::uint32_t slot, CaPutLabels labels, const CaPuts& puts,
                         std::uint64_t last_put) {
  const Placed& placed = placed_[slot];
  if (placed.kept != puts && placed.kept != CaPuts{})
    puts_.add(labels, placed.kept, last_put & ~1ULL);
  puts_.open(slot, placed.channel, std::move(labels));
  if (placed.kept == puts)
    puts_.observe(slot, puts, last_put);
  else
    puts_.pass_over(slot, puts);
}

CaPutLabels Channels::labels_of(std::uint32_t ioc, const iocx_ca_channel_info& info,
                                std::uint32_t sid) const {
  CaPutLabels labels = ca::labels_of(ioc, info);
  if (labels.pv.empty()) labels.pv = circuits_.kept_name(info.circuit, sid);
  const Circuits::Identity* const identity = circuits_.identity(info.circuit);
  if (identity == nullptr || !labels.user.empty() || (!labels.host.empty() && !is_pva(ioc)))
    return labels;
  labels.user = identity->user;
  labels.host = identity->host;
  return labels;
}

void Channels::count_unnamed(std::uint32_t slot) {
  const CaPutLabels* labels = puts_.labels(slot, object_.channels()[slot].channel);
  if (labels != nullptr && labels->pv.empty()) ++unnamed_[labels->ioc];
}

std::optional<CaPutIdentity> Channels::identify(const iocx_putlog_event& event) const {
  const auto info = object_.maps().channel_info.lookup(event.id);
  if (!info || !*info) return std::nullopt;
  const auto ioc = circuits_.ioc_of((*info)->circuit, (*info)->ioc);
  if (!ioc || !circuits_.is_met((*info)->circuit)) return std::nullopt;
  return CaPutIdentity{labels_of(*ioc, **info, event.sid),
                       {*ioc, event.sid, (*info)->client, (*info)->client_port}};
}

void Channels::for_each_named(
    const std::function<void(const iocx_ca_channel&, const CaPutLabels&)>& each) const {
  for (std::uint32_t slot = 0; slot < used_end_; ++slot) {
    const iocx_ca_channel& channel = object_.channels()[slot];
    const std::uint32_t state = state_of(channel);
    if (!used_[slot] || (state != IOCX_CA_SLOT_LIVE && state != IOCX_CA_SLOT_UNNAMED)) continue;
    const CaPutLabels* const labels = puts_.labels(slot, channel.channel);
    if (labels != nullptr && !labels->pv.empty()) each(channel, *labels);
  }
}

std::uint64_t Channels::count() const {
  return static_cast<std::uint64_t>(std::ranges::count(used_, true));
}

}  // namespace ioc_exporter::ca

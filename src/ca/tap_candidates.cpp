// The part of CaTap that looks at circuits of listeners that may or may not be CA servers.
#include <functional>

#include "ca/tap.h"
#include "ca/tap_labels.h"

namespace ioc_exporter::ca {
namespace {

bool is_named(const iocx_ca_channel& channel) {
  const auto state = __atomic_load_n(&channel.state, __ATOMIC_ACQUIRE);
  return state == IOCX_CA_SLOT_LIVE || state == IOCX_CA_SLOT_ENDED;
}

std::size_t likeness_of(const iocx_ca_channel_info& info) {
  constexpr char kEnd = 0;
  const std::string all = kernel_text(info.name) + kEnd + kernel_text(info.identity.user) + kEnd +
                          kernel_text(info.identity.host);
  return std::hash<std::string>()(all);
}

}  // namespace

bool CaTap::is_candidate(const iocx_ca_flow_key& key) const {
  const auto server = find_server(key);
  return server != servers_.end() && server->second == kCaCandidate;
}

CaRelayCircuit CaTap::relay_circuit(const iocx_ca_flow_key& key, const iocx_ca_flow& flow) const {
  return {flow.circuit,
          is_candidate(key),
          flow.joined != 0,
          flow.channels > 0 || flow.ended,
          flow.ended != 0,
          flow.since_ns,
          {flow.counts[IOCX_CA_COUNT_RECEIVED], flow.counts[IOCX_CA_COUNT_SENT]}};
}

// A circuit that is passed on to another server tells nothing of the listener that it came to.
void CaTap::look_at_candidates(const std::vector<CaRelayCircuit>& circuits,
                               const std::vector<std::pair<iocx_ca_flow_key, iocx_ca_flow>>& of) {
  std::optional<ChannelIndex> index;
  relays_.look(circuits, [&](std::uint64_t circuit) {
    if (!index) index = index_channels();
    return with_same_channel(*index, circuit);
  });
  forget_likenesses(index ? &*index : nullptr, of.empty());
  candidates_.begin_look();
  for (const auto& [key, flow] : of)
    candidates_.see(find_server(key)->first, flow, relays_.may_be_relay(flow.circuit));
  candidates_.end_look();
}

// Twice over: a server answers before what passes the answer on, so that by the second time its
// channel is there.
CaTap::ChannelIndex CaTap::index_channels() const {
  ChannelIndex index;
  for (std::uint32_t slot = 0; slot < object_.max_channels(); ++slot) {
    const iocx_ca_channel& channel = object_.channels()[slot];
    if (!is_named(channel)) continue;
    const auto [first, is_new] = index.first.try_emplace(channel.circuit, slot);
    if (!is_new && channel.channel < object_.channels()[first->second].channel)
      first->second = slot;
  }
  for (std::uint32_t slot = 0; slot < object_.max_channels(); ++slot) {
    const iocx_ca_channel& channel = object_.channels()[slot];
    if (is_named(channel)) index.by_ids[{channel.sid, channel.cid}].push_back(slot);
  }
  return index;
}

// Other circuits that have a channel like the first of this one.
std::vector<std::uint64_t> CaTap::with_same_channel(const ChannelIndex& index,
                                                    std::uint64_t circuit) {
  std::vector<std::uint64_t> found;
  const auto first = index.first.find(circuit);
  if (first == index.first.end()) return found;
  const iocx_ca_channel& own = object_.channels()[first->second];
  const auto own_likeness = likeness(own.channel);
  const auto like = index.by_ids.find({own.sid, own.cid});
  if (!own_likeness || like == index.by_ids.end()) return found;
  for (const std::uint32_t slot : like->second) {
    const iocx_ca_channel& channel = object_.channels()[slot];
    if (channel.circuit != circuit && likeness(channel.channel) == own_likeness)
      found.push_back(channel.circuit);
  }
  return found;
}

// A hash of its name and its client's. Asked of the kernel once, so that whoever makes thousands of
// channels that look alike takes no time but for their making.
std::optional<std::size_t> CaTap::likeness(std::uint64_t channel) {
  if (const auto known = likenesses_.find(channel); known != likenesses_.end())
    return known->second;
  const auto info = object_.maps().channel_info.lookup(channel);
  if (!info || !*info) return std::nullopt;
  return likenesses_.emplace(channel, likeness_of(**info)).first->second;
}

// Of channels that are gone; of all when there is nothing to compare.
void CaTap::forget_likenesses(const ChannelIndex* index, bool all) {
  if (all) likenesses_.clear();
  if (index == nullptr || likenesses_.empty()) return;
  std::unordered_map<std::uint64_t, std::size_t> kept;
  for (const auto& [ids, slots] : index->by_ids)
    for (const std::uint32_t slot : slots)
      if (auto known = likenesses_.extract(object_.channels()[slot].channel))
        kept.insert(std::move(known));
  likenesses_ = std::move(kept);
}

}  // namespace ioc_exporter::ca

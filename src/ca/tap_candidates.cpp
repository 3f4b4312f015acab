// The part of CaTap that looks at circuits of listeners that may or may not be CA servers.
#include "ca/tap.h"
#include "ca/tap_labels.h"

namespace ioc_exporter::ca {
namespace {

// Channels of the same CID and SID that are looked at: whoever makes thousands takes no time.
constexpr std::size_t kMostAlike = 64;

bool is_named(const iocx_ca_channel& channel) {
  const auto state = __atomic_load_n(&channel.state, __ATOMIC_ACQUIRE);
  return state == IOCX_CA_SLOT_LIVE || state == IOCX_CA_SLOT_ENDED;
}

bool same_channel(const iocx_ca_channel_info& a, const iocx_ca_channel_info& b) {
  return kernel_text(a.name) == kernel_text(b.name) &&
         kernel_text(a.identity.user) == kernel_text(b.identity.user) &&
         kernel_text(a.identity.host) == kernel_text(b.identity.host);
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
  const auto info_of = [this](const iocx_ca_channel& channel) {
    auto info = object_.maps().channel_info.lookup(channel.channel);
    return info ? *info : std::nullopt;
  };
  std::vector<std::uint64_t> found;
  const auto first = index.first.find(circuit);
  if (first == index.first.end()) return found;
  const iocx_ca_channel& own = object_.channels()[first->second];
  const auto own_info = info_of(own);
  const auto like = index.by_ids.find({own.sid, own.cid});
  if (!own_info || like == index.by_ids.end()) return found;
  std::size_t looked = 0;
  for (const std::uint32_t slot : like->second) {
    const iocx_ca_channel& channel = object_.channels()[slot];
    if (channel.circuit == circuit) continue;
    if (++looked > kMostAlike) break;
    if (const auto info = info_of(channel); info && same_channel(*info, *own_info))
      found.push_back(channel.circuit);
  }
  return found;
}

}  // namespace ioc_exporter::ca

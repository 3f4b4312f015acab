#include "ca/relays.h"

#include <algorithm>
#include <utility>

namespace ioc_exporter::ca {
namespace {

std::uint64_t distance(std::uint64_t a, std::uint64_t b) {
  return a > b ? a - b : b - a;
}

}  // namespace

void CaRelays::look(const std::vector<CaRelayCircuit>& circuits, const SameChannel& same_channel) {
  const bool any = std::ranges::any_of(circuits, &CaRelayCircuit::candidate);
  if (!any) {
    relays_.clear();
    before_.clear();
    return;
  }
  Circuits all;
  for (const CaRelayCircuit& one : circuits) all.emplace(one.circuit, one);
  std::erase_if(relays_, [&all](const auto& entry) {
    const auto there = all.find(entry.first);
    return there == all.end() || !there->second.candidate;
  });
  std::size_t pairs = 0;
  for (const auto& [circuit, relay] : relays_) pairs += relay.pairs.size();
  for (const CaRelayCircuit& one : circuits) {
    if (!one.candidate) continue;
    Relay& relay = relays_[one.circuit];
    if (!relay.judged) {
      const std::size_t left = pairs < kMostPairsInAll ? kMostPairsInAll - pairs : 0;
      find_pairs(one, all, same_channel, std::min(kMostPairs, left), relay);
      pairs += relay.pairs.size();
    } else if (!relay.closed) {
      std::erase_if(relay.pairs, [&](Pair& pair) { return !holds(one, all, pair); });
      relay.closed = one.ended;
    }
  }
  before_ = std::move(all);
}

bool CaRelays::may_be_relay(std::uint64_t circuit) const {
  const auto relay = relays_.find(circuit);
  return relay != relays_.end() && (!relay->second.judged || !relay->second.pairs.empty());
}

// Before it has a channel there is nothing to compare, and nothing to count.
void CaRelays::find_pairs(const CaRelayCircuit& circuit, const Circuits& all,
                          const SameChannel& same_channel, std::size_t room, Relay& relay) const {
  if (circuit.joined) {
    relay.judged = true;
    // Its channels are not known. By what goes by from now on.
    for (const auto& [id, other] : all) {
      if (relay.pairs.size() == room) break;
      if (!other.candidate) relay.pairs.push_back({id});
    }
    return;
  }
  relay.judged = circuit.channels;
  if (!circuit.channels) return;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> by_distance;
  for (const std::uint64_t id : same_channel(circuit.circuit)) {
    const auto other = all.find(id);
    if (other == all.end() || id == circuit.circuit) continue;
    // Of two whose servers are not known, the later one is the server's.
    if (!other->second.candidate || other->second.since_ns > circuit.since_ns)
      by_distance.emplace_back(distance(other->second.since_ns, circuit.since_ns), id);
  }
  const std::size_t some = std::min(room, by_distance.size());
  std::ranges::nth_element(by_distance, by_distance.begin() + static_cast<std::ptrdiff_t>(some));
  for (std::size_t i = 0; i < some; ++i) relay.pairs.push_back({by_distance[i].second});
}

// Whether `pair.server` may still be where the circuit is passed on to.
bool CaRelays::holds(const CaRelayCircuit& circuit, const Circuits& all, Pair& pair) const {
  const auto other = all.find(pair.server);
  const auto own_before = before_.find(circuit.circuit), before = before_.find(pair.server);
  // The server's has ended: so does this one.
  if (other == all.end() || before == before_.end() || own_before == before_.end())
    return pair.sure && ++pair.misses <= kMissesOnceSure;
  bool fits = true, moved = false;
  for (std::size_t i = 0; i < circuit.bytes.size(); ++i) {
    const std::uint64_t a = circuit.bytes[i], a_before = own_before->second.bytes[i];
    const std::uint64_t b = other->second.bytes[i], b_before = before->second.bytes[i];
    moved = moved || a != a_before;
    if (circuit.joined) {
      // What went by before is not known.
      const std::uint64_t more = a - a_before, theirs = b - b_before;
      fits = fits && distance(more, theirs) <= std::max(more, theirs) / 2;
    } else {
      fits = fits && a_before <= b && b_before <= a;
    }
  }
  pair.sure = pair.sure || (fits && moved);
  pair.misses = fits ? 0 : pair.misses + 1;
  return pair.misses < (pair.sure ? kMissesOnceSure : kMisses);
}

}  // namespace ioc_exporter::ca

// The part of CaTap that tells the ledger what it sees, and takes back what the server does not
// tell.
#include <algorithm>
#include <unordered_map>

#include "base/wall_clock.h"
#include "ca/tap.h"
#include "ca/tap_labels.h"

namespace ioc_exporter::ca {
namespace {

CaPutLedger::Clock::time_point when(std::uint64_t monotonic_ns) {
  return CaPutLedger::Clock::time_point(std::chrono::nanoseconds(monotonic_ns));
}

}  // namespace

// Its IOC may turn out to be another one than was thought: what the ledger was told stays.
void CaTap::note_place(std::uint32_t slot, std::uint32_t ioc, const iocx_ca_channel_info& info) {
  if (ledger_ == nullptr) return;
  if (slot >= told_.size()) told_.resize(slot + std::size_t{1});
  Told& told = told_[slot];
  const iocx_ca_channel& channel = object_.channels()[slot];
  if (told.channel != channel.channel) told.growth = {}, told.refused = {};
  told.channel = channel.channel;
  if (const auto before = slot_at_.find(told.place);
      before != slot_at_.end() && before->second == slot)
    slot_at_.erase(before);
  told.place = put_place(ioc, info.client, info.client_port, channel.sid);
  slot_at_[told.place] = slot;
  told.server_port = info.server_port;
}

// Whether the tap's count of the slot is shown.
bool CaTap::tell(std::uint32_t slot, const CaPuts& puts, bool held, Clock::time_point now) {
  if (ledger_ == nullptr || slot >= told_.size()) return true;
  Told& told = told_[slot];
  const CaPuts growth = told.growth.advance(puts);
  if (!ledger_->is_witnessed(told.place.ioc, told.server_port)) return true;
  ledger_->tap_saw(told.place, growth, totals_.labels(slot, told.channel), held && puts != CaPuts{},
                   now);
  return ledger_->tap_counts(told.place);
}

Result<void> CaTap::tell_ledger(Clock::time_point now) {
  if (auto ok = observe_channels(now); !ok) return ok;
  return tell_refused(now);
}

Result<void> CaTap::tell_refused(Clock::time_point now) {
  if (ledger_ == nullptr) return {};
  return object_.maps().failures.for_each([&](const auto& key, const iocx_ca_failure& failure) {
    if (key.status != IOCX_CA_TOO_LARGE || failure.slot >= told_.size()) return;
    Told& told = told_[failure.slot];
    if (told.channel != key.channel) return;
    const auto growth = told.refused.advance({failure.count});
    if (ledger_->is_witnessed(told.place.ioc, told.server_port))
      ledger_->server_refused(told.place, growth[0], now);
  });
}

Result<CaTap::SeenBefore> CaTap::seen_before(std::uint32_t ioc, Clock::time_point now) {
  SeenBefore before;
  if (auto ok = observe_channels(now); !ok) return ok.error();
  for (std::uint32_t slot = 0; slot < told_.size(); ++slot) {
    const iocx_ca_channel& channel = object_.channels()[slot];
    const Told& told = told_[slot];
    if (!used_[slot] || told.channel != channel.channel || told.place.ioc != ioc) continue;
    if (told.growth.last() == CaPuts{}) continue;
    const std::uint64_t last = __atomic_load_n(&channel.last_put, __ATOMIC_RELAXED);
    before.channels.push_back({told.place, held_.contains(slot) ? now : when(last)});
  }
  auto read =
      object_.maps().flows.for_each([&](const iocx_ca_flow_key& key, const iocx_ca_flow& flow) {
        if (ioc_of(flow.circuit, flow.ioc) == ioc)
          before.connections.push_back(put_place(ioc, key.client, key.client_port, 0));
      });
  if (!read) return read.error();
  return before;
}

void CaTap::take_over(const std::vector<CaPutLedger::Owed>& owed) {
  if (owed.empty()) return;
  std::unordered_map<CaPutPlace, std::uint32_t, CaPutPlaceHash> slots;
  for (std::uint32_t slot = 0; slot < told_.size(); ++slot)
    if (totals_.is_open(slot, told_[slot].channel)) slots.emplace(told_[slot].place, slot);
  const std::uint64_t now = clock_ns(CLOCK_MONOTONIC);
  for (const CaPutLedger::Owed& one : owed) {
    CaPutLabels labels{one.place.ioc, "", one.who.client, one.who.user, one.who.host};
    if (const auto slot = slots.find(one.place); slot != slots.end())
      if (const auto* known = totals_.labels(slot->second, told_[slot->second].channel))
        labels = *known;
    totals_.add(labels, one.puts, now);
  }
}

std::string CaTap::name_of(const CaPutPlace& place) const {
  const auto found = slot_at_.find(place);
  if (found == slot_at_.end()) return {};
  const Told& told = told_[found->second];
  const CaPutLabels* const labels = totals_.labels(found->second, told.channel);
  return labels == nullptr ? "" : labels->pv;
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

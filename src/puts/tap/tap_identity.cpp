// The part of CaTap that knows the labels of a channel: seed() gives those of circuits that were
// open before the tap, perhaps after their first puts.
#include "puts/tap/tap.h"

#include "puts/tap/tap_labels.h"

namespace ioc_exporter::ca {

// Counts that were shown keep their labels.
Result<void> CaTap::relabel_circuits(const std::set<std::uint64_t>& circuits) {
  for (std::uint32_t slot = 0; slot < used_end_; ++slot) {
    if (!used_[slot]) continue;
    const iocx_ca_channel& element = object_.channels()[slot];
    if (!circuits.contains(element.circuit) || !totals_->puts.is_open(slot, element.channel))
      continue;
    auto info = object_.maps().channel_info.lookup(element.channel);
    if (!info) return std::move(info).error();
    const auto ioc = *info ? ioc_of((*info)->circuit, (*info)->ioc) : std::nullopt;
    if (ioc) totals_->puts.relabel(slot, put_labels(*ioc, **info));
  }
  return {};
}

CaPutLabels CaTap::put_labels(std::uint32_t ioc, const iocx_ca_channel_info& info) const {
  CaPutLabels labels = labels_of(ioc, info);
  const auto identity = identities_.find(info.circuit);
  if (identity == identities_.end() || !labels.user.empty() || !labels.host.empty()) return labels;
  labels.user = identity->second.user;
  labels.host = identity->second.host;
  return labels;
}

// rsrv has one table of SIDs for all circuits and does not ask whose channel it is that a WRITE
// names (write_action(), in all versions): the name is that of the other circuit's channel, the
// client is the sender.
Result<CaPutLabels> CaTap::labels_by_sid(std::uint32_t slot, CaPutLabels labels) {
  const iocx_ca_channel& element = object_.channels()[slot];
  if (!labels.pv.empty() || element.state == IOCX_CA_SLOT_SHARED) return labels;
  if (auto ok = learn_names(); !ok) return std::move(ok).error();
  const auto found = names_->find({labels.ioc, element.sid});
  if (found != names_->end() && !found->second.shared && found->second.circuit != element.circuit)
    labels.pv = found->second.name;
  return labels;
}

Result<void> CaTap::learn_names() {
  if (names_) return {};
  names_.emplace();
  for (std::uint32_t slot = 0; slot < object_.max_channels(); ++slot) {
    const iocx_ca_channel& element = object_.channels()[slot];
    const std::uint32_t state = __atomic_load_n(&element.state, __ATOMIC_ACQUIRE);
    if (state != IOCX_CA_SLOT_LIVE && state != IOCX_CA_SLOT_ENDED) continue;
    auto info = object_.maps().channel_info.lookup(element.channel);
    if (!info) return std::move(info).error();
    if (!*info || (*info)->name[0] == 0) continue;
    const auto ioc = ioc_of((*info)->circuit, (*info)->ioc);
    if (!ioc) continue;
    Named& known = (*names_)[{*ioc, element.sid}];
    const bool open = state == IOCX_CA_SLOT_LIVE;
    known.shared = known.shared || (open && known.open);
    if (!known.name.empty() && !open) continue;
    known.circuit = element.circuit;
    known.open = open;
    known.name = kernel_text((*info)->name);
  }
  return {};
}

// Whether the channel's name, or its client's, may still become known: then its counts are kept
// back for a while, since counts that were shown keep their labels.
Result<bool> CaTap::waits_for_seed(std::uint32_t slot, std::uint32_t ioc,
                                   const iocx_ca_channel_info& info, Clock::time_point now) {
  const iocx_ca_channel& element = object_.channels()[slot];
  if (__atomic_load_n(&element.state, __ATOMIC_ACQUIRE) == IOCX_CA_SLOT_SHARED) return false;
  // Its memory is not read while it is stopped or traced.
  if (sources_.was_left(ioc)) return false;
  const bool anonymous = info.identity.user[0] == 0 && info.identity.host[0] == 0 &&
                         !identities_.contains(info.circuit);
  if (info.name[0] != 0 && !anonymous) return false;
  auto joined = is_joined(info.circuit);
  if (!joined) return joined;
  // A channel that was written to before the server's answer gets its name by that answer.
  const bool guessed = element.state == IOCX_CA_SLOT_UNNAMED && element.cid == IOCX_CA_GUESSED;
  if (!*joined && (info.name[0] != 0 || !guessed)) return false;
  const auto [held, is_new] = held_.try_emplace(slot, Held{element.channel, ioc, now});
  if (held->second.channel != element.channel) held->second = {element.channel, ioc, now};
  if (now - held->second.since < kSeedPatience) return true;
  held_.erase(held);
  return false;
}

void CaTap::count_unnamed(std::uint32_t slot) {
  const CaPutLabels* labels = totals_->puts.labels(slot, object_.channels()[slot].channel);
  const auto held = held_.find(slot);
  if (labels != nullptr)
    ++unnamed_[labels->ioc];
  else if (held != held_.end())
    ++unnamed_[held->second.ioc];
}

Result<bool> CaTap::is_joined(std::uint64_t circuit) {
  if (!joined_.contains(circuit)) {
    auto read = object_.maps().flows.for_each(
        [this](const iocx_ca_flow_key&, const iocx_ca_flow& flow) { note_circuit(flow); });
    if (!read) return read.error();
  }
  const auto found = joined_.find(circuit);
  return found != joined_.end() && found->second;
}

void CaTap::note_circuit(const iocx_ca_flow& flow) {
  joined_.insert_or_assign(flow.circuit, flow.joined != 0);
}

}  // namespace ioc_exporter::ca

// The part of CaTap that takes over what was open before it.
//
// The kernel goes on meanwhile: each step is one that it can lose or win. A channel is there when
// its SID is in ca_sids, and only the inserter of that key has made it.
#include "puts/tap/tap.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/wall_clock.h"

namespace ioc_exporter::ca {
namespace {

template <std::size_t N>
void set_text(char (&to)[N], const std::string& text) {
  std::fill(to, to + N, '\0');
  std::copy_n(text.begin(), std::min(text.size(), N - 1), to);
}

std::uint32_t state_of(const iocx_ca_channel& channel) {
  return __atomic_load_n(&channel.state, __ATOMIC_ACQUIRE);
}

}  // namespace

Result<CaSeedResult> CaTap::seed(const CaSeed& seed, Clock::time_point now) {
  CaSeedResult result;
  if (auto ok = observe_channels(now); !ok) return ok.error();
  std::set<std::uint64_t> completed;
  for (const CaSeedCircuit& circuit : seed.circuits) {
    auto id = seed_circuit(seed.ioc, circuit, result);
    if (!id) return std::move(id).error();
    if (!*id) continue;
    completed.insert(**id);
    iocx_ca_channel_info info{};
    info.circuit = **id;
    info.client = circuit.key.client;
    info.ioc = seed.ioc;
    info.client_port = circuit.key.client_port;
    info.server_port = circuit.key.server_port;
    info.address = iocx_ca_share_of_address(&info.client);
    set_text(info.identity.user, circuit.user);
    set_text(info.identity.host, circuit.host);
    for (const CaSeedChannel& channel : circuit.channels) {
      set_text(info.name, channel.name);
      auto outcome = seed_channel(info, channel);
      if (!outcome) return std::move(outcome).error();
      switch (*outcome) {
        case SeedOutcome::added:
          ++result.channels_added;
          break;
        case SeedOutcome::named:
          ++result.channels_named;
          break;
        case SeedOutcome::known:
          ++result.channels_known;
          break;
        case SeedOutcome::ended:
          ++result.channels_ended;
          break;
        case SeedOutcome::no_room:
          ++result.channels_no_room;
          break;
      }
    }
  }
  if (auto ok = relabel_circuits(completed); !ok) return ok.error();
  return result;
}

// The circuit's id; nothing when it is to be passed over.
Result<std::optional<std::uint64_t>> CaTap::seed_circuit(std::uint32_t ioc,
                                                         const CaSeedCircuit& circuit,
                                                         CaSeedResult& result) {
  const std::optional<std::uint64_t> passed_over;
  // A second time where another CPU has met the circuit's first packet in between.
  for (int attempt = 0; attempt < 2; ++attempt) {
    auto flow = object_.maps().flows.lookup(circuit.key);
    if (!flow) return std::move(flow).error();
    if (!*flow) {
      auto added = add_circuit(ioc, circuit);
      if (!added) {
        if (!is_full(added.error())) return std::move(added).error();
        ++result.circuits_no_room;
        return passed_over;
      }
      if (!*added) continue;
      ++result.circuits_added;
      return added;
    }
    if ((*flow)->ended) {
      ++result.circuits_ended;
      return passed_over;
    }
    if (!(*flow)->joined) {
      ++result.circuits_followed;
      return passed_over;
    }
    // The kernel's copy is the kernel's to write: what it lacks is kept here.
    if ((*flow)->said.user[0] == 0 && (*flow)->said.host[0] == 0)
      identities_.insert_or_assign((*flow)->circuit, Identity{circuit.user, circuit.host});
    ++result.circuits_completed;
    return std::optional<std::uint64_t>((*flow)->circuit);
  }
  ++result.circuits_ended;
  return passed_over;
}

// Its id; nothing when it has come into being meanwhile.
Result<std::optional<std::uint64_t>> CaTap::add_circuit(std::uint32_t ioc,
                                                        const CaSeedCircuit& circuit) {
  iocx_ca_flow flow{};
  flow.circuit = new_id();
  flow.lock = static_cast<std::uint32_t>(flow.circuit);
  flow.ioc = ioc;
  flow.unnamed_slot = IOCX_CA_NO_SLOT;
  flow.joined = 1;
  flow.since_ns = clock_ns(CLOCK_MONOTONIC);
  flow.channels = static_cast<std::int32_t>(circuit.channels.size());
  flow.address = iocx_ca_share_of_address(&circuit.key.client);
  set_text(flow.said.user, circuit.user);
  set_text(flow.said.host, circuit.host);
  if (!object_.take_share(IOCX_CA_SHARE_CIRCUITS, 0, flow.address))
    return error_from_errno(E2BIG, "add a circuit to BPF map ca_flows");
  auto inserted = object_.maps().flows.update(circuit.key, flow, kernel::UpdateMode::only_new);
  if (inserted) return std::optional<std::uint64_t>(flow.circuit);
  object_.give_share(IOCX_CA_SHARE_CIRCUITS, 0, flow.address);
  if (inserted.error().code == std::errc::file_exists) return std::optional<std::uint64_t>();
  return inserted.error();
}

Result<CaTap::SeedOutcome> CaTap::seed_channel(const iocx_ca_channel_info& info,
                                               const CaSeedChannel& channel) {
  const iocx_ca_channel_key by_sid{info.circuit, channel.sid, 0};
  for (int attempt = 0; attempt < 3; ++attempt) {
    auto slot = object_.maps().sids.lookup(by_sid);
    if (!slot) return std::move(slot).error();
    if (!*slot) {
      auto outcome = add_channel(info, channel);
      if (!outcome || *outcome != SeedOutcome::known) return outcome;
      continue;  // the kernel has made it meanwhile: as what?
    }
    std::uint32_t state = IOCX_CA_SLOT_ENDED;  // IOCX_CA_CLEARED
    if (**slot < object_.max_channels()) state = state_of(object_.channels()[**slot]);
    if (state == IOCX_CA_SLOT_UNNAMED) return name_slot(**slot, info, channel);
    if (state == IOCX_CA_SLOT_LIVE) return SeedOutcome::known;
    if (auto ok = name_ended(info, channel); !ok) return ok.error();
    return SeedOutcome::ended;
  }
  return SeedOutcome::known;
}

// `known` when the kernel has given the SID to another one meanwhile.
Result<CaTap::SeedOutcome> CaTap::add_channel(const iocx_ca_channel_info& info,
                                              const CaSeedChannel& channel) {
  if (!object_.take_share(IOCX_CA_SHARE_CHANNELS, info.circuit, info.address))
    return SeedOutcome::no_room;
  auto slot = object_.take_slot();
  if (!slot || !*slot) object_.give_share(IOCX_CA_SHARE_CHANNELS, info.circuit, info.address);
  if (!slot) return std::move(slot).error();
  if (!*slot) return SeedOutcome::no_room;
  const std::uint64_t id = new_id();
  iocx_ca_channel& element = object_.channels()[**slot];
  element.circuit = info.circuit;
  if (auto stored = object_.maps().channel_info.update(id, info, kernel::UpdateMode::only_new);
      !stored) {
    if (auto ok = object_.give_slot(**slot, info.address); !ok) return ok.error();
    if (!is_full(stored.error())) return stored.error();
    return SeedOutcome::no_room;
  }
  element.channel = id;
  element.sid = channel.sid;
  element.cid = channel.cid;
  element.monitors = channel.monitors;
  element.access = channel.access;
  // Before its SID leads here: a CLEAR must find it open.
  __atomic_store_n(&element.state, IOCX_CA_SLOT_LIVE, __ATOMIC_RELEASE);
  used_[**slot] = true;
  used_end_ = std::max(used_end_, **slot + 1);
  const iocx_ca_channel_key by_sid{info.circuit, channel.sid, 0};
  const iocx_ca_channel_key by_cid{info.circuit, channel.cid, 0};
  auto made = object_.maps().sids.update(by_sid, **slot, kernel::UpdateMode::only_new);
  if (!made) {  // reap() frees the slot: an old hint may have led a put to it
    __atomic_store_n(&element.state, IOCX_CA_SLOT_ENDED, __ATOMIC_RELEASE);
    if (made.error().code == std::errc::file_exists) return SeedOutcome::known;
    if (!is_full(made.error())) return made.error();
    return SeedOutcome::no_room;
  }
  // A CID that the client has used again by now is the new channel's.
  auto noted = object_.maps().cids.update(by_cid, {id, **slot, channel.access, {}},
                                          kernel::UpdateMode::only_new);
  if (!noted && noted.error().code != std::errc::file_exists && !is_full(noted.error()))
    return noted.error();
  return SeedOutcome::added;
}

// A slot that the kernel made for puts on a SID that it did not know. Its counts so far are the
// channel's.
Result<CaTap::SeedOutcome> CaTap::name_slot(std::uint32_t slot, const iocx_ca_channel_info& info,
                                            const CaSeedChannel& channel) {
  iocx_ca_channel& element = object_.channels()[slot];
  if (auto ok = name_info(slot, info); !ok) return ok.error();
  element.cid = channel.cid;
  element.monitors = channel.monitors;
  element.access = channel.access;
  std::uint32_t expected = IOCX_CA_SLOT_UNNAMED;
  if (!__atomic_compare_exchange_n(&element.state, &expected, IOCX_CA_SLOT_LIVE, false,
                                   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    return SeedOutcome::ended;
  const iocx_ca_channel_key by_cid{info.circuit, channel.cid, 0};
  auto noted = object_.maps().cids.update(by_cid, {element.channel, slot, channel.access, {}},
                                          kernel::UpdateMode::only_new);
  if (!noted && noted.error().code != std::errc::file_exists && !is_full(noted.error()))
    return noted.error();
  return SeedOutcome::named;
}

// Puts came, and then the channel's end: its slot is still here, without a name. Not when the SID
// has been used by more than one channel: then it is not known whose name this is.
Result<void> CaTap::name_ended(const iocx_ca_channel_info& info, const CaSeedChannel& channel) {
  std::optional<std::uint32_t> only;
  for (std::uint32_t slot = 0; slot < used_end_; ++slot) {
    if (!used_[slot]) continue;
    const iocx_ca_channel& element = object_.channels()[slot];
    if (element.circuit != info.circuit || element.sid != channel.sid ||
        state_of(element) == IOCX_CA_SLOT_SHARED)
      continue;
    if (only) return {};
    only = slot;
  }
  return only ? name_info(*only, info) : Result<void>();
}

// Unless it has a name.
Result<void> CaTap::name_info(std::uint32_t slot, iocx_ca_channel_info named) {
  const std::uint64_t id = object_.channels()[slot].channel;
  auto info = object_.maps().channel_info.lookup(id);
  if (!info) return std::move(info).error();
  if (!*info || (*info)->name[0] != 0) return {};
  named.address = (*info)->address;  // holder of its slot's share
  if (auto ok = object_.maps().channel_info.update(id, named, kernel::UpdateMode::only_existing);
      !ok)
    return ok;
  held_.erase(slot);
  return {};
}

}  // namespace ioc_exporter::ca

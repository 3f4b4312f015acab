#include "puts/tap/seeder.h"

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>

#include "base/wall_clock.h"

namespace ioc_exporter::ca {
namespace {

template <std::size_t N>
void set_text(char (&to)[N], const std::string& text) {
  std::fill(to, to + N, '\0');
  std::copy_n(text.begin(), std::min(text.size(), N - 1), to);
}

// Error of bpf(2) for a full hash.
bool is_full(const Error& error) {
  return error.code == std::errc::argument_list_too_long ||
         error.code == std::errc::not_enough_memory;
}

}  // namespace

Result<CaSeedResult> Seeder::seed(const CaSeed& seed) {
  CaSeedResult result;
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
    info.holder = iocx_ca_holder_of(&info.client, info.client_port);
    set_text(info.identity.user, circuit.user);
    set_text(info.identity.host, circuit.host);
    for (const CaSeedChannel& channel : circuit.channels) {
      set_text(info.name, channel.name);
      auto outcome = seed_channel(info, channel);
      if (!outcome) return std::move(outcome).error();
      ++(result.**outcome);
    }
  }
  auto done = channels_.relabel([&](std::uint64_t circuit) { return completed.contains(circuit); });
  if (!done) return done.error();
  return result;
}

// The circuit's id; nothing when it is to be passed over.
Result<std::optional<std::uint64_t>> Seeder::seed_circuit(std::uint32_t ioc,
                                                          const CaSeedCircuit& circuit,
                                                          CaSeedResult& result) {
  const auto pass_over = [&result](Outcome why) {
    ++(result.*why);
    return std::optional<std::uint64_t>();
  };
  // A second time where another CPU has met the circuit's first packet in between.
  for (int attempt = 0; attempt < 2; ++attempt) {
    auto flow = object_.maps().flows.lookup(circuit.key);
    if (!flow) return std::move(flow).error();
    if (!*flow) {
      auto added = add_circuit(ioc, circuit);
      if (!added && is_full(added.error())) return pass_over(&CaSeedResult::circuits_no_room);
      if (!added) return added;
      if (!*added) continue;
      ++result.circuits_added;
      return added;
    }
    if ((*flow)->ended) break;
    if (!(*flow)->joined) return pass_over(&CaSeedResult::circuits_followed);
    // The kernel's copy is the kernel's to write: what it lacks is kept here.
    if ((*flow)->identity.user[0] == 0 && (*flow)->identity.host[0] == 0)
      circuits_.set_identity((*flow)->circuit, {circuit.user, circuit.host});
    ++result.circuits_completed;
    return std::optional<std::uint64_t>((*flow)->circuit);
  }
  return pass_over(&CaSeedResult::circuits_ended);
}

// Its id; nothing when it has come into being meanwhile.
Result<std::optional<std::uint64_t>> Seeder::add_circuit(std::uint32_t ioc,
                                                         const CaSeedCircuit& circuit) {
  iocx_ca_flow flow{};
  flow.circuit = new_id();
  flow.lock = static_cast<std::uint32_t>(flow.circuit);
  flow.ioc = ioc;
  flow.unnamed_slot = IOCX_CA_NO_SLOT;
  flow.joined = 1;
  flow.since_ns = clock_ns(CLOCK_MONOTONIC);
  flow.channels = static_cast<std::int32_t>(circuit.channels.size());
  flow.holder = iocx_ca_holder_of(&circuit.key.client, circuit.key.client_port);
  set_text(flow.identity.user, circuit.user);
  set_text(flow.identity.host, circuit.host);
  if (!object_.caps().take(IOCX_CA_HELD_CIRCUITS, flow.holder))
    return error_from_errno(E2BIG, "add a circuit to BPF map ca_flows");
  auto inserted = object_.maps().flows.update(circuit.key, flow, kernel::UpdateMode::only_new);
  if (inserted) return std::optional<std::uint64_t>(flow.circuit);
  object_.caps().give(IOCX_CA_HELD_CIRCUITS, flow.holder);
  if (inserted.error().code == std::errc::file_exists) return std::optional<std::uint64_t>();
  return inserted.error();
}

Result<Seeder::Outcome> Seeder::seed_channel(const iocx_ca_channel_info& info,
                                             const CaSeedChannel& channel) {
  for (int attempt = 0; attempt < 3; ++attempt) {
    auto slot = object_.maps().sids.lookup({info.circuit, channel.sid, 0});
    if (!slot) return std::move(slot).error();
    if (!*slot) {
      auto outcome = add_channel(info, channel);
      if (!outcome || *outcome != &CaSeedResult::channels_known) return outcome;
      continue;  // the kernel has made it meanwhile: as what?
    }
    std::uint32_t state = IOCX_CA_SLOT_ENDED;  // IOCX_CA_CLEARED
    if (**slot < object_.max_channels())
      state = __atomic_load_n(&object_.channels()[**slot].state, __ATOMIC_ACQUIRE);
    if (state == IOCX_CA_SLOT_UNNAMED) return name_slot(**slot, info, channel);
    if (state == IOCX_CA_SLOT_LIVE) return &CaSeedResult::channels_known;
    // Puts came, and then the channel's end: its slot is still here, without a name. Not when the
    // SID has been used by more than one channel: then it is not known whose name this is.
    if (const auto only = channels_.only_slot(info.circuit, channel.sid))
      if (auto ok = name_info(*only, info); !ok) return ok.error();
    return &CaSeedResult::channels_ended;
  }
  return &CaSeedResult::channels_known;
}

// `channels_known` when the kernel has given the SID to another one meanwhile.
Result<Seeder::Outcome> Seeder::add_channel(const iocx_ca_channel_info& info,
                                            const CaSeedChannel& channel) {
  if (!object_.caps().take(IOCX_CA_HELD_CHANNELS, info.holder))
    return &CaSeedResult::channels_no_room;
  auto slot = object_.take_slot();
  if (!slot || !*slot) object_.caps().give(IOCX_CA_HELD_CHANNELS, info.holder);
  if (!slot) return std::move(slot).error();
  if (!*slot) return &CaSeedResult::channels_no_room;
  const std::uint64_t id = new_id();
  iocx_ca_channel& element = object_.channels()[**slot];
  element.circuit = info.circuit;
  if (auto stored = object_.maps().channel_info.update(id, info, kernel::UpdateMode::only_new);
      !stored) {
    if (auto ok = object_.give_slot(**slot, info.holder); !ok) return ok.error();
    if (!is_full(stored.error())) return stored.error();
    return &CaSeedResult::channels_no_room;
  }
  element.channel = id;
  element.sid = channel.sid;
  element.cid = channel.cid;
  element.monitors = channel.monitors;
  element.access = channel.access;
  // Before its SID leads here: a CLEAR must find it open.
  __atomic_store_n(&element.state, IOCX_CA_SLOT_LIVE, __ATOMIC_RELEASE);
  channels_.note_taken(**slot);
  auto made = object_.maps().sids.update({info.circuit, channel.sid, 0}, **slot,
                                         kernel::UpdateMode::only_new);
  if (!made) {  // reap() frees the slot: an old hint may have led a put to it
    __atomic_store_n(&element.state, IOCX_CA_SLOT_ENDED, __ATOMIC_RELEASE);
    if (made.error().code == std::errc::file_exists) return &CaSeedResult::channels_known;
    if (!is_full(made.error())) return made.error();
    return &CaSeedResult::channels_no_room;
  }
  if (auto ok = note_cid(info.circuit, channel, id, **slot); !ok) return ok.error();
  return &CaSeedResult::channels_added;
}

// A slot that the kernel made for puts on a SID that it did not know. Its counts so far are the
// channel's.
Result<Seeder::Outcome> Seeder::name_slot(std::uint32_t slot, const iocx_ca_channel_info& info,
                                          const CaSeedChannel& channel) {
  iocx_ca_channel& element = object_.channels()[slot];
  if (auto ok = name_info(slot, info); !ok) return ok.error();
  element.cid = channel.cid;
  element.monitors = channel.monitors;
  element.access = channel.access;
  std::uint32_t expected = IOCX_CA_SLOT_UNNAMED;
  if (!__atomic_compare_exchange_n(&element.state, &expected, IOCX_CA_SLOT_LIVE, false,
                                   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    return &CaSeedResult::channels_ended;
  if (auto ok = note_cid(info.circuit, channel, element.channel, slot); !ok) return ok.error();
  return &CaSeedResult::channels_named;
}

// A CID that the client has used again by now is the new channel's.
Result<void> Seeder::note_cid(std::uint64_t circuit, const CaSeedChannel& channel, std::uint64_t id,
                              std::uint32_t slot) {
  auto noted = object_.maps().cids.update({circuit, channel.cid, 0}, {id, slot, channel.access},
                                          kernel::UpdateMode::only_new);
  if (!noted && noted.error().code != std::errc::file_exists && !is_full(noted.error()))
    return noted;
  return {};
}

// Unless it has a name.
Result<void> Seeder::name_info(std::uint32_t slot, iocx_ca_channel_info named) {
  const std::uint64_t id = object_.channels()[slot].channel;
  auto info = object_.maps().channel_info.lookup(id);
  if (!info) return std::move(info).error();
  if (!*info || (*info)->name[0] != 0) return {};
  named.holder = (*info)->holder;  // of its slot
  auto stored = object_.maps().channel_info.update(id, named, kernel::UpdateMode::only_existing);
  if (stored) channels_.note_named(slot);
  return stored;
}

}  // namespace ioc_exporter::ca

// The part of CaWitness that turns the kernel's slots into puts by label, and frees them.
#include <algorithm>
#include <utility>

#include "ca/channel_name.h"
#include "ca/connections.h"
#include "ca/tap_labels.h"
#include "ca/witness.h"

namespace ioc_exporter::ca {
namespace {

// Of Base 3.14, by what the program has read of the channel's dbAddr.
std::string name_of_record(const iocx_witness_info& info) {
  return channel_name(kernel_text(info.name), kernel_text(info.field),
                      is_long_string(info.description_type, info.field_type, info.dbr_field_type));
}

CaPuts puts_of(const iocx_witness_channel& channel) {
  return {__atomic_load_n(&channel.puts[0], __ATOMIC_RELAXED),
          __atomic_load_n(&channel.puts[1], __ATOMIC_RELAXED)};
}

}  // namespace

Result<void> CaWitness::collect(Clock::time_point now) {
  used_ = 0;
  // When as many were found as are held the others are free.
  for (used_end_ = 0; used_end_ < slots_.size() && used_ < object_.held(); ++used_end_)
    if (auto ok = observe(used_end_, false, now); !ok) return ok;
  return object_.maps().rest.for_each(
      [this](std::uint32_t generation, const iocx_witness_rest& rest) {
        Watched* const watched = of_generation(generation);
        if (watched != nullptr && watched->probes) observe_rest(*watched, rest);
      });
}

// `last`: what is not known of it by now will not be.
Result<void> CaWitness::observe(std::uint32_t index, bool last, Clock::time_point now) {
  const iocx_witness_channel& channel = object_.channels()[index];
  if (__atomic_load_n(&channel.state, __ATOMIC_ACQUIRE) == IOCX_WITNESS_FREE) return {};
  ++used_;
  Slot& slot = slots_[index];
  const CaPuts puts = puts_of(channel);
  if (slot.id == channel.id && slot.open && slot.growth.last() == puts) return {};
  if (slot.id != channel.id) {
    auto info = object_.maps().info.lookup(index);
    if (!info) return std::move(info).error();
    if (!*info) return {};
    slot = {};
    slot.id = channel.id;
    slot.key = (*info)->key;
    slot.first = slot.changed = now;
  }
  Watched* const watched = of_generation(slot.key.generation);
  if (watched == nullptr) return {};
  if (!slot.open) {
    slot.place =
        put_place(watched->number, ca_address_v4(slot.key.address), slot.key.port, slot.key.sid);
    auto opened = open(*watched, index, last, now);
    if (!opened) return std::move(opened).error();
    if (!*opened) return {};
  }
  slot.growth.advance(puts);
  slot.changed = now;
  totals_->observe(CaPutTotals::kServerSlots | index, puts,
                   __atomic_load_n(&channel.last_put, __ATOMIC_RELAXED));
  return {};
}

// False: its name may still be told. Where the server's hash of channels could not be read, the
// next put tries again, and the tap may know it.
Result<bool> CaWitness::open(const Watched& watched, std::uint32_t index, bool last,
                             Clock::time_point now) {
  Slot& slot = slots_[index];
  auto info = object_.maps().info.lookup(index);
  if (!info) return std::move(info).error();
  if (!*info) return false;
  CaPutLabels labels = labels_of(watched, index, slot.place, **info);
  if (labels.pv.empty() && !last && now - slot.first < kNamePatience) return false;
  totals_->open(CaPutTotals::kServerSlots | index, slot.id, std::move(labels));
  slot.open = true;
  return true;
}

std::string CaWitness::name_by_packets(const CaPutPlace& place) const {
  return tap_ ? tap_->name_of(place) : "";
}

CaPutLabels CaWitness::labels_of(const Watched& watched, std::uint32_t index,
                                 const CaPutPlace& place, const iocx_witness_info& info) const {
  const bool named = __atomic_load_n(&object_.channels()[index].named, __ATOMIC_ACQUIRE) != 0;
  CaPutLabels labels;
  labels.ioc = watched.number;
  labels.client = ca_address_text(ca_address_v4(info.key.address));
  labels.user = kernel_text(info.user);
  labels.host = kernel_text(info.host);
  if (named)
    labels.pv = watched.by_db_addr ? name_of_record(info) : kernel_text(info.name);
  else
    labels.pv = name_by_packets(place);
  return labels;
}

// A slot that was given back and taken again has another id.
std::optional<CaPutIdentity> CaWitness::identify(const iocx_putlog_event& event) const {
  const Watched* const watched = of_generation(event.generation);
  if (watched == nullptr) return std::nullopt;
  CaPutIdentity who;
  who.place = put_place(watched->number, ca_address_v4(event.address), event.port, event.sid);
  who.labels.ioc = watched->number;
  who.labels.client = ca_address_text(ca_address_v4(event.address));
  const auto is_still = [&] {
    return event.id != 0 && event.slot < slots_.size() &&
           __atomic_load_n(&object_.channels()[event.slot].id, __ATOMIC_ACQUIRE) == event.id;
  };
  if (is_still()) {
    const auto info = object_.maps().info.lookup(event.slot);
    if (info && *info) {
      auto labels = labels_of(*watched, event.slot, who.place, **info);
      if (is_still()) who.labels = std::move(labels);
    }
  }
  if (who.labels.pv.empty()) who.labels.pv = name_by_packets(who.place);
  return who;
}

// Puts of nobody in particular.
void CaWitness::observe_rest(Watched& watched, const iocx_witness_rest& rest) {
  const CaPuts growth = watched.rest.advance({rest.puts[0], rest.puts[1]});
  if (growth == CaPuts{}) return;
  totals_->add({watched.number, "", "", "", ""}, growth, rest.last_put & ~1ULL);
}

Result<void> CaWitness::reap(Clock::time_point now) {
  const auto idle = used_ > slots_.size() / 2 ? kIdleWhenCrowded : kIdle;
  for (std::uint32_t index = 0; index < used_end_; ++index) {
    Slot& slot = slots_[index];
    const iocx_witness_channel& channel = object_.channels()[index];
    const std::uint32_t state = __atomic_load_n(&channel.state, __ATOMIC_ACQUIRE);
    if (state == IOCX_WITNESS_FREE || slot.id != channel.id) continue;
    const bool ended = of_generation(slot.key.generation) == nullptr;
    if (!slot.given_up) {
      if (ended || (slot.open && now - slot.changed >= idle))
        if (auto ok = give_up(index, now); !ok) return ok;
      continue;
    }
    if (now - *slot.given_up < kGrace) continue;
    if (auto ok = observe(index, true, now); !ok) return ok;
    totals_->close(CaPutTotals::kServerSlots | index);
    slot = {};
    if (auto ok = object_.give_slot(index); !ok) return ok;
  }
  return {};
}

// The next put of the client to the channel finds no key, and takes another slot.
Result<void> CaWitness::give_up(std::uint32_t index, Clock::time_point now) {
  Slot& slot = slots_[index];
  auto erased = object_.maps().slots.erase(slot.key);
  if (!erased) return std::move(erased).error();
  object_.give_up(index);
  slot.given_up = now;
  return {};
}

}  // namespace ioc_exporter::ca

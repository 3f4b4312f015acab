#include "puts/tap/tap.h"

#include <utility>

#include "puts/tap/tap_labels.h"

namespace ioc_exporter::ca {
namespace {

static_assert(sizeof(iocx_ca_server) == 24 && sizeof(iocx_ca_flow_key) == 40);
static_assert(sizeof(iocx_ca_channel_key) == 16 && sizeof(iocx_ca_cid) == 24);
static_assert(sizeof(iocx_ca_channel) == 64 && offsetof(iocx_ca_channel, puts) == 16 &&
              offsetof(iocx_ca_channel, last_put) == 32 && offsetof(iocx_ca_channel, state) == 48);
static_assert(sizeof(iocx_ca_stream) == 288 && sizeof(iocx_ca_direction) == 320);
static_assert(sizeof(iocx_ca_flow) == 1032 && offsetof(iocx_ca_flow, counts) == 72 &&
              offsetof(iocx_ca_flow, directions) == 392);
static_assert(sizeof(iocx_ca_pending) == 32 && sizeof(iocx_ca_failure_key) == 16 &&
              sizeof(iocx_ca_failure) == 24);
static_assert(sizeof(iocx_ca_outcome) == 24 + 8 * IOCX_PUT_HIST_SLOTS);
static_assert(sizeof(iocx_ca_told) == 8 && sizeof(iocx_ca_begun) == 12);
static_assert(sizeof(iocx_ca_page) == 19712 && offsetof(iocx_ca_page, bytes) == 1280);
static_assert(sizeof(iocx_ca_page_owner) == 16);
static_assert(sizeof(iocx_ca_channel_info) == 408 && offsetof(iocx_ca_channel_info, name) == 176);

}  // namespace

CaTap::CaTap(CaTapOptions options, CaTapObject object, CaNamespaces namespaces)
    : options_(std::move(options)),
      object_(std::move(object)),
      namespaces_(std::move(namespaces)),
      totals_(options_.totals ? options_.totals : std::make_shared<CaTotals>(options_.max_series)),
      used_(object_.max_channels()) {}

Result<CaTap> CaTap::start(CaTapOptions options) {
  auto object =
      CaTapObject::load(options.sizes, options.lock, options.remote_servers, options.ring);
  if (!object) return std::move(object).error();
  auto namespaces = CaNamespaces::start(*object);
  if (!namespaces) return std::move(namespaces).error();
  return CaTap(std::move(options), std::move(*object), std::move(*namespaces));
}

Result<void> CaTap::observe_channels(Clock::time_point now) {
  const std::uint32_t slots = object_.max_channels();
  const auto* const channels = object_.channels();
  names_.reset();
  const std::uint32_t before = std::exchange(used_end_, slots);
  std::uint32_t slot = 0, found = 0;
  // When as many were found as are held the others are free.
  for (; slot < slots && found < object_.held(IOCX_CA_SHARE_CHANNELS); ++slot) {
    const auto& channel = channels[slot];
    used_[slot] = __atomic_load_n(&channel.state, __ATOMIC_ACQUIRE) != IOCX_CA_SLOT_FREE;
    if (!used_[slot]) continue;
    ++found;
    if (auto ok = observe_channel(slot, now); !ok) return ok;
  }
  used_end_ = slot;
  for (; slot < before; ++slot) used_[slot] = false;
  return {};
}

Result<void> CaTap::observe_channel(std::uint32_t slot, Clock::time_point now) {
  const auto& channel = object_.channels()[slot];
  const std::uint64_t id = __atomic_load_n(&channel.channel, __ATOMIC_RELAXED);
  const CaPuts puts{__atomic_load_n(&channel.puts[0], __ATOMIC_RELAXED),
                    __atomic_load_n(&channel.puts[1], __ATOMIC_RELAXED)};
  const std::uint64_t last_put = __atomic_load_n(&channel.last_put, __ATOMIC_RELAXED);
  if (!totals_->puts.is_open(slot, id)) {
    auto info = object_.maps().channel_info.lookup(id);
    if (!info) return std::move(info).error();
    if (!*info) {  // being made on another CPU: the next look finds it
      used_[slot] = false;
      return {};
    }
    const auto ioc = ioc_of((*info)->circuit, (*info)->ioc);
    if (!ioc) return {};
    note_place(slot, *ioc, **info);
    if (note_counts(placed_[slot], puts) == CaPutSources::Counts::not_known_yet) return {};
    auto waits = waits_for_seed(slot, *ioc, **info, now);
    if (!waits) return std::move(waits).error();
    if (*waits) return {};
    auto labels = labels_by_sid(slot, put_labels(*ioc, **info));
    if (!labels) return std::move(labels).error();
    open_slot(slot, std::move(*labels), puts, last_put);
    return {};
  }
  if (totals_->puts.is_current(slot, puts)) return {};
  const auto counts = note_counts(placed_[slot], puts);
  if (counts == CaPutSources::Counts::packets)
    totals_->puts.observe(slot, puts, last_put);
  else if (counts != CaPutSources::Counts::not_known_yet)
    totals_->puts.pass_over(slot, puts);
  return {};
}

// Nothing where it is not known yet. `noted`: the kernel's entry.
std::optional<std::uint32_t> CaTap::ioc_of(std::uint64_t circuit, std::uint32_t noted) const {
  if (const auto found = iocs_.find(circuit); found != iocs_.end()) return found->second;
  if (!is_ioc_number(noted)) return std::nullopt;
  return noted;
}

Result<void> CaTap::forget(std::uint32_t ioc) {
  // Channels that were not looked at yet must be known as its own.
  if (auto ok = observe_channels(Clock::now()); !ok) return ok;
  totals_->forget(ioc);
  server_totals_.drop(ioc);
  sources_.forget(ioc);
  return {};
}

}  // namespace ioc_exporter::ca

#include "probes/ca_tap.h"

#include <algorithm>
#include <array>
#include <utility>

#include "probes/ca_tap_labels.h"

namespace ioc_exporter::probes {
namespace {

static_assert(sizeof(iocx_ca_server) == 24 && sizeof(iocx_ca_flow_key) == 40);
static_assert(sizeof(iocx_ca_channel_key) == 16 && sizeof(iocx_ca_cid) == 16);
static_assert(sizeof(iocx_ca_channel) == 64 && offsetof(iocx_ca_channel, puts) == 16 &&
              offsetof(iocx_ca_channel, state) == 40);
static_assert(sizeof(iocx_ca_stream) == 280 && sizeof(iocx_ca_direction) == 296);
static_assert(sizeof(iocx_ca_flow) == 752 && offsetof(iocx_ca_flow, directions) == 160);
static_assert(sizeof(iocx_ca_channel_info) == 392 && offsetof(iocx_ca_channel_info, name) == 160);

// Label `reason`, in the order of enum iocx_ca_drop.
constexpr std::array<const char*, IOCX_CA_DROPS> kReasons{
    "stream_gap",    "resync",           "joined_late", "lock_timeout", "nested_run",
    "circuits_full", "channels_full",    "unnamed_put", "lost_put",     "name_cut",
    "not_parsed",    "segment_too_long", "not_ca",      "after_end"};

}  // namespace

CaTap::CaTap(CaTapOptions options, bpf::CaTapObject object, bpf::CaPacketFilter filter,
             UniqueFd socket)
    : options_(std::move(options)),
      object_(std::move(object)),
      filter_(std::move(filter)),
      socket_(std::move(socket)),
      totals_(options_.max_series),
      used_(object_.max_channels()) {}

Result<CaTap> CaTap::start(CaTapOptions options) {
  auto object = bpf::CaTapObject::load(options.sizes, options.lock);
  if (!object) return std::move(object).error();
  auto filter = bpf::CaPacketFilter::load(0, object->shared_maps());
  if (!filter) return std::move(filter).error();
  auto socket = filter->attach();
  if (!socket) return std::move(socket).error();
  return CaTap(std::move(options), std::move(*object), std::move(*filter), std::move(*socket));
}

Result<void> CaTap::observe_channels() {
  for (std::uint32_t slot = 0; slot < object_.max_channels(); ++slot) {
    const auto& channel = object_.channels()[slot];
    used_[slot] = __atomic_load_n(&channel.state, __ATOMIC_ACQUIRE) != IOCX_CA_SLOT_FREE;
    if (!used_[slot]) continue;
    if (auto ok = observe_channel(slot); !ok) return ok;
  }
  return {};
}

Result<void> CaTap::observe_channel(std::uint32_t slot) {
  const auto& channel = object_.channels()[slot];
  const std::uint64_t id = __atomic_load_n(&channel.channel, __ATOMIC_RELAXED);
  if (!totals_.is_open(slot, id)) {
    auto info = object_.channel_info().lookup(id);
    if (!info) return std::move(info).error();
    if (!*info) {  // being made on another CPU: the next look finds it
      used_[slot] = false;
      return {};
    }
    const auto ioc = ioc_of(**info);
    if (!ioc) return {};
    totals_.open(slot, id, labels_of(*ioc, **info));
  }
  totals_.observe(slot, {__atomic_load_n(&channel.puts[0], __ATOMIC_RELAXED),
                         __atomic_load_n(&channel.puts[1], __ATOMIC_RELAXED)});
  return {};
}

std::optional<std::uint32_t> CaTap::ioc_of(const iocx_ca_channel_info& info) const {
  if (const auto found = iocs_.find(info.circuit); found != iocs_.end()) return found->second;
  if (info.ioc == kCaIocToCome) return std::nullopt;
  return info.ioc;
}

Result<CaTapReading> CaTap::collect() {
  if (auto ok = observe_channels(); !ok) return ok.error();
  CaTapReading reading;
  reading.puts = totals_.counts();
  auto drops = bpf::sum_per_cpu_counters(object_.drops(), IOCX_CA_DROPS);
  if (!drops) return std::move(drops).error();
  for (std::size_t reason = 0; reason < kReasons.size(); ++reason)
    reading.drops.push_back({"ca_tap", kReasons[reason], (*drops)[reason]});
  reading.drops.push_back({"ca_tap", "put_series_full", totals_.overflowed()});
  reading.drops.push_back({"ca_tap", "not_an_ioc", puts_elsewhere_});
  const auto channels = static_cast<std::uint64_t>(std::count(used_.begin(), used_.end(), true));
  reading.maps = {{"ca_channels", channels, object_.max_channels()},
                  {"ca_circuits", circuits_, object_.flows().capacity()},
                  {"ca_servers", servers_.size(), object_.servers().capacity()}};
  return reading;
}

Result<void> CaTap::forget(std::uint32_t ioc) {
  // Channels that were not looked at yet must be known as its own.
  if (auto ok = observe_channels(); !ok) return ok;
  totals_.forget(ioc);
  return {};
}

}  // namespace ioc_exporter::probes

#include "puts/tap/tap.h"

#include <utility>

#include "base/wall_clock.h"

namespace ioc_exporter::puts {
namespace {

static_assert(sizeof(iocx_ca_server) == 8 && sizeof(iocx_ca_flow_key) == 12);
static_assert(sizeof(iocx_ca_channel_key) == 16 && sizeof(iocx_ca_cid) == 16);
static_assert(sizeof(iocx_ca_channel) == 64 && offsetof(iocx_ca_channel, puts) == 16 &&
              offsetof(iocx_ca_channel, last_put) == 32 && offsetof(iocx_ca_channel, state) == 48);
static_assert(sizeof(iocx_ca_stream) == 280 && sizeof(iocx_pva_stream) == 296 &&
              sizeof(iocx_ca_direction) == 328);
static_assert(sizeof(iocx_ca_flow) == 920 && offsetof(iocx_ca_flow, counts) == 72 &&
              offsetof(iocx_ca_flow, directions) == 264);
static_assert(sizeof(iocx_ca_pending) == 32 && sizeof(iocx_ca_failure_key) == 16 &&
              sizeof(iocx_ca_failure) == 16);
static_assert(sizeof(iocx_ca_outcome) == 16 + 8 * IOCX_PUT_HIST_SLOTS);
static_assert(sizeof(iocx_ca_begun) == 12);
static_assert(sizeof(iocx_ca_page) == 19712 && offsetof(iocx_ca_page, bytes) == 1280);
static_assert(sizeof(iocx_ca_page_owner) == 16);
static_assert(sizeof(iocx_ca_channel_info) == 384 && offsetof(iocx_ca_channel_info, name) == 152);

}  // namespace

Tap::Tap(TapOptions options, TapObject object)
    : object_(std::move(object)),
      network_(object_, options.fs),
      totals_(options.totals ? options.totals : std::make_shared<Totals>(options.max_series)),
      servers_(object_, network_, options.remote_servers),
      circuits_(object_, network_, servers_),
      channels_(object_, circuits_, totals_->choice, totals_->puts),
      outcomes_(object_, *totals_),
      leftovers_(object_) {}

Result<std::unique_ptr<Tap>> Tap::start(TapOptions options) {
  auto object = TapObject::load(options.sizes, options.lock, options.remote_servers,
                                options.searches, options.ring);
  if (!object) return std::move(object).error();
  std::unique_ptr<Tap> tap(new Tap(std::move(options), std::move(*object)));
  if (auto ok = tap->network_.packets().open(); !ok) return ok.error();
  return tap;
}

Result<void> Tap::set_servers(const std::vector<TapServer>& servers, Clock::time_point now) {
  auto addresses = network_.update_addresses();
  if (auto ok = servers_.update(servers, now); !ok) return ok;
  if (!servers_.has_changed()) return addresses;
  // Channels that were looked at already continue under the new IOC's name.
  if (auto ok = circuits_.find_iocs(); !ok) return ok;
  auto done =
      channels_.relabel([this](std::uint64_t circuit) { return circuits_.has_moved(circuit); });
  if (!done) return done;
  servers_.settle();
  return addresses;
}

Result<void> Tap::reap(Clock::time_point now) {
  if (auto ok = observe(now); !ok) return ok;
  if (auto ok = leftovers_.look(now); !ok) return ok;
  auto seen = circuits_.look();
  if (!seen) return std::move(seen).error();
  // After the circuits, so that a new one's server is known.
  if (!seen->flows.empty())
    if (auto ok = servers_.read_learned(now); !ok) return ok;
  if (auto ok = circuits_.end_lost(*seen, now); !ok) return ok;
  if (auto ok = free_channels(*seen, now); !ok) return ok;
  if (auto ok = leftovers_.free(*seen, now); !ok) return ok;
  return circuits_.free_ended(*seen, now);
}

Result<void> Tap::free_channels(const Circuits::Seen& seen, Clock::time_point now) {
  const auto due = channels_.due(seen, now);
  if (due.empty()) return {};
  if (auto ok = outcomes_.observe(); !ok) return ok;
  std::set<std::uint64_t> ids;
  for (const std::uint32_t slot : due) ids.insert(object_.channels()[slot].channel);
  for (const std::uint32_t slot : due)
    if (auto ok = channels_.free(slot); !ok) return ok;
  return outcomes_.free(ids);
}

Result<void> Tap::observe(Clock::time_point now, OpenCounts* open) {
  auto ok = circuits_.observe(probed_ports_, now, open);
  return ok ? channels_.observe() : ok;
}

Result<TapReading> Tap::collect(Clock::time_point now) {
  OpenCounts open;
  if (auto ok = observe(now, &open); !ok) return ok.error();
  if (auto ok = outcomes_.observe(); !ok) return ok.error();
  channels_.add_open(open);
  TapReading reading{totals_->read(kernel_ns(now)), {}, {}, {}, {}};
  reading.servers = open.servers(circuits_.traffic());
  reading.clients = open.clients();
  auto drops = read_drops();
  if (!drops) return std::move(drops).error();
  reading.drops = std::move(*drops);
  const TapMaps& maps = object_.maps();
  reading.maps = {{"ca_channels", channels_.count(), object_.max_channels()},
                  {"ca_circuits", circuits_.count(), maps.flows.capacity()},
                  {"ca_pages", leftovers_.pages(), object_.max_pages()},
                  {"ca_servers", servers_.size(), maps.servers.capacity()}};
  if (auto ok = outcomes_.add_maps(reading.maps); !ok) return ok.error();
  return reading;
}

Result<Drops> Tap::read_drops() const {
  auto counters = kernel::sum_per_cpu_counters(object_.maps().drops, IOCX_CA_DROPS);
  if (!counters) return std::move(counters).error();
  Drops drops;
  totals_->add_drops(drops, "ca_tap", PutTotals::kTapSlots);
  add_drops(drops, "ca_tap", *counters, iocx_ca_drop_labels);
  drops[{"ca_tap", "lost"}] += outcomes_.late_answers() + channels_.puts_lost();
  return drops;
}

Result<void> Tap::forget(std::uint32_t ioc) {
  // Channels that were not looked at yet must be known as its own.
  auto seen = channels_.observe();
  totals_->forget(ioc);
  circuits_.forget(ioc);
  return seen;
}

Result<void> Tap::observe_all(Clock::time_point now) {
  auto seen = observe(now);
  return seen ? outcomes_.observe() : seen;
}

// What was sent until now is not theirs.
Result<void> Tap::let_packets_count(const ServerKey& server) {
  auto ports = probed_ports_;
  std::erase_if(ports, [&](const auto& one) {
    return probed_ports_.contains({one.first, server});
  });
  set_probed_ports(std::move(ports));
  const auto now = Clock::now();
  auto seen = totals_->choice.by_packets(server) ? Result<void>() : observe_all(now);
  totals_->choice.begin_packets(server, kernel_ns(now));
  return seen;
}

Result<void> Tap::let_nobody_count(const ServerKey& server) {
  auto seen = totals_->choice.by_packets(server) ? observe_all(Clock::now()) : Result<void>();
  totals_->choice.begin_nobody(server, kernel_ns(Clock::now()));
  return seen;
}

void Tap::set_probed_ports(ProbedPorts ports) {
  if (ports == probed_ports_) return;
  probed_ports_ = std::move(ports);
  object_.set_probed_ports(probed_ports_);
}

kernel::LostEvents Tap::lost_events() const {
  return object_.lost_events();
}

}  // namespace ioc_exporter::puts

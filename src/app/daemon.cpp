#include "app/daemon.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "app/lifecycle_signals.h"
#include "app/logging.h"
#include "app/options.h"
#include "app/rooms.h"
#include "app/self_families.h"
#include "app/site_config.h"
#include "app/status.h"
#include "app/version.h"
#include "base/helper.h"
#include "base/log.h"
#include "base/time_text.h"
#include "exposition/page.h"
#include "exposition/prometheus_family.h"

namespace ioc_exporter::app {
namespace {

constexpr std::chrono::milliseconds kYoungInterval{250};
// While a worker scans the host or reads a database.
constexpr std::chrono::milliseconds kBusyInterval{100};
// How long a tick waits for a scan of the host. The first one, and those of --check and --once,
// shall see all of it.
constexpr std::chrono::milliseconds kPatience{30};
constexpr std::chrono::milliseconds kFirstPatience{20'000};
constexpr std::chrono::seconds kLongestTick{60};
// An upper estimate of the size of the families about the exporter.
constexpr std::size_t kSelfBytes = 100 * 110;

double seconds_since(Daemon::Clock::time_point start) {
  return std::chrono::duration<double>(Daemon::Clock::now() - start).count();
}

}  // namespace

Daemon::Daemon(const SiteSettings& site, std::unique_ptr<Rooms> rooms,
               std::shared_ptr<Helper> attach)
    : rooms_(std::move(rooms)),
      attach_(std::move(attach)),
      stays_(!site.options.check && !site.options.once),
      interval_(site.options.iocs.interval) {
  use(site);
}

Daemon::~Daemon() = default;

std::string Daemon::why_not_ready() const {
  if (!scanned_once_.try_wait()) return "the host has not been scanned yet";
  if (detached_) return "all probes are taken off: SIGUSR2 or POST /-/attach brings them back";
  return rooms_->why_failed();
}

std::string Daemon::why_hangs(Clock::time_point now) const {
  const auto hangs = std::chrono::floor<std::chrono::seconds>(now - alive_at_.load());
  if (hangs < interval_ + kLongestTick) return "";
  return "the loop that scans the host has not gone on for " + std::to_string(hangs.count()) + " s";
}

// The IOCs' own collector comes last: a scrape that shows an IOC also shows its records, and its
// puts from before it was found.
void Daemon::follow(Clock::time_point now) {
  for (Collector* collector : rooms_->collectors)
    if (collector != &rooms_->iocs) collector->follow(now);
  rooms_->iocs.follow(now);
}

// Finds IOCs and reads their databases. An error: not all processes were seen.
Result<void> Daemon::scan_host(Clock::time_point now, std::chrono::milliseconds patience) {
  iocs::Host& host = rooms_->host;
  Result<void> found = host.poll(now, patience);
  host.apply(now);
  follow(now);
  bool more = false;
  do {  // IOCs that start together: the first do not wait for the last one's database
    more = host.read_databases(now, patience);
    note_alive();
    if (host.has_databases_to_apply()) {
      host.apply_databases(now);
      follow(now);
    }
    for (Collector* collector : rooms_->collectors) collector->tick(now);
    rooms_->budget.decide(Clock::now());  // attaching takes a while
  } while (more && !is_stop_pending());
  return found;
}

void Daemon::tick(Clock::time_point now) {
  note_alive();
  const auto patience = scanned_ && stays_ ? kPatience : kFirstPatience;
  const Result<void> found = scan_host(now, patience);
  attach_->close_late_answer();
  const std::scoped_lock lock(mutex_);
  trouble_.report("find IOCs", found);
  if (rooms_->delivery) trouble_.report("deliver", rooms_->delivery->kept());
  discovery_ = {"discovery", found.ok(), rooms_->host.scan_seconds()};
  ++ticks_;
  discovery_problem_ = found ? std::string() : found.error().message();
  if (!std::exchange(scanned_, true)) scanned_once_.count_down();
}

std::chrono::milliseconds Daemon::interval(Clock::time_point now) {
  if (rooms_->host.is_busy()) return std::min(kBusyInterval, interval_);
  return rooms_->host.view()->any_young(now) ? std::min(kYoungInterval, interval_) : interval_;
}

std::optional<Daemon::Clock::time_point> Daemon::next_due() {
  std::optional<Clock::time_point> next = rooms_->budget.next_due();
  for (Collector* collector : rooms_->collectors)
    if (const auto due = collector->next_due(); due && (!next || *due < *next)) next = due;
  return next;
}

void Daemon::act_on_due(Clock::time_point now) {
  const bool is_budget_due = rooms_->budget.is_due(now);
  for (Collector* collector : rooms_->collectors) collector->act_on_due(now);
  if (is_budget_due) rooms_->budget.decide(Clock::now());
}

bool Daemon::detach_all() {
  rooms_->host.set_hands_off(
      true);  // before the lock: a reading of an IOC's memory that runs now is the last
  const std::scoped_lock lock(switching_);
  rooms_->host.set_hands_off(true);  // an attach() may have come in between
  if (detached_.exchange(true)) return false;
  for (Collector* collector : rooms_->collectors) collector->detach();
  return true;
}

void Daemon::detach() {
  if (detach_all())
    log::warn("all probes are detached: nothing is counted until SIGUSR2 or POST /-/attach");
}

void Daemon::detach_to_end() {
  if (detach_all()) log::info("all probes are detached");
  rooms_->puts.keep_channels();
}

void Daemon::attach() {
  const std::scoped_lock lock(switching_);
  if (!detached_.exchange(false)) return;
  rooms_->host.set_hands_off(false);
  for (Collector* collector : rooms_->collectors) collector->attach();
  log::info("all probes will be attached again; / shows when they are");
}

void Daemon::collect(Collector& collector, exposition::Page& page) {
  const auto began = Clock::now();
  page.complete = true;
  collector.collect(page);
  if (collector.is_enabled())
    page.self.collectors.push_back(
        {std::string(collector.name()), page.complete, seconds_since(began)});
}

void Daemon::scrape(exposition::Encoder& encoder) {
  scanned_once_.wait();
  exposition::Page page{encoder};
  ExporterInfo exporter;
  for (Collector* collector : rooms_->collectors) collect(*collector, page);
  page.shared.encode(encoder);
  {
    const std::scoped_lock lock(mutex_);
    page.self.collectors.push_back(discovery_);
    exporter.config = config_;
    page.self.detached = detached_;
    exporter.loop_ticks = ticks_;
    exporter.area = area_;
    exporter.owner = owner_;
  }
  exporter.readers = rooms_->readers->sample();
  exporter.http = http_.sample();
  page.self.drops[{"log", "full"}] += lost_log_lines();
  add_restarts(page.self);
  encoder.reserve(kSelfBytes);
  exporter.build = build_info();
  exporter.time_seconds = now_seconds();
  if (auto process = read_process_stats(RootedFs())) exporter.process = *process;
  exposition::encode_all(self_families(page.self, exporter), encoder);
}

exposition::StatusPage Daemon::status() {
  scanned_once_.wait();
  exposition::StatusPage page;
  for (Collector* collector : rooms_->collectors) collector->status(page);
  std::vector<ProbeState> probes;
  for (const Collector* collector : rooms_->collectors)
    for (ProbeState& probe : collector->probes()) probes.push_back(std::move(probe));
  add_restarts(page.self);
  if (rooms_->outlets) page.notes.push_back(rooms_->outlets->why_stands());
  if (rooms_->trace_outlets) page.notes.push_back(rooms_->trace_outlets->why_stands());
  if (const auto kept = rooms_->delivery ? rooms_->delivery->kept() : Result<void>(); !kept)
    page.notes.push_back(kept.error().message());
  std::erase(page.notes, "");
  const std::scoped_lock lock(mutex_);
  page.self.detached = detached_;
  finish_status(probes, page);
  return page;
}

// Events that were under way then are among the drops of its sinks.
void Daemon::add_restarts(SelfSamples& to) const {
  if (rooms_->delivery) to.drops[{"delivery", "restart"}] += rooms_->delivery->restarts();
}

void Daemon::use(const SiteSettings& site) {
  for (const std::string& line : site.options.gone) log::warn("{}", line);
  const exposition::BoundsOptions bounds = bounds_options(site.options);
  rooms_->records.set_bounds(bounds);
  rooms_->puts.use(bounds, site.options.ca.put_expiry, site.options.ca.gateways);
  rooms_->functions.describe(site.options.functions.described, bounds);
  rooms_->policy.set_limit(bounds.limits.unexpected_puts);
  rooms_->put_log.set_policy(site.policy, [&] { return rooms_->policy.set_policy(site.policy); });
  rooms_->iocs.expect(site.expected_iocs);
  const std::scoped_lock lock(mutex_);
  area_ = site.options.area;
  owner_ = site.options.owner;
}

void Daemon::set_config(const ConfigSample& sample) {
  const std::scoped_lock lock(mutex_);
  config_ = sample;
}

std::string Daemon::why_ended() const {
  if (!attach_->is_gone()) return "";
  return "the helper process " + attach_->name() + " has ended: nothing can be counted";
}

std::string Daemon::discovery_problem() const {
  const std::scoped_lock lock(mutex_);
  return discovery_problem_;
}

std::string Daemon::state_in_words() {
  const std::size_t count = rooms_->host.view()->live().size();
  std::string loaded;
  const Collector* const counting[] = {&rooms_->puts, &rooms_->records};
  for (const Collector* collector : counting)
    for (const ProbeState& probe : collector->probes())
      if (probe.problem.empty()) loaded += (loaded.empty() ? "" : ", ") + probe.name;
  const std::string failed = rooms_->why_failed();
  std::string text = std::to_string(count) + (count == 1 ? " IOC; " : " IOCs; ");
  text += detached_ ? "detached" : loaded;
  return failed.empty() ? text : text + "; missing: " + failed;
}

}  // namespace ioc_exporter::app

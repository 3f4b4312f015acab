#include "app/daemon.h"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <utility>

#include "app/helpers.h"
#include "app/host_loop.h"
#include "app/logging.h"
#include "app/self_families.h"
#include "app/site_config.h"
#include "app/status.h"
#include "app/version.h"
#include "base/log.h"
#include "base/time_text.h"
#include "exposition/prometheus_family.h"

namespace ioc_exporter::app {
namespace {

constexpr std::chrono::milliseconds kYoungInterval{250};
// While somebody looks at the host, or reads a database, for us.
constexpr std::chrono::milliseconds kBusyInterval{100};
// How long a tick waits for what looks at the host. The first one, and those of --check and --once,
// shall see all of it.
constexpr std::chrono::milliseconds kPatience{30};
constexpr std::chrono::milliseconds kFirstPatience{20'000};
constexpr std::chrono::seconds kLongestTick{60};
// An upper estimate of the size of the families about the exporter.
constexpr std::size_t kSelfBytes = 100 * 110;

// Of the service manager's folders the first, unless the operator names another.
std::string state_folder(const iocs::Options& options) {
  if (options.state_folder) return *options.state_folder;
  const char* const given = std::getenv("STATE_DIRECTORY");
  const std::string folder = given == nullptr ? "" : given;
  return folder.starts_with('/') ? folder.substr(0, folder.find(':')) : "";
}

ca::CaCollector::Setup ca_setup(const Options& options, const kernel::RingUse& ring,
                                const kernel::TraceUse& traces) {
  const bool stays = !options.check && !options.once;
  return {options.ca,
          options.iocs.filter,
          std::min<std::chrono::milliseconds>(options.iocs.keep_gone, iocs::GoneIocs::kKeepCounts),
          stays ? state_folder(options.iocs) : "",
          ring,
          traces};
}

pva::PvaCollector::Setup pva_setup(const Options& options, const kernel::RingUse& ring,
                                   const kernel::TraceUse& traces) {
  return {options.ca.server_probe, options.ca.put_expiry, ring, traces};
}

// --check and --once, beside a running exporter, write to none of its files.
putlog::Options put_log_options(const Options& options) {
  putlog::Options put_log = options.putlog;
  put_log.enabled = put_log.enabled && !options.check && !options.once;
  return put_log;
}

traces::Options trace_options(const Options& options) {
  traces::Options traces = options.traces;
  traces.enabled = traces.enabled && !options.check && !options.once;
  return traces;
}

// Null: traces are off.
std::shared_ptr<traces::TraceRing> ring_of_traces(const Options& options) {
  if (!trace_options(options).enabled) return nullptr;
  return std::make_shared<traces::TraceRing>(
      delivery::RingBounds{options.trace_outlets.memory_traces,
                           static_cast<std::size_t>(options.trace_outlets.memory_bytes)});
}

double seconds_since(Daemon::Clock::time_point start) {
  return std::chrono::duration<double>(Daemon::Clock::now() - start).count();
}

}  // namespace

iocs::Host::Options host_options(const Options& options,
                                 std::shared_ptr<iocs::ReaderPool> readers) {
  iocs::Host::Options host;
  host.reader = std::move(readers);
  host.finder.name_sources = options.iocs.name_sources;
  host.finder.filter = options.iocs.filter;
  host.finder.server_ports.insert(options.ca.server_ports.begin(), options.ca.server_ports.end());
  host.keep_gone = options.iocs.keep_gone;
  return host;
}

functions::Options function_options(const Options& options) {
  functions::Options functions = options.functions;
  functions.overhead_budget = options.records.overhead_budget;
  return functions;
}

Daemon::Daemon(const Options& options, std::unique_ptr<putlog::Outlets> outlets,
               std::unique_ptr<traces::Outlets> trace_outlets,
               std::unique_ptr<delivery::Process> delivery)
    : readers_(std::make_shared<iocs::ReaderPool>(RootedFs())),
      stays_(!options.check && !options.once),
      host_(RootedFs(), host_options(options, readers_)),
      trace_maps_(trace_options(options)),
      records_(host_, options.records, stays_ ? state_folder(options.iocs) : "", trace_maps_.use()),
      put_ring_(put_log_options(options)),
      puts_(host_, ca_setup(options, put_ring_.use(), trace_maps_.use())),
      pva_(host_, pva_setup(options, put_ring_.use(), trace_maps_.use()), puts_),
      functions_(host_, function_options(options)),
      policy_(host_, puts_, pva_),
      outlets_(std::move(outlets)),
      trace_outlets_(std::move(trace_outlets)),
      delivery_(std::move(delivery)),
      put_log_(host_, put_ring_, puts_, pva_, outlets_.get(), exemplars_),
      trace_ring_(trace_outlets_ ? ring_of_traces(options) : nullptr),
      trace_exemplars_(exemplars_),
      traces_(host_, options.traces, trace_maps_, records_, puts_,
              outlets_ ? outlets_->ring() : nullptr,
              outlets_ ? outlets_->privacy_of_users() : putlog::Privacy(),
              {trace_ring_.get(), trace_outlets_.get(), &trace_exemplars_}),
      iocs_(host_),
      collectors_{&iocs_, &records_, &puts_, &pva_, &functions_, &policy_, &put_log_, &traces_},
      interval_(options.iocs.interval) {
  puts_.set_more_pending([this](ca::PendingPuts& pending) { return pva_.add_pending(pending); });
  records_.use_threads([this] { return iocs_.threads(); });
}

Daemon::~Daemon() {
  readers_->stop();
  if (trace_ring_) trace_ring_->end();
}

Result<std::unique_ptr<Daemon>> Daemon::start(const Options& options) {
  std::unique_ptr<putlog::Outlets> outlets;
  if (put_log_options(options).enabled) {
    auto made = putlog::Outlets::make(options.putlog.outlets, build_info().version);
    if (!made) return std::move(made).error();
    outlets = std::move(*made);
  }
  std::unique_ptr<traces::Outlets> trace_outlets;
  if (trace_options(options).enabled) {
    auto made = traces::Outlets::make(options.trace_outlets, build_info().version);
    if (!made) return std::move(made).error();
    trace_outlets = std::move(*made);
  }
  auto delivery = start_delivery(outlets.get(), trace_outlets.get(), options);
  if (!delivery) return std::move(delivery).error();
  confine_state_keepers(options);
  std::unique_ptr<Daemon> daemon(
      new Daemon(options, std::move(outlets), std::move(trace_outlets), std::move(*delivery)));
  bool any_works = false, any_failed = false;
  for (const Collector* collector : daemon->collectors_)
    for (const ProbeState& probe : collector->probes()) {
      any_works |= probe.problem.empty() && collector != &daemon->iocs_;  // it counts nothing
      any_failed |= !probe.problem.empty();
    }
  if (any_failed && (!any_works || options.strict)) return error_in_words(daemon->why_failed());
  for (const Collector* collector : daemon->collectors_)
    for (const ProbeState& probe : collector->probes())
      if (!probe.problem.empty()) log::error("probe {} is missing: {}", probe.name, probe.problem);
  return daemon;
}

std::string Daemon::why_failed() const {
  std::string all;
  for (const Collector* collector : collectors_)
    for (const ProbeState& probe : collector->probes())
      if (!probe.problem.empty()) all += (all.empty() ? "" : "; ") + probe.problem;
  return all;
}

std::string Daemon::why_not_ready() const {
  if (!looked_once_.try_wait()) return "the host has not been looked at yet";
  {
    const std::scoped_lock lock(mutex_);
    if (detached_) return "all probes are taken off: SIGUSR2 or POST /-/attach brings them back";
  }
  return why_failed();
}

std::string Daemon::why_hangs(Clock::time_point now) const {
  const auto hangs = std::chrono::floor<std::chrono::seconds>(now - alive_at_.load());
  if (hangs < interval_ + kLongestTick) return "";
  return "the loop that looks at the host has not gone on for " + std::to_string(hangs.count()) +
         " s";
}

void Daemon::tick(Clock::time_point now) {
  note_alive();
  const auto patience = looked_ && stays_ ? kPatience : kFirstPatience;
  const Result<void> found =
      look_at_host(host_, collectors_, now, patience, [this] { note_alive(); });
  {
    const std::scoped_lock lock(host_.mutex());
    exemplars_.keep(host_.known_names());
  }
  const std::scoped_lock lock(mutex_);
  trouble_.report("find IOCs", found);
  if (delivery_) trouble_.report("deliver", delivery_->kept());
  discovery_ = {"discovery", found.ok(), host_.look_seconds()};
  ++ticks_;
  discovery_problem_ = found ? std::string() : found.error().message();
  if (!std::exchange(looked_, true)) looked_once_.count_down();
}

std::chrono::milliseconds Daemon::interval(Clock::time_point now) {
  if (host_.is_busy()) return std::min(kBusyInterval, interval_);
  return host_.any_young(now) ? std::min(kYoungInterval, interval_) : interval_;
}

std::optional<Daemon::Clock::time_point> Daemon::next_due() {
  std::optional<Clock::time_point> next;
  for (Collector* collector : collectors_)
    if (const auto due = collector->next_due(); due && (!next || *due < *next)) next = due;
  return next;
}

void Daemon::act_on_due(Clock::time_point now) {
  for (Collector* collector : collectors_) collector->act_on_due(now);
}

bool Daemon::detach_all() {
  host_.set_hands_off(
      true);  // before the lock: a reading of an IOC's memory that runs now is the last
  const std::scoped_lock lock(host_.mutex());
  host_.set_hands_off(true);  // an attach() may have come in between
  {
    const std::scoped_lock own(mutex_);
    if (std::exchange(detached_, true)) return false;
  }
  for (Collector* collector : collectors_) collector->detach();
  return true;
}

void Daemon::detach() {
  if (detach_all())
    log::warn("all probes are detached: nothing is counted until SIGUSR2 or POST /-/attach");
}

void Daemon::detach_to_end() {
  if (detach_all()) log::info("all probes are detached");
  puts_.keep_channels();
}

void Daemon::attach() {
  const std::scoped_lock lock(host_.mutex());
  {
    const std::scoped_lock own(mutex_);
    if (!std::exchange(detached_, false)) return;
  }
  host_.set_hands_off(false);
  for (Collector* collector : collectors_) collector->attach();
  log::info("all probes are attached again");
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
  looked_once_.wait();
  if (encoder.has_counter_facts()) encoder.use_exemplars(exemplars_.encoded(encoder));
  exposition::Page page{encoder};
  ExporterInfo exporter;
  for (Collector* collector : collectors_) collect(*collector, page);
  page.shared.encode(encoder);
  {
    const std::scoped_lock lock(mutex_);
    page.self.collectors.push_back(discovery_);
    page.self.config = config_;
    page.self.detached = detached_;
    page.self.loop_ticks = ticks_;
    exporter.area = area_;
    exporter.owner = owner_;
  }
  page.self.readers = readers_->sample();
  page.self.http = http_.sample();
  page.self.drops.push_back({"log", "no_room", standard_error().lost(), false});
  add_restarts(page.self);
  encoder.reserve(kSelfBytes);
  exporter.build = build_info();
  exporter.time_seconds = now_seconds();
  if (auto process = read_process_stats(RootedFs())) exporter.process = *process;
  exposition::encode_all(self_families(page.self, exporter), encoder);
}

exposition::StatusPage Daemon::status() {
  looked_once_.wait();
  exposition::StatusPage page;
  for (Collector* collector : collectors_) collector->status(page);
  std::vector<ProbeState> probes;
  for (const Collector* collector : collectors_)
    for (ProbeState& probe : collector->probes()) probes.push_back(std::move(probe));
  add_restarts(page.self);
  if (outlets_) page.notes.push_back(outlets_->why_stands());
  if (trace_outlets_) page.notes.push_back(trace_outlets_->why_stands());
  if (const auto kept = delivery_ ? delivery_->kept() : Result<void>(); !kept)
    page.notes.push_back(kept.error().message());
  std::erase(page.notes, "");
  const std::scoped_lock lock(mutex_);
  page.self.detached = detached_;
  finish_status(probes, page);
  return page;
}

// Events that were under way then are among the drops of its sinks.
void Daemon::add_restarts(SelfSamples& to) const {
  if (delivery_) to.drops.push_back({"delivery", "restart", delivery_->restarts(), true});
}

std::function<Result<UniqueFd>(const std::string&)> Daemon::ask_store() const {
  if (!delivery_ || !outlets_ || !outlets_->has_store()) return {};
  return [this](const std::string& question) { return delivery_->ask(question); };
}

void Daemon::use(const SiteSettings& site) {
  for (const std::string& line : site.options.gone) log::warn("{}", line);
  const exposition::BoundsOptions bounds = bounds_options(site.options);
  records_.set_bounds(bounds);
  puts_.set_bounds(bounds);
  puts_.set_put_expiry(site.options.ca.put_expiry);
  puts_.gateways().use(site.options.ca.gateways);
  pva_.set_bounds(bounds);
  pva_.set_put_expiry(site.options.ca.put_expiry);
  functions_.describe(site.options.functions.described, bounds);
  policy_.set_limit(bounds.limits.unexpected_puts);
  put_log_.set_policy(site.policy, [&] { return policy_.set_policy(site.policy); });
  iocs_.expect(site.expected_iocs);
  const std::scoped_lock lock(mutex_);
  area_ = site.options.area;
  owner_ = site.options.owner;
}

void Daemon::tell_config(const ConfigSample& sample) {
  const std::scoped_lock lock(mutex_);
  config_ = sample;
}

std::string Daemon::discovery_problem() const {
  const std::scoped_lock lock(mutex_);
  return discovery_problem_;
}

std::string Daemon::state_in_words() {
  std::size_t count = 0;
  {
    const std::scoped_lock lock(host_.mutex());
    count = host_.live().size();
  }
  std::string loaded;
  const Collector* const counting[] = {&puts_, &pva_, &records_};
  for (const Collector* collector : counting)
    for (const ProbeState& probe : collector->probes())
      if (probe.problem.empty()) loaded += (loaded.empty() ? "" : ", ") + probe.name;
  const std::string failed = why_failed();
  const std::scoped_lock lock(mutex_);
  std::string text = std::to_string(count) + (count == 1 ? " IOC; " : " IOCs; ");
  text += detached_ ? "detached" : loaded;
  return failed.empty() ? text : text + "; missing: " + failed;
}

}  // namespace ioc_exporter::app

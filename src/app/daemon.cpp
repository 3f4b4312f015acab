#include "app/daemon.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "app/site_config.h"
#include "ca/ports.h"

namespace ioc_exporter::app {
namespace {

using std::chrono::seconds;

constexpr const char* kRecordProbe = "record_process";
constexpr const char* kTapProbe = "ca_tap";
constexpr const char* kUdpProbe = "ca_udp";
constexpr seconds kThreadCheckInterval{30};
constexpr std::uint32_t kMostRecordCauses = 262'144;  // of 100,000 records, with some to spare
constexpr std::chrono::milliseconds kYoungInterval{250};
constexpr std::chrono::hours kPutExpiry{30 * 24};
constexpr seconds kPutExpiryInterval{10};
constexpr const char* kInitialPidNamespace =
    "pid:[4026531836]";  // PROC_PID_INIT_INO, linux/proc_ns.h

iocs::FinderOptions finder_options(const Options& options) {
  iocs::FinderOptions finder;
  finder.name_sources = options.iocs.name_sources;
  finder.filter = options.iocs.filter;
  finder.server_ports.insert(options.ca.server_ports.begin(), options.ca.server_ports.end());
  return finder;
}

bool is_denied(const Error& error) {
  return error.code == std::errc::operation_not_permitted ||
         error.code == std::errc::permission_denied;
}

// What libbpf says about a refusal is about kernels without BPF; nearly always it is that we are
// not root.
std::string explain(const std::string& probe, const Error& error) {
  if (is_denied(error) && ::geteuid() != 0)
    return "load probe " + probe + ": " + error.code.message() +
           ": not root (run ioc_exporter as root)";
  return error.message();
}

// CAP_SYS_PTRACE, bit 19 of CapEff in /proc/PID/status (linux/capability.h).
bool may_look_into_processes(const RootedFs& fs) {
  constexpr std::string_view kField = "CapEff:\t";
  const auto status = fs.read("/proc/self/status");
  const std::size_t at = status ? status->find(kField) : std::string::npos;
  if (at == std::string::npos) return false;
  return (std::strtoull(status->c_str() + at + kField.size(), nullptr, 16) >> 19 & 1) != 0;
}

ca::AddressedServers::Options addressed_options(const Options& options,
                                            const std::set<std::uint16_t>& ports) {
  ca::AddressedServers::Options addressed;
  addressed.remote = options.ca.remote_servers;
  addressed.ports = ports;
  addressed.filter = options.iocs.filter;
  addressed.keep = options.iocs.keep_gone;
  return addressed;
}

std::set<std::uint16_t> expected_ports(const Options& options) {
  std::set<std::uint16_t> ports(options.ca.server_ports.begin(), options.ca.server_ports.end());
  ports.insert(ca::kCaServerPort);
  return ports;
}

double seconds_since(Daemon::Clock::time_point start) {
  return std::chrono::duration<double>(Daemon::Clock::now() - start).count();
}

}  // namespace

Daemon::Daemon(const Options& options)
    : finder_(fs_, finder_options(options)),
      namespaces_(fs_, finder_.own_namespace()),
      addressed_(addressed_options(options, expected_ports(options))),
      server_ports_(expected_ports(options)),
      memory_(fs_, options.records.stuck_after),
      put_policy_(Clock::now()),
      seeding_(fs_),
      records_wanted_(options.records.enabled),
      puts_wanted_(options.ca.enabled),
      counts_links_(options.records.links > 0),
      interval_(options.iocs.interval),
      bounds_(exposition::BoundsOptions()),
      put_expiry_(kPutExpiry) {}

// BPF tells processes by their ids in the initial pid namespace: elsewhere, /proc shows other
// numbers.
Result<void> Daemon::load_records(const Options& options) {
  auto own = fs_.read_link("/proc/self/ns/pid");
  if (own && *own != kInitialPidNamespace)
    return error_in_words("count records: the exporter runs in a pid namespace of its own (" +
                          *own + "); run it in the host's (docker run --pid=host)");
  records::RecordProcessOptions probe_options;
  probe_options.max_threads = options.records.max_threads;
  probe_options.put_clients = options.records.put_clients;
  probe_options.timed_rate = options.records.timed_rate;
  probe_options.causes = options.records.causes ? kMostRecordCauses : 0;
  probe_options.links = options.records.links;
  auto records = records::RecordProcess::start(probe_options);
  if (!records) return std::move(records).error();
  records_.emplace(std::move(*records));
  return {};
}

Result<std::unique_ptr<Daemon>> Daemon::start(const Options& options) {
  std::unique_ptr<Daemon> daemon(new Daemon(options));
  if (options.records.enabled)
    if (auto loaded = daemon->load_records(options); !loaded)
      daemon->failed_[kRecordProbe] = explain(kRecordProbe, loaded.error());
  daemon->make_guard(options);
  if (options.ca.enabled)
    if (auto loaded = daemon->load_tap(options); !loaded)
      daemon->failed_[kTapProbe] = explain(kTapProbe, loaded.error());
  if (daemon->tap_)
    if (auto loaded = daemon->load_udp(options); !loaded)
      daemon->failed_[kUdpProbe] = explain(kUdpProbe, loaded.error());

  const bool none_works = !daemon->records_ && !daemon->tap_;
  if (!daemon->failed_.empty() && (none_works || options.strict))
    return error_in_words(daemon->why_failed());
  for (const auto& [probe, why] : daemon->failed_)
    spdlog::error("probe {} is missing: {}", probe, why);

  const auto failed = daemon->failed_.find(kRecordProbe);
  daemon->iocs_.emplace(daemon->fs_,
                        IocWatch::Options{options.iocs.keep_gone, options.records.puts},
                        daemon->records_ ? &*daemon->records_ : nullptr,
                        failed == daemon->failed_.end() ? std::string() : failed->second,
                        daemon->guard_ ? &*daemon->guard_ : nullptr);
  return daemon;
}

std::string Daemon::why_failed() const {
  std::string all;
  for (const auto& [probe, why] : failed_) all += (all.empty() ? "" : "; ") + why;
  return all;
}

// The same trouble is logged once, and again only after it had gone.
void Daemon::report(const std::string& action, const Result<void>& result) {
  if (result) {
    reported_.erase(action);
    return;
  }
  std::string text = result.error().message();
  std::string& before = reported_[action];
  if (before != text) spdlog::warn("{}: {}", action, text);
  before = std::move(text);
}

void Daemon::tick(Clock::time_point now) {
  const auto began = Clock::now();
  auto changes = finder_.poll(now);
  Result<void> found;
  if (!changes) found = changes.error();
  const auto unreadable = finder_.costs().unreadable;
  if (found && unreadable > 0 && !may_look_into_processes(fs_))
    found = error_in_words(std::to_string(unreadable) +
                           " processes could not be looked into: run as root, with CAP_SYS_PTRACE");
  {
    // At one go: a scrape that shows an IOC shows also what was put to it before it was found.
    const std::scoped_lock lock(mutex_);
    report("find IOCs", found);
    if (changes) iocs_->take_in(*changes, now);
    if (!finder_.rested()) serve_ports(now);
  }
  iocs_->read_due(now, mutex_);
  govern(now);
  seed_tap(now);
  const std::scoped_lock lock(mutex_);
  reap(now);
  judge_at_windows();
  tick_results_["discovery"] = {"discovery", found.ok(), seconds_since(began)};
  discovery_problem_ = found ? std::string() : found.error().message();
  if (!std::exchange(looked_, true)) looked_once_.count_down();
}

std::string Daemon::state_in_words() {
  const std::scoped_lock lock(mutex_);
  const std::size_t count = iocs_->live();
  std::string probes;
  for (const auto& [name, loaded] :
       {std::pair{kTapProbe, tap_.has_value()}, std::pair{kUdpProbe, udp_.has_value()},
        std::pair{kRecordProbe, records_.has_value()}})
    if (loaded) probes += (probes.empty() ? "" : ", ") + std::string(name);
  std::string text = std::to_string(count) + (count == 1 ? " IOC; " : " IOCs; ");
  text += detached_ ? "detached" : probes;
  return failed_.empty() ? text : text + "; missing: " + why_failed();
}

std::chrono::milliseconds Daemon::interval(Clock::time_point now) const {
  return iocs_->any_young(now) ? std::min(kYoungInterval, interval_) : interval_;
}

void Daemon::reap(Clock::time_point now) {
  // What no thread was started for can wait: a client's circuit is a thread of its server.
  const bool rests = finder_.rested();
  expire_puts(now);
  if (tap_ && !rests) report("take over the counts of closed channels", tap_->reap(now));
  if (udp_ && !rests) report("look at searches and beacons", udp_->look(now));
  if (!records_) return;
  report("look at clients and asynchronous records", iocs_->look_at_extras());
  // Clients that come and go leave a thread's stack behind with each connection.
  const auto use = records_->use();
  const bool crowded = use && use->threads * 2 > use->threads_capacity;
  if (now < next_thread_check_ && !crowded) return;
  next_thread_check_ = now + kThreadCheckInterval;
  report("free the stacks of ended threads",
         records_->free_ended_threads([this](std::int32_t pid, std::int32_t tid) {
           const std::string task = "/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid);
           return ::access(fs_.path(task).c_str(), F_OK) == 0;
         }));
}

// CLOCK_MONOTONIC is the clock of steady_clock and of the kernel's times alike.
void Daemon::expire_puts(Clock::time_point now) {
  if (!tap_ || now < next_put_expiry_) return;
  next_put_expiry_ = now + kPutExpiryInterval;
  const auto before =
      std::chrono::duration_cast<std::chrono::nanoseconds>((now - put_expiry_).time_since_epoch());
  if (before.count() > 0) tap_->expire_puts(static_cast<std::uint64_t>(before.count()));
}

void Daemon::use(const Site& site) {
  bounds_.configure(bounds_options(site));
  set_policy(site.policy);
  const std::scoped_lock lock(mutex_);
  put_expiry_ = site.put_expiry.value_or(kPutExpiry);
}

void Daemon::tell_config(const ConfigSample& sample) {
  const std::scoped_lock lock(mutex_);
  config_ = sample;
}

Snapshot Daemon::scrape_snapshot() {
  Snapshot shown = snapshot();
  bounds_.apply(shown);
  return shown;
}

// Outside the mutex: an IOC may make us wait.
void Daemon::look_at_memory() {
  std::vector<records::MemoryWatch::Job> jobs;
  {
    const std::scoped_lock lock(mutex_);
    jobs = iocs_->memory_jobs();
  }
  memory_.look(std::move(jobs));
}

IocWatch::Page Daemon::begin_page() {
  const std::scoped_lock lock(mutex_);
  return iocs_->begin_page();
}

Snapshot Daemon::snapshot() {
  looked_once_.wait();
  look_at_memory();
  auto began = Clock::now();
  IocWatch::Page page = begin_page();
  IocWatch::read_records(page);
  const std::scoped_lock lock(mutex_);
  iocs_->end_page(page);
  Snapshot snapshot;
  snapshot.config = config_;
  snapshot.iocs = std::move(page.iocs);
  memory_.add_to(snapshot.iocs);
  if (records_wanted_) {
    add_record_self(page.records, snapshot);
    snapshot.collectors.push_back(
        {"records", records_.has_value() && page.complete, seconds_since(began)});
  }
  began = Clock::now();
  if (puts_wanted_) {
    bool complete = add_puts(snapshot);
    complete = add_searches(snapshot) && complete;
    snapshot.collectors.push_back({"puts", complete, seconds_since(began)});
  }
  add_unnamed_channels(snapshot);
  add_overhead(snapshot);
  for (const auto& [name, result] : tick_results_) snapshot.collectors.push_back(result);
  return snapshot;
}

}  // namespace ioc_exporter::app

#include "app/daemon.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <array>
#include <utility>

namespace ioc_exporter::app {
namespace {

using std::chrono::seconds;

constexpr const char* kRecordProbe = "record_process";
constexpr const char* kTapProbe = "ca_tap";
constexpr seconds kThreadCheckInterval{30};
constexpr const char* kInitialPidNamespace = "pid:[4026531836]";  // PROC_PID_INIT_INO, linux/proc_ns.h

discovery::FinderOptions finder_options(const Options& options) {
  discovery::FinderOptions finder;
  finder.name_sources = options.name_sources;
  finder.filter = options.filter;
  return finder;
}

// What an EPERM means is not in the errno.
std::string with_advice(const Error& error) {
  std::string text = error.message();
  if (error.code == std::errc::operation_not_permitted || error.code == std::errc::permission_denied)
    if (::geteuid() != 0) text += " (not root: run it as root)";
  return text;
}

iocx_ca_address v4_mapped(const std::array<std::uint8_t, 4>& address) {
  const std::uint8_t octets[4] = {address[0], address[1], address[2], address[3]};
  return probes::ca_address_v4(octets);
}

double seconds_since(Daemon::Clock::time_point start) {
  return std::chrono::duration<double>(Daemon::Clock::now() - start).count();
}

}  // namespace

Daemon::Daemon(const Options& options)
    : finder_(fs_, finder_options(options)),
      records_wanted_(options.records),
      puts_wanted_(options.puts) {}

// BPF tells processes by their ids in the initial pid namespace: elsewhere, /proc shows other numbers.
Result<void> Daemon::load_records(const Options& options) {
  auto own = fs_.read_link("/proc/self/ns/pid");
  if (own && *own != kInitialPidNamespace)
    return error_in_words("count records: the exporter runs in a pid namespace of its own (" + *own +
                          "); run it in the host's (docker run --pid=host)");
  bpf::RecordProcessOptions probe_options;
  probe_options.max_threads = options.record_threads;
  auto records = probes::RecordProcess::start(probe_options);
  if (!records) return std::move(records).error();
  records_.emplace(std::move(*records));
  return {};
}

Result<void> Daemon::load_tap() {
  probes::CaTapOptions options;
  options.fs = fs_;
  auto tap = probes::CaTap::start(std::move(options));
  if (!tap) return std::move(tap).error();
  tap_.emplace(std::move(*tap));
  return {};
}

Result<std::unique_ptr<Daemon>> Daemon::start(const Options& options) {
  std::unique_ptr<Daemon> daemon(new Daemon(options));
  if (options.records)
    if (auto loaded = daemon->load_records(options); !loaded)
      daemon->failed_[kRecordProbe] = with_advice(loaded.error());
  if (options.puts)
    if (auto loaded = daemon->load_tap(); !loaded) daemon->failed_[kTapProbe] = with_advice(loaded.error());

  const bool none_works = !daemon->records_ && !daemon->tap_;
  if (!daemon->failed_.empty() && (none_works || options.strict))
    return error_in_words(daemon->failed_.begin()->second);
  for (const auto& [probe, why] : daemon->failed_) spdlog::error("probe {} is missing: {}", probe, why);

  const auto failed = daemon->failed_.find(kRecordProbe);
  daemon->iocs_.emplace(daemon->fs_, IocWatch::Options{options.keep_gone},
                        daemon->records_ ? &*daemon->records_ : nullptr,
                        failed == daemon->failed_.end() ? std::string() : failed->second);
  return daemon;
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
  const bool found = changes.ok();
  if (found)
    iocs_->advance(*changes, now, mutex_);
  const std::scoped_lock lock(mutex_);
  report("find IOCs", found ? Result<void>() : Result<void>(changes.error()));
  serve_ports();
  reap(now);
  tick_results_["discovery"] = {"discovery", found, seconds_since(began)};
}

// Tells the tap where to look.
void Daemon::serve_ports() {
  if (!tap_) return;
  std::vector<probes::CaServer> servers;
  for (const IocWatch::Served& served : iocs_->served()) {
    if (!served.ioc->own_net_namespace) continue;
    for (const auto& socket : served.ioc->listening) {
      probes::CaServer server;
      if (socket.address) server.address = v4_mapped(*socket.address);
      server.port = socket.port;
      server.ioc = served.number;
      servers.push_back(server);
    }
  }
  report("watch the ports of IOCs", tap_->set_servers(servers));
  for (const std::uint32_t number : iocs_->take_forgotten())
    report("forget the puts of an IOC that is gone", tap_->forget(number));
}

void Daemon::reap(Clock::time_point now) {
  if (tap_) report("take over the counts of closed channels", tap_->reap());
  if (!records_ || now < next_thread_check_) return;
  next_thread_check_ = now + kThreadCheckInterval;
  report("free the stacks of ended threads",
         records_->free_ended_threads([this](std::int32_t pid, std::int32_t tid) {
           const std::string task = "/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid);
           return ::access(fs_.path(task).c_str(), F_OK) == 0;
         }));
}

Snapshot Daemon::snapshot() {
  const std::scoped_lock lock(mutex_);
  Snapshot snapshot;
  auto began = Clock::now();
  snapshot.iocs = iocs_->sample();
  if (records_wanted_) {
    add_record_self(snapshot);
    snapshot.collectors.push_back(
        {"records", records_.has_value() && iocs_->last_sample_complete(), seconds_since(began)});
  }
  began = Clock::now();
  if (puts_wanted_) {
    const bool complete = add_puts(snapshot);
    snapshot.collectors.push_back({"puts", complete, seconds_since(began)});
  }
  for (const auto& [name, result] : tick_results_) snapshot.collectors.push_back(result);
  return snapshot;
}

}  // namespace ioc_exporter::app

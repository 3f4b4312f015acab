// Daemon: the host, the collectors, and the loop over them. It times each scrape of a collector; a
// collector that fails does not affect the others.
//
// tick() and act_on_due() are called by one thread; all else by any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <latch>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "app/http_audit.h"
#include "app/self_families.h"
#include "base/log.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "exposition/self_samples.h"

namespace ioc_exporter {
class Collector;
class Helper;
}  // namespace ioc_exporter
namespace ioc_exporter::exposition {
class Encoder;
struct Page;
struct StatusPage;
}  // namespace ioc_exporter::exposition

namespace ioc_exporter::app {

struct Rooms;
struct SiteSettings;

class Daemon {
 public:
  using Clock = std::chrono::steady_clock;

  // `attach`: start_attach_helper(). So nothing starts a thread, or scans the host, before that
  // was forked.
  Daemon(const SiteSettings& site, std::unique_ptr<Rooms> rooms, std::shared_ptr<Helper> attach);
  // Waits for no reading.
  ~Daemon();

  // One scan of the host: finds IOCs, attaches, frees what has ended.
  void tick(Clock::time_point now = Clock::now());
  // How long to wait for the next tick: short while an IOC is starting, for its first clients'
  // sake.
  std::chrono::milliseconds interval(Clock::time_point now = Clock::now());
  // The first moment at which a collector wants to act before the next tick, if there is one.
  std::optional<Clock::time_point> next_due();
  void act_on_due(Clock::time_point now = Clock::now());

  // Takes all probes off, at once, and leaves all IOCs' memory alone; and the way back.
  void detach();
  void attach();
  // The same before the end; a signal may bring them back until then.
  void detach_to_end();

  // One scrape: the families of all collectors, then those about the exporter. Waits for the
  // first tick() to be done, so that the result is complete.
  void scrape(exposition::Encoder& encoder);
  // The page at "/" and the output of --check; the same.
  exposition::StatusPage status();

  // From now on these bounds are kept, and puts are judged by this policy; those that were counted
  // before by the former one. Nothing that was counted is lost.
  void use(const SiteSettings& site);
  // Result of the last reload, for later scrapes.
  void set_config(const ConfigSample& sample);
  HttpAudit& http() { return http_; }

  // One line for the service manager: "3 IOCs; ca_tap, ca_udp, record_process".
  std::string state_in_words();
  // Why the exporter cannot go on: its helper process has ended. "" = it can.
  std::string why_ended() const;
  // Why the exporter does not count what it should; "" = it does, or counts the IOCs that come.
  std::string why_not_ready() const;
  // The loop says that it goes on; tick() does, too.
  void note_alive(Clock::time_point now = Clock::now()) { alive_at_ = now; }
  // Since when the loop hangs, in words; "" = it does not.
  std::string why_hangs(Clock::time_point now = Clock::now()) const;
  // Why the last tick did not see all processes; "" = it did.
  std::string discovery_problem() const;

 private:
  Result<void> scan_host(Clock::time_point now, std::chrono::milliseconds patience);
  void follow(Clock::time_point now);

  void collect(Collector& collector, exposition::Page& page);
  bool detach_all();
  void add_restarts(SelfSamples& to) const;

  const std::unique_ptr<Rooms> rooms_;
  const std::shared_ptr<Helper> attach_;
  const bool stays_;  // no --check, no --once
  std::chrono::milliseconds interval_;
  std::atomic<Clock::time_point> alive_at_ = Clock::now();
  std::latch scanned_once_{1};
  bool scanned_ = false;  // only for the loop; the others wait for scanned_once_
  std::mutex switching_;  // held while probes come off, or back
  std::atomic<bool> detached_ = false;
  mutable std::mutex mutex_;  // of the members below
  TroubleLog trouble_;
  CollectorSample discovery_;
  std::string discovery_problem_;
  std::optional<ConfigSample> config_;
  std::string area_, owner_;
  HttpAudit http_;
  std::uint64_t ticks_ = 0;
};

}  // namespace ioc_exporter::app

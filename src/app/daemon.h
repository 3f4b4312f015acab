// Daemon: the exporter without its web server. Owns the finder, the probes and what is known of the
// IOCs.
//
// tick() is called by one thread, again and again; snapshot() by any thread at any time.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <latch>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ca/remote_servers.h"
#include "ca/seeding.h"
#include "app/ioc_watch.h"
#include "ca/server_detector.h"
#include "app/options.h"
#include "records/probe_seconds.h"
#include "policy/put_policy.h"
#include "ca/pv_records.h"
#include "records/probe_limiter.h"
#include "ca/tapped_namespaces.h"
#include "base/wall_clock.h"
#include "iocs/finder.h"
#include "app/bounds.h"
#include "ca/tap.h"
#include "ca/udp.h"
#include "records/process.h"
#include "base/samples.h"
#include "base/rooted_fs.h"

namespace ioc_exporter::app {

struct Site;

class Daemon {
 public:
  using Clock = std::chrono::steady_clock;

  // Loads the probes. One that fails leaves the other running, and shows on /metrics; it is an
  // error when all fail, or any with --strict.
  static Result<std::unique_ptr<Daemon>> start(const Options& options);

  // One look at the host: finds IOCs, attaches, frees what has ended.
  void tick(Clock::time_point now = Clock::now());
  // How long to wait for the next tick: short while an IOC is starting, for its first clients'
  // sake.
  std::chrono::milliseconds interval(Clock::time_point now = Clock::now()) const;

  // Ends slices and pauses of IOCs that cost more than the budget; cheap when none is due. To be
  // called by the thread that ticks, also between two ticks: when next_end_of_slice() comes.
  void govern(Clock::time_point now = Clock::now());
  std::optional<Clock::time_point> next_end_of_slice();

  // Takes all probes off, at once, and leaves all IOCs' memory alone; and the way back. In any
  // thread.
  void detach();
  void attach();

  // Waits for the first tick() to be done: what it gives is never half of the picture.
  Snapshot snapshot();
  // The same within the site's bounds: what is shown on /metrics.
  Snapshot scrape_snapshot();

  // From now on these bounds are kept, and puts are judged by this policy; those that were counted
  // before by the former one. In any thread; nothing that was counted is lost.
  void use(const Site& site);
  // What the snapshots say about that from now on. In any thread.
  void tell_config(const ConfigSample& sample);

  // To be called after each scrape.
  void note_scrape(double cpu_seconds);

  // One line for the service manager: "3 IOCs; ca_tap, ca_udp, record_process".
  std::string state_in_words();
  // To be told by whoever answered a request for the metrics with a snapshot, Snapshot::policy_look
  // of which is `look`. In any thread.
  void served(const web::Request& request, std::uint64_t look);

  // Whether links from record to record are counted.
  bool counts_links() const { return counts_links_; }

  // Why a probe could not be loaded, by its name. Empty: all that are turned on work.
  const std::map<std::string, std::string>& failed_probes() const { return failed_; }
  // What kept the last tick from seeing all processes; "" = nothing. Only for the thread that
  // ticks.
  const std::string& discovery_problem() const { return discovery_problem_; }

 private:
  explicit Daemon(const Options& options);

  Result<void> load_records(const Options& options);
  void make_guard(const Options& options);
  void add_overhead(Snapshot& snapshot);
  Result<void> load_tap(const Options& options);
  Result<void> load_udp(const Options& options);
  std::string why_failed() const;
  std::vector<IocWatch::Served> served() const;
  void serve_ports(Clock::time_point now);
  std::vector<ca::CaServer> places_of_servers(
      const std::vector<IocWatch::Served>& served) const;
  std::vector<ca::CaServer> addressed_now(const std::vector<ca::CaServer>& learned) const;
  void let_addressed_go(Clock::time_point now);
  void seed_tap(Clock::time_point now);
  void reap(Clock::time_point now);
  void look_at_memory();
  void expire_puts(Clock::time_point now);
  bool add_puts(Snapshot& snapshot);      // false when something could not be read
  bool add_searches(Snapshot& snapshot);  // the same
  IocWatch::Page begin_page();
  void add_record_self(std::uint64_t records, Snapshot& snapshot);
  Result<ca::CaTapReading> read_puts(bool judges);  // judges what it reads
  void judge_at_windows();
  void set_policy(std::shared_ptr<const policy::Policy> policy);
  void add_unnamed_channels(Snapshot& snapshot) const;

  RootedFs fs_;
  std::mutex mutex_;
  iocs::Finder finder_;
  std::optional<records::RecordProcess> records_;
  std::optional<records::RecordGuard> guard_;  // there when records_ is
  std::optional<HitCostSample> hit_cost_;
  records::HitCost assumed_cost_ = records::kAssumedHitCost;  // measured, where it could be
  records::ProbeSeconds probe_seconds_;
  std::mutex scrape_mutex_;
  ScrapeCostSample scrape_cost_;  // guarded by scrape_mutex_
  bool detached_ = false;
  std::atomic<bool> seed_anew_ = false;  // what is open, since it was not seen to be opened
  std::optional<ca::CaTap> tap_;
  std::optional<ca::CaUdp> udp_;  // goes before the tap
  ca::TappedNamespaces namespaces_;
  ca::ListenerJudge judge_;
  ca::AddressedServers addressed_;
  std::set<std::uint16_t> server_ports_;  // where a CA server is expected
  std::optional<IocWatch> iocs_;
  records::MemoryWatch memory_;
  WallClock wall_clock_;
  ca::PvRecords pv_records_;
  policy::PutPolicy put_policy_;
  ca::CaSeeding seeding_;
  std::map<std::string, std::string> failed_;    // probe -> why
  std::map<std::string, std::string> reported_;  // trouble that was logged: action -> text
  std::latch looked_once_{1};
  bool looked_ = false;
  bool records_wanted_;
  bool puts_wanted_;
  bool counts_links_;
  std::chrono::milliseconds interval_;
  std::string discovery_problem_;
  Bounds bounds_;
  std::optional<ConfigSample> config_;
  std::chrono::milliseconds put_expiry_;
  Clock::time_point next_put_expiry_{};
  std::map<std::string, CollectorSample> tick_results_;  // of collectors that work in tick()
  Clock::time_point next_thread_check_{};
  Clock::time_point next_letting_go_{};

  void report(const std::string& action, const Result<void>& result);
};

}  // namespace ioc_exporter::app

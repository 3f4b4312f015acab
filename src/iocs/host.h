// Host: the IOCs on this host, as all collectors see them. It finds them, reads their databases
// from their memory, and keeps those that have ended for a while. Other CA servers are followed and
// named like them, without a database.
//
// One thread changes it: poll(), apply(), read_databases() and apply_databases(), in this order.
// Two workers scan processes and read databases, independently of each other; the calls wait for
// them for `patience` at most, and a later call takes over what was not done. All others read
// view().
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/rooted_fs.h"
#include "base/worker.h"
#include "iocs/find/finder.h"
#include "iocs/host_view.h"
#include "iocs/known_iocs.h"

namespace ioc_exporter::iocs {

class Host {
 public:
  using Clock = HostView::Clock;
  struct Options {
    FinderOptions finder;
    std::chrono::milliseconds keep_gone = std::chrono::hours(24);
    std::size_t most_gone = GoneIocs::kMost;
    std::shared_ptr<ProcessReader> reader;  // null: nobody reads for it
  };
  // Listening sockets, as the last scan of the host found them: see Finder.
  struct ListenersSeen {
    bool idle = false;
    std::set<Listener> unclaimed;
    std::vector<Listener> ownerless;
  };

  Host(RootedFs fs, Options options);

  // In any thread:
  std::shared_ptr<const HostView> view() const;
  const RootedFs& fs() const { return fs_; }
  const std::shared_ptr<ProcessReader>& reader() const { return reader_; }
  std::uint64_t own_namespace() const { return own_namespace_; }
  // While it is set, no IOC's memory is read and nothing is attached.
  void set_hands_off(bool hands_off) { hands_off_ = hands_off; }
  bool hands_off() const { return hands_off_; }
  // Its memory and its code are not to be touched: the operator wants it, or somebody has stopped
  // or traces the IOC.
  bool left_alone(const LiveIoc& live) const {
    return hands_off_ || !live.ioc.traced_or_stopped.empty();
  }
  // The databases of these IOCs lack records that they have: they are read again.
  void want_databases(std::set<std::string> iocs);

  // Only in the thread that changes the host:

  // The next scan takes that listener's process for a server of that kind.
  const ListenersSeen& listeners() const { return seen_.listeners; }
  void speaks(const Listener& listener, IocKind kind) {
    next_.speaking.emplace_back(listener, kind);
  }
  // A number for each name, for the kernel's tables: the same until its counts are forgotten. The
  // view has it after publish().
  std::uint32_t number_of(const std::string& name) { return known_.number_of(name); }
  // Name of a server that is no process of this host.
  void release(const std::string& name) { known_.release(name); }
  // Numbers whose counts are not kept any more, since the last call.
  std::vector<std::uint32_t> take_forgotten() { return known_.take_forgotten(); }

  // Scans the host. An error: not all processes were seen, at the last finished scan.
  Result<void> poll(Clock::time_point now, std::chrono::milliseconds patience);
  // How long the last finished scan took.
  double scan_seconds() const { return seen_.seconds; }
  // Finder::task_changes(), as of the last scan.
  std::uint64_t task_changes() const { return seen_.task_changes; }
  // A scan or a reading is under way, or done and not taken over.
  bool is_busy() const { return is_scanning_ || is_reading_; }
  // Publishes what poll() saw.
  void apply(Clock::time_point now);
  // Reads databases that are due, for kTogether at most. True: there are more.
  bool read_databases(Clock::time_point now, std::chrono::milliseconds patience);
  // Publishes what read_databases() read.
  void apply_databases(Clock::time_point now);
  bool has_databases_to_apply() const { return !due_.empty(); }
  // Makes a new view(), where something has changed.
  void publish();

 private:
  struct Reading {
    DatabaseReading database;
    std::optional<std::uint16_t> ca_port;
    std::string problem;
  };

  // A database to read, then what was read.
  struct Due {
    Ioc ioc;
    std::uint64_t serial = 0;
    std::optional<Reading> reading;
    Clock::duration pause{};
  };
  // For a scan: speakers of CA, and names that are not given.
  struct Asked {
    std::vector<std::pair<Listener, IocKind>> speaking;
    std::optional<std::map<std::string, NameClaim>> reserved;
  };
  struct Scan {
    Changes changes;
    ListenersSeen listeners;
    std::uint64_t left_out = 0;
    Result<void> result;
    double seconds = 0;
    std::uint64_t task_changes = 0;
  };

  void scan(Clock::time_point now);
  Reading read(const Ioc& ioc) const;
  void read_all();
  void take_over_scan(std::chrono::milliseconds patience);
  void take_over_read(std::chrono::milliseconds patience);
  bool is_due(const LiveIoc& live, Clock::time_point now) const;
  // `pause`: how long to leave the IOC's memory alone now.
  static void apply(LiveIoc& live, Reading reading, Clock::time_point now, Clock::duration pause);

  RootedFs fs_;
  std::shared_ptr<ProcessReader> reader_;
  Finder finder_;  // the worker's, but for what never changes
  std::uint64_t own_namespace_;
  std::atomic<bool> hands_off_ = false;
  KnownIocs known_;
  mutable std::mutex mutex_;  // of the next two
  std::shared_ptr<const HostView> view_;
  std::set<std::string> outdated_;  // wanted databases
  Asked next_;
  Scan seen_;             // the last one
  std::vector<Due> due_;  // read, and not applied yet
  bool is_scanning_ = false;
  bool is_reading_ = false;
  Asked asked_;                     // of the worker, while it scans
  Scan scan_;                       // the same
  std::vector<Due> reading_;        // of the other one, while it reads
  Worker scanner_, memory_reader_;  // last: they end first
};

}  // namespace ioc_exporter::iocs

// Host: the IOCs on this host, as all collectors see them. It finds them, reads their databases
// from their memory, and keeps those that have ended for a while. Other CA servers are followed and
// named like them, without a database.
//
// One thread changes it: poll(), apply(), read_databases() and apply_databases(), in this order.
// Two workers look at processes and read databases, independently of each other; the calls wait for
// them for `patience` at most, and a later call takes over what was not done. A scrape holds
// mutex(), too; an IOC's memory is read without it.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/retry.h"
#include "base/rooted_fs.h"
#include "base/worker.h"
#include "iocs/find/finder.h"
#include "iocs/gone_iocs.h"
#include "iocs/ioc.h"
#include "iocs/memory/database_reader.h"
#include "iocs/samples.h"

namespace ioc_exporter::iocs {

// "ioc NAME (pid 812)", for messages.
std::string subject_of(const Ioc& ioc);

// Area of a problem with an IOC. The first that has one is shown.
enum class Concern { database, records };
inline constexpr std::size_t kConcerns = 2;

// An IOC that runs.
struct LiveIoc : GoneIocs::Life {
  Ioc ioc;
  // Of this life: an exec in place, or another name, begins another under the same IocId.
  std::uint64_t serial = 0;
  std::shared_ptr<const Database> database;
  FieldOffsets offsets;                  // with the database
  bool initialized = false;              // iocInit has run: the database is final
  std::optional<std::uint16_t> ca_port;  // of its CA server, once it is known
  std::array<std::string, kConcerns> problems;
  Retry reading;  // of its database
  std::chrono::steady_clock::time_point found;
  std::atomic<bool> has_unknown_records = false;  // set by want_database(), in any thread
};

// KnownIocs: the IOCs that run, and what is kept of those that have ended. Functions are called
// under mutex(), or in the thread that changes the state, unless they say otherwise.
class KnownIocs {
 public:
  // Limit of log lines a minute about IOCs that come and go: more than an honest host has, also
  // when it boots.
  static constexpr std::uint64_t kMostLines = 2048;

  using Clock = std::chrono::steady_clock;

  std::mutex& mutex() const { return mutex_; }
  // While it is set, no IOC's memory is read and nothing is attached. In any thread.
  void set_hands_off(bool hands_off) { hands_off_ = hands_off; }
  bool hands_off() const { return hands_off_; }
  // Its memory and its code are not to be touched: the operator wants it, or somebody has stopped
  // or traces the IOC.
  bool left_alone(const LiveIoc& live) const {
    return hands_off_ || !live.ioc.traced_or_stopped.empty();
  }

  const std::map<IocId, LiveIoc>& live() const { return live_; }
  // Null: it has ended, also where another program runs in its process now.
  const LiveIoc* find(const IocId& id, std::uint64_t serial) const;
  // An IOC is young: what it listens on may change at any moment.
  bool any_young(Clock::time_point now) const;
  // The database of an IOC lacks records that it has: it is read again.
  void want_database(const IocId& id);
  void want_databases(const std::set<std::string>& iocs);
  // "" = none.
  void set_problem(const IocId& id, Concern concern, std::string problem);

  // A number for each name, for the kernel's tables: the same until its counts are forgotten.
  std::uint32_t number_of(const std::string& name) { return gone_.number_of(name); }
  // Name of a server that is no process of this host.
  void release(const std::string& name);
  // Numbers whose counts are not kept any more, since the last call.
  std::vector<std::uint32_t> take_forgotten() { return gone_.take_forgotten(); }
  // Names by number; those that are gone are there until their counts are forgotten.
  std::map<std::uint32_t, std::string> names() const;
  // The same names: of all that metrics may be about.
  std::unordered_set<std::string> known_names() const;
  // Whether anything of that IOC is on the page.
  bool knows(const std::string& name) const {
    return gone_.numbers().contains(name) || gone_.contains(name);
  }
  // Names of gone IOCs, and their users.
  std::map<std::string, NameClaim> gone_names() const { return gone_.names(); }

  // Facts of an IOC, and of all: those that run, then those that are gone.
  IocFacts facts(const LiveIoc& live) const;
  std::vector<IocFacts> facts() const;

 protected:
  KnownIocs(std::chrono::milliseconds keep_gone, std::size_t most_gone)
      : gone_(keep_gone, most_gone) {}
  void apply(const Changes& changes, Clock::time_point now);

  std::map<IocId, LiveIoc> live_;

 private:
  void begin_life(LiveIoc& live, const Ioc& ioc, Clock::time_point now);
  void start(const Ioc& ioc, Clock::time_point now);
  void change(const Ioc& ioc, Clock::time_point now);
  void end(const Ioc& ioc, Clock::time_point now);
  bool may_log(Clock::time_point now);

  mutable std::mutex mutex_;
  std::atomic<bool> hands_off_ = false;
  GoneIocs gone_;
  LogBound comings_and_goings_{kMostLines};
  std::uint64_t next_serial_ = 1;
};

class Host : public KnownIocs {
 public:
  struct Options {
    FinderOptions finder;
    std::chrono::milliseconds keep_gone = std::chrono::hours(24);
    std::size_t most_gone = GoneIocs::kMost;
    std::shared_ptr<ProcessReader> reader;  // null: nobody reads for it
  };
  // Listening sockets, as the last look at the host found them: see Finder.
  struct ListenersSeen {
    bool rested = false;
    std::set<Listener> unclaimed;
    std::vector<Listener> ownerless;
  };

  Host(RootedFs fs, Options options);

  const RootedFs& fs() const { return fs_; }
  const std::shared_ptr<ProcessReader>& reader() const { return reader_; }
  std::uint64_t own_namespace() const { return own_namespace_; }
  // Source for Finder::tell_hold_changes(), called at each poll() and in its thread.
  void ask_hold_changes(std::function<std::optional<std::uint64_t>()> ask) {
    ask_hold_changes_ = std::move(ask);
  }
  // In the thread that changes it. The next look takes that listener's process for a server of that
  // kind.
  const ListenersSeen& listeners() const { return seen_.listeners; }
  void speaks(const Listener& listener, IocKind kind) {
    next_.speaking.emplace_back(listener, kind);
  }

  // Looks at the host. An error: not all processes were seen, at the last look that was done.
  Result<void> poll(Clock::time_point now, std::chrono::milliseconds patience);
  // How long the last look took, and when it was done; a look that is under way is not.
  double look_seconds() const { return seen_.seconds; }
  // Finder::task_changes(), as of the last look.
  std::uint64_t task_changes() const { return seen_.task_changes; }
  // Finder::left_out() then.
  std::uint64_t left_out() const { return seen_.left_out; }
  // A look or a reading is under way, or done and not taken over.
  bool is_busy() const { return is_looking_ || is_reading_; }
  // Publishes what poll() saw to the functions below. Under the mutex.
  void apply(Clock::time_point now);
  // Reads databases that are due, for kTogether at most, without the mutex. True: there are more.
  bool read_databases(Clock::time_point now, std::chrono::milliseconds patience);
  // Publishes what read_databases() read. Under the mutex.
  void apply_databases(Clock::time_point now);
  bool has_databases_to_apply() const { return !due_.empty(); }

  // The next look gives these names to no other IOC: NameRegistry::reserve().
  void reserve_names(std::map<std::string, NameClaim> names) { next_.reserved = std::move(names); }

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
    Clock::duration rest{};
  };
  // For a look: speakers of CA, names that are not given, and Finder::tell_hold_changes().
  struct Asked {
    std::vector<std::pair<Listener, IocKind>> speaking;
    std::optional<std::map<std::string, NameClaim>> reserved;
    std::optional<std::uint64_t> hold_changes;
  };
  struct Look {
    Changes changes;
    ListenersSeen listeners;
    std::uint64_t left_out = 0;
    Result<void> result;
    double seconds = 0;
    std::uint64_t task_changes = 0;
  };

  void look(Clock::time_point now);
  Reading read(const Ioc& ioc) const;
  void read_all();
  void take_over_look(std::chrono::milliseconds patience);
  void take_over_read(std::chrono::milliseconds patience);
  // `rest`: how long to leave the IOC's memory alone now.
  static void apply(LiveIoc& live, Reading reading, Clock::time_point now, Clock::duration rest);

  RootedFs fs_;
  std::shared_ptr<ProcessReader> reader_;
  Finder finder_;  // the worker's, but for what never changes
  std::uint64_t own_namespace_;
  std::function<std::optional<std::uint64_t>()> ask_hold_changes_;
  Asked next_;
  Look seen_;             // the last one
  std::vector<Due> due_;  // read, and not applied yet
  bool is_looking_ = false;
  bool is_reading_ = false;
  Asked asked_;                    // of the worker, while it looks
  Look look_;                      // the same
  std::vector<Due> reading_;       // of the other one, while it reads
  Worker looker_, memory_reader_;  // last: they end first
};

}  // namespace ioc_exporter::iocs

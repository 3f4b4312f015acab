// IocWatch: what the exporter does for each IOC that the finder tells of. It reads the IOC's
// database from its memory, has its records counted, and turns all that into samples. CA servers
// that are no IOCs are followed and named like them, and have no records.
//
// One thread changes it (take_in(), read_due() and what they call); samples may be taken from
// others at the same time, under the mutex that is given to both. Reading an IOC's memory happens
// outside that mutex.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "iocs/health.h"
#include "records/memory_watch.h"
#include "records/pending_records.h"
#include "records/causes.h"
#include "records/extra_probes.h"
#include "records/probe_limiter.h"
#include "iocs/finder.h"
#include "iocs/ioc.h"
#include "iocs/database_reader.h"
#include "records/process.h"
#include "base/samples.h"
#include "base/rooted_fs.h"

namespace ioc_exporter::app {

// "ioc NAME (pid 812)", for messages.
std::string subject_of(const iocs::Ioc& ioc);

class IocWatch {
 public:
  using Clock = std::chrono::steady_clock;

  struct Options {
    std::chrono::milliseconds keep_gone{300'000};
    bool record_puts = true;  // count writes inside the IOC
  };

  // `records` and its guard, both or none, may be null: then no record is counted, and each IOC
  // says `why_no_records`.
  IocWatch(RootedFs fs, Options options, records::RecordProcess* records, std::string why_no_records,
           records::RecordGuard* guard = nullptr);

  // Takes in what the finder saw. Under the mutex.
  void take_in(const iocs::Changes& changes, Clock::time_point now);
  // Reads and attaches whatever is due.
  void read_due(Clock::time_point now, std::mutex& mutex);

  // See RecordExtras. Under the mutex.
  Result<void> look_at_extras() { return extras_.look(watched()); }
  // While it is set, no IOC's memory is read and nothing is attached. In any thread.
  void set_hands_off(bool hands_off) { hands_off_ = hands_off; }
  bool hands_off() const { return hands_off_; }

  // A number for each IOC's name that stays the same when the IOC is restarted; for the tap.
  struct Served {
    std::uint32_t number = 0;
    const iocs::Ioc* ioc = nullptr;
    std::optional<std::uint16_t> ca_port;  // of its CA server, once it is known
    // What the tap calls its network namespace; nothing: it does not look into it.
    std::optional<std::uint32_t> net = std::nullopt;
  };
  std::vector<Served> served() const;
  std::size_t live() const { return live_.size(); }
  // The running IOCs whose database is known and final, without those that somebody holds.
  std::vector<records::MemoryWatch::Job> memory_jobs() const;
  // The number of a server that is no process of this host, by its name; the same until release().
  std::uint32_t number_of(const std::string& name);
  void release(const std::string& name);
  // Why puts to IOCs in a network namespace, told by its inode, are not counted.
  void set_network_problems(std::map<std::uint64_t, std::string> problems);
  // An IOC is young: what it listens on may change at any moment.
  bool any_young(Clock::time_point now) const;
  // Numbers whose IOC is gone for longer than keep_gone, since the last call.
  std::vector<std::uint32_t> take_forgotten();
  // The IOCs' names by their numbers; those that are gone are there until they are forgotten.
  std::map<std::uint32_t, std::string> names() const;

  // The IOCs for a page, in three steps: to read the counts of many records takes long, and must
  // hold nobody up. Nothing in it points to this object.
  struct Page {
    std::vector<IocSample> iocs;
    std::vector<records::PendingRecords> pending = {};
    std::uint64_t records = 0;  // that were counted
    bool complete = true;       // all of the kernel's maps could be read
  };
  Page begin_page();                     // under the mutex: all but the counts of records
  static void read_records(Page& page);  // without it
  void end_page(const Page& page);       // under the mutex: takes in what was seen
  // Writes that stand without their client for want of room.
  std::uint64_t puts_over_limit() const { return extras_.puts_over_limit(); }

 private:
  struct Live {
    iocs::Ioc ioc;
    std::uint32_t number = 0;
    std::optional<std::uint32_t> slot;  // of the record probes
    std::vector<std::string> notes;     // what they do not count, and why
    std::shared_ptr<const Database> database;
    iocs::FieldOffsets offsets;                  // with the database
    bool initialized = false;                   // iocInit has run: the database is final
    std::atomic<bool> unknown_records = false;  // set by end_page(), in any thread
    std::optional<std::uint16_t> ca_port;
    std::string problem;
    std::string reported;   // the problem that was logged last
    unsigned failures = 0;  // in a row
    Clock::time_point found;
    Clock::time_point next_read;
  };
  struct Gone {
    IocSample sample;
    std::uint32_t number = 0;
    Clock::time_point until;
  };
  struct Reading {
    iocs::DatabaseReading database;
    std::optional<std::uint16_t> ca_port;
    std::string problem;
  };

  void start(const iocs::Ioc& ioc, Clock::time_point now);
  void end(const iocs::Ioc& ioc, Clock::time_point now);
  void forget_gone(Clock::time_point now);
  // Its memory and its code are not to be touched: the operator wants it, or the IOC is held.
  bool left_alone(const Live& live) const { return hands_off_ || !live.ioc.held.empty(); }
  void follow_held(const Live& live);
  bool is_due(const Live& live, Clock::time_point now) const;
  Reading read(const iocs::Ioc& ioc) const;
  // `rest`: how long to leave the IOC's memory alone now.
  void take_in(Live& live, Reading reading, Clock::time_point now, Clock::duration rest);
  Result<void> count_records(Live& live, const iocs::FieldOffsets& offsets);
  // Those that were read together.
  struct Due {
    Live* live = nullptr;
    Reading reading;
    Clock::duration rest{};
  };
  void take_in(std::vector<Due> due, Clock::time_point now);
  IocSample describe(const Live& live) const;
  std::vector<records::RecordExtras::Watched> watched() const;
  void add_records(const Live& live, const records::RecordCauses* causes, Page& page);
  std::optional<records::RecordCauses> read_causes(Page& page);  // nothing, and not complete, when it failed

  RootedFs fs_;
  Options options_;
  records::RecordProcess* records_;
  iocs::IocHealth health_;
  records::RecordGuard* guard_;
  std::atomic<bool> hands_off_ = false;
  std::string why_no_records_;
  records::RecordExtras extras_;
  std::map<iocs::IocId, Live> live_;
  std::map<std::string, Gone> gone_;
  std::map<std::string, std::uint32_t> numbers_;
  std::map<std::string, std::uint64_t> restarts_;  // of the names in numbers_
  std::vector<std::uint32_t> forgotten_;
  std::map<std::uint64_t, std::string> network_problems_;
  std::uint32_t next_number_ = 1;
};

}  // namespace ioc_exporter::app

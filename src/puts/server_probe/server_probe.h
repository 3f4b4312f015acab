// ServerProbe: what the servers of this host's IOCs say that they were asked to write, by Channel
// Access (rsrv) or by PV Access (QSRV 1 and 2).
//
// A put counts once, under the name of the channel that it is written to, whatever its client does
// to packets. The counts go into the sums that the tap adds to (puts/source_choice.h). The probes
// of an IOC are off while it is stopped or traced, and while the operator wants it.
//
// Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "exposition/self_samples.h"
#include "iocs/host_view.h"
#include "iocs/ioc.h"
#include "probes/budget.h"
#include "probes/engine.h"
#include "puts/inventory/server_reader.h"
#include "puts/put_source.h"
#include "puts/server_probe/server_probe_object.h"
#include "puts/tap/tap.h"
#include "shared/putlog.h"

namespace ioc_exporter::puts {

// A put with callback that waits for its end.
struct PendingPut {
  PutLabels labels;
  bool by_pva = false;
  std::uint64_t since_ns = 0;  // CLOCK_MONOTONIC
};

// IOCs by their numbers.
struct PendingPuts {
  std::vector<PendingPut> puts;
  std::set<std::uint32_t> watched;  // one of their servers reports begin and end of each
  std::set<std::uint32_t> unheard;  // one of their servers does not
};

class ServerProbe final : public PutSource {
 public:
  // A slot that was not used for so long is given up: the next put takes another one.
  static constexpr std::chrono::seconds kIdle{60};
  static constexpr std::chrono::seconds kIdleWhenCrowded{5};
  // How long a slot that was given up, or an IOC that has ended, is read on.
  static constexpr std::chrono::seconds kGrace{1};
  // How long puts to a channel whose name could not be read wait for it.
  static constexpr std::chrono::seconds kNamePatience{5};
  static constexpr std::chrono::seconds kNamesPause{1};  // between two readings of names, at least
  // How long a put-callback that was cancelled may still be done: another thread may be at it.
  static constexpr std::chrono::seconds kCancelGrace{2};
  // How long the server waits for a channel's put-callback before it starts the next one, and more.
  static constexpr std::chrono::seconds kLongestWait{120};
  // How long a server may take for what came before its probes are on.
  static constexpr std::chrono::seconds kLongestBacklog{60};

  using Options = ServerProbeObject::Options;
  using LiveIocs = std::map<iocs::IocId, iocs::LiveIoc>;

  // Loads the programs. What is counted goes to `totals`. `tap`: what packets show; it
  // outlives the probe; null: packets are not read.
  static Result<ServerProbe> start(const Options& options, std::shared_ptr<Totals> totals, Tap* tap,
                                   probes::Budget* budget = nullptr);

  // An IOC that runs on under another name is another one from then on: its probes come off. Before
  // the tap knows it by that name.
  void leave_renamed(const LiveIocs& iocs, Clock::time_point now);
  // Has packets not count puts to servers that follow() will probe, and count those to all others.
  // Before the tap knows them.
  void expect(const LiveIocs& iocs, bool hands_off);
  // Attaches to new IOCs, and forgets those that have ended. After the tap has their ports.
  void follow(const LiveIocs& iocs, bool hands_off, Clock::time_point now);
  // follow() has more to do, also with the same IOCs.
  bool is_due(Clock::time_point now) const { return engine_.is_due(now); }
  // Takes the probes off all IOCs, until the next follow().
  void detach_all(Clock::time_point now) override;
  const char* probe_name() const override { return object_.name(); }
  // Adds puts since the last call to the sums. Before the tap is read.
  Result<void> collect(Clock::time_point now) override;
  Result<void> reap(Clock::time_point now) override;

  // CA: IOCs whose puts wait for their channels' names, which the program has not found in the
  // server's hash; and the names of an IOC's channels, from all of the hash. They were read from
  // `begin` to `end`: what takes long is not done again soon.
  std::set<std::uint32_t> want_names(Clock::time_point now) const;
  void take_names(std::uint32_t number, const CaServerTables& tables, Clock::time_point begin,
                  Clock::time_point end);

  // Adds those that wait now.
  Result<void> add_pending(PendingPuts& pending);

  // CA: slots in the sums whose PV's name is not known, by IOC number.
  std::map<std::uint32_t, std::uint64_t> unnamed() const;
  // By the ids of slots: puts that are in the sums.
  PutsOfSlots counted() const;

  // By IOC number: "" = its puts are all counted, else why not. IOCs without such a server are not
  // in it.
  const std::map<std::uint32_t, std::string>& unheard() const { return unheard_; }
  std::uint64_t attachments() const;
  // Adds drops and the fill of its table.
  Result<void> add_to(SelfSamples& self) const;
  const ServerProbeObject& object() const { return object_; }
  // By PV Access the event itself has all but the IOC.
  std::optional<PutIdentity> identify(const iocx_putlog_event& event) const override;
  kernel::LostEvents lost_events() const override { return object_.lost_events(); }
  std::optional<kernel::ProgramStats> stats() const { return object_.stats(); }

 private:
  struct Watched {
    std::uint32_t number = 0;
    iocs::IocId id = {};
    std::uint32_t generation = 0;
    std::string name;                // for the log
    unsigned attach = 0;             // IOCX_ATTACH_* by which it counts
    iocx_server_ioc config = {};     // while it counts
    bool is_switching = false;       // by this follow(), from one kind to the other
    Clock::time_point latest{};      // by then packets end, once the probes are attached
    bool waits = false;              // for that
    std::size_t functions = 0;       // that were there to attach to
    double seconds_each = 0;         // that a put costs
    Clock::time_point names_due{};   // earliest next reading of names
    bool reports_results = false;    // results of the puts, too
    bool reports_callbacks = false;  // begin and end of those with callback
    CounterGrowth<2> remainder;
    bool seen = false;        // by this follow()
    bool left_alone = false;  // by it, too
  };
  // A slot that is taken, or was.
  struct Slot {
    std::uint64_t id = 0;
    std::uint32_t generation = 0;
    CounterGrowth<2> growth = {};
    Clock::time_point first{}, changed{};
    std::optional<Clock::time_point> given_up = {};
    bool open = false;      // in the sums
    std::string name = {};  // CA, by take_names()
  };
  struct Life {
    std::uint32_t number = 0;
    std::uint64_t serial = 0;
    std::optional<Clock::time_point> ended = {};
  };

  ServerProbe(ServerProbeObject object, std::shared_ptr<Totals> totals, Tap* tap,
              probes::Budget* budget);

  void report_to_budget();

  // The IOC that the programs call so.
  std::optional<std::uint32_t> number_of(std::uint32_t generation) const;
  bool is_nameless(std::uint32_t index) const;
  bool is_ca() const { return object_.protocol() == Protocol::ca; }
  ServerKey key_of(std::uint32_t ioc) const { return {ioc, object_.protocol()}; }
  SourceChoice& choice() { return totals_->choice; }
  std::uint32_t slot_in_sums(std::uint32_t index) const {
    return PutTotals::server_slots(object_.protocol()) | index;
  }
  bool may_attach(const ServerFunctions& functions) const;
  bool has_caught_up(Watched& watched, const iocs::Ioc& ioc, Clock::time_point now);
  bool has_unread(const iocs::Ioc& ioc);
  Result<void> begin(Watched& watched, const iocs::Ioc& ioc, unsigned attach);
  void look_at(const iocs::LiveIoc& live, bool hands_off, std::vector<probes::ProbeRow>& rows,
               std::set<std::uint64_t>& begin_anew);
  void add_rows(const iocs::LiveIoc& live, const ServerFunctions& functions,
                std::vector<probes::ProbeRow>& rows) const;
  probes::Hooks hooks(const LiveIocs& iocs, Clock::time_point now);
  Result<probes::Switched> count_by(const LiveIocs& iocs, const iocs::IocId& id, unsigned attach,
                                    Clock::time_point now);
  void log_failure(const iocs::LiveIoc& live, const Error& error) const;
  void say_why_not(const iocs::LiveIoc& live);
  Watched* counted(const iocs::IocId& id);
  Watched& watch(const iocs::LiveIoc& live);
  void leave(const std::set<std::uint64_t>& serials, Clock::time_point now);
  void finish_ended(Clock::time_point now);
  void finish_switches();
  void let_packets_count(std::uint32_t ioc);
  void let_nobody_count(std::uint32_t ioc);
  void drop(const std::set<std::uint64_t>& serials, Clock::time_point now);
  void forget(const Watched& watched, Clock::time_point now);
  void forget_process(const Watched& watched);
  void report_forgotten(const Result<bool>& erased);
  Result<void> observe(std::uint32_t index, bool last, Clock::time_point now);
  Result<void> open(const Watched& watched, std::uint32_t index, bool last, Clock::time_point now);
  void forget_remainder(std::uint32_t generation);
  void observe_remainder(Watched& watched, const iocx_server_remainder& remainder);
  void observe_result(std::uint32_t index, std::uint64_t now_ns);
  void observe_failures(std::uint64_t source, const __u64* failures, const PutLabels& labels);
  void observe_durations(std::uint32_t index, const iocx_server_durations& durations);
  bool has_room(std::uint64_t index);
  const PutLabels* labels_in_sums(std::uint32_t index) const;
  bool waits(std::uint32_t index, std::uint64_t now_ns) const;
  Result<void> look_at_open_callbacks();
  Result<void> give_up_all(std::uint32_t generation, Clock::time_point now);
  Result<void> give_up(std::uint32_t index, Clock::time_point now);
  Result<void> free(std::uint32_t index, Clock::time_point now);
  Watched* of_generation(std::uint32_t generation);
  // Nothing: that cannot be read.
  Result<std::optional<PutLabels>> labels_of(std::uint32_t number, std::uint32_t index) const;

  std::shared_ptr<Totals> totals_;
  Tap* tap_;  // null: packets are not read
  probes::Budget* budget_;
  ServerProbeObject object_;  // before the probes: they die first
  probes::Engine engine_;
  std::map<std::uint64_t, Watched> watched_;  // by serial
  std::map<std::uint32_t, Life> lives_;       // by generation
  std::vector<Watched*> ended_;               // whose last puts are to be read
  std::vector<Slot> slots_;
  std::uint32_t used_end_ = 0;  // none that is used from here on
  TroubleLog trouble_;
  std::map<std::uint32_t, std::string> unheard_;
  std::uint32_t last_generation_ = 0;
  std::set<std::uint32_t> with_callbacks_;  // slots that have open ones, but those of rsrv
  std::uint64_t lost_results_ = 0;          // of put-callbacks whose slot was freed
};

// Nothing: its programs are not loaded.
inline ProbeSample sample_of(const char* name, const std::optional<ServerProbe>& probe) {
  return probe ? probe_sample(name, true, probe->attachments(), probe->stats())
               : ProbeSample{name, false, 0, {}, {}};
}

}  // namespace ioc_exporter::puts

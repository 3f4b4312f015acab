// Engine: the attachments of one room's programs in the IOCs of this host.
//
// A room says all that it wants (ProbeRow); the engine attaches and takes off the difference. Where
// an attachment for all replaces those for one process, or these it, the new ones come first, then
// Hooks::count_by says that these count, then the old ones go: each hit counts once.
//
// Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/retry.h"
#include "elf/attacher.h"
#include "iocs/host.h"
#include "probes/plan.h"
#include "probes/row.h"
#include "probes/same_files.h"

namespace ioc_exporter::probes {

// Attaches programs: elf::Attacher, or what a test puts in its place.
struct Attaching {
  std::function<Result<elf::FunctionProbe>(std::uint32_t program, const elf::ProbePlace&)> attach;
  std::function<Result<void>(elf::FunctionProbe&, std::uint32_t program, const elf::ProbePlace&)>
      attach_ends;
  // Waits for hits under way, which may have passed over what was attached last.
  std::function<void()> let_hits_end;

  // `attacher` must outlive it.
  static Attaching by(const elf::Attacher& attacher);
};

// later: it is asked again at the next tick(); only where nothing has counted before.
enum class Switched { now, later };

// What the room does when attachments come and go.
struct Hooks {
  // From now on the member is counted by attachments of this kind (IOCX_ATTACH_*; 0: by none).
  // After an error it is off for a while.
  std::function<Result<Switched>(const Member&, unsigned attach)> count_by;
  // It cannot be attached, and why; the same reason once in a row.
  std::function<void(const Member&, const Error&)> failed;
};

IocState state_of(const iocs::LiveIoc& live, bool hands_off);

class Engine {
 public:
  using Clock = std::chrono::steady_clock;
  // An IOC with many functions must not stop the loop.
  static constexpr std::chrono::milliseconds kPatience{500};
  // A file that is mapped very often takes longer: it pauses for kPauseFactor times as long.
  static constexpr std::chrono::milliseconds kSlow{200};
  static constexpr int kPauseFactor = 4;

  Engine(Attaching attaching, const Policy& policy)
      : attaching_(std::move(attaching)), policy_(policy) {}
  Engine(Engine&&) = default;
  Engine& operator=(Engine&&) = delete;
  ~Engine();

  // What the host's scan knows of its IOCs.
  void follow(const std::map<iocs::IocId, iocs::LiveIoc>& iocs, bool hands_off);
  void follow(std::map<iocs::IocId, IocState> states);
  // All that is wanted from the next tick() on.
  void want(std::vector<ProbeRow> rows);
  // Attaches, switches, takes off. After `patience` some were not tried: then it is due at once.
  void tick(const Hooks& hooks, Clock::time_point now,
            std::chrono::milliseconds patience = kPatience);
  // Takes all off, until the next tick().
  void take_off_all(const Hooks& hooks);
  // The same for these IOCs: they begin anew.
  void take_off(const Hooks& hooks, const std::set<iocs::IocId>& iocs);
  // Something is to be tried again, or was not done.
  bool is_due(Clock::time_point now) const;

  // By what it is counted: IOCX_ATTACH_*; 0: by nothing.
  unsigned counted_by(const Member& member) const;
  // Why it is not counted; "": it is, or was not tried.
  std::string why_not(const Member& member) const;
  // The error, where it is one; of one that counts, too, which is to have more, or another kind.
  std::optional<Error> error_of(const Member& member) const;
  // All of the IOC's rows of that program are attached, with their ends where these are wanted, and
  // count.
  bool has(const iocs::IocId& ioc, std::uint32_t program) const;
  // It is off, but an attachment for other IOCs is on one of its functions: each hit costs the
  // trap.
  bool is_hit_while_off(const iocs::IocId& ioc) const;
  // Other attachments where it is counted: each of its hits passes them.
  std::size_t beside(const Member& member) const;
  // IOCs that are attached together have one number. Of whole IOCs.
  std::size_t unit_of(const iocs::IocId& ioc) const;
  // The same for as long as somebody holds the file.
  Place place_of(const CodeFilePtr& file, std::uint64_t offset) {
    return {files_.number_of(file, offset), offset};
  }
  // Of a file that has been asked for so.
  Place known_place(const elf::CodeFile& file, std::uint64_t offset) const {
    return {files_.known(file), offset};
  }
  std::uint64_t attachments() const;

 private:
  struct Attached {
    elf::FunctionProbe probe;
    EndingPtr ending;  // null: without ends
    std::optional<std::uint32_t> ends_program;
  };
  struct Failed {
    Retry retry;
    Error error;
  };

  void stop(const Hooks& hooks);
  void stop(const Member& member, const Hooks& hooks);
  bool attach(const Hooks& hooks, Clock::time_point now, Clock::time_point deadline);
  bool attach_member(const Member& member, const Plan::Counted& counted, const Hooks& hooks,
                     Clock::time_point now, Clock::time_point deadline);
  Result<void> attach_one(const Key& key, const Plan::Wanted& wanted);
  bool is_as_wanted(const Key& key, const Plan::Wanted& wanted) const;
  void note_failure(const Member& member, Failed& failed, const Error& error, const Hooks& hooks,
                    Clock::time_point now);
  std::set<std::size_t> units_that_wait(const Hooks& hooks);
  void count(const Hooks& hooks, Clock::time_point now);
  bool is_complete(const Plan::Counted& counted) const;
  bool has_ended(const Plan::Counted& counted) const;
  bool is_blocked(const Member& member, const Plan::Counted& counted, Clock::time_point now) const;
  void take_off(Clock::time_point now);
  std::set<Key> needed(Clock::time_point now) const;
  void drop_ends(Attached& from);

  Attaching attaching_;
  Policy policy_;
  SameFiles files_;
  std::map<iocs::IocId, IocState> states_;
  std::vector<PlacedRow> rows_;
  Plan plan_;
  CountedBy counted_by_;
  std::map<Key, Attached> attached_;
  std::map<Key, Failed> failed_;
  std::map<Member, Failed> refused_;                         // by Hooks::count_by
  std::map<std::uint64_t, Clock::time_point> paused_until_;  // by file
  std::vector<elf::FunctionProbe> off_;                      // to be taken off together
  bool has_changed_ = false;                                 // or was not finished
  bool plan_again_ = false;                                  // one for all has failed
  bool has_attached_ = false;                                // since the last switch
};

}  // namespace ioc_exporter::probes

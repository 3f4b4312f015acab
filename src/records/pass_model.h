// PassModel: how often the records of an IOC process for each pass through a scan list, write or
// completion that sets them off, so that their calls are known while the record probes are away:
// passes and writes are counted all the time, at one trap each. Pure.
//
// It is learned in the slices (records/overhead_governor.h), where the kernel says what has set
// each call off (shared/record_triggers.h). A record that was called the same whole number of times
// by each pass in all slices is counted by the passes exactly; passes that a slice's ends cut
// through may or may not have met it. Two slices that say otherwise, one soon after the other, and
// it is counted by how often it was called on average, until slices agree again. By writes, not
// each of which processes its record, it is counted by the average until slices have agreed. Calls
// of which nothing is known go by time.
//
// What the passes say is shown at once, in the middle of a cycle too. Where they say it exactly,
// what a record was counted and estimated before counts too: estimates that were too high or too
// low are made up for bit by bit.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "records/pause_estimates.h"

namespace ioc_exporter::records {

class PassModel {
 public:
  using Record = std::uint64_t;
  using Trigger = std::uint64_t;
  struct Passes {
    std::uint64_t ended = 0;    // so far
    std::uint64_t started = 0;  // one more while one is under way
  };
  // Of those that are counted, so without completions.
  using Lists = std::map<Trigger, Passes>;
  struct Called {
    std::uint64_t calls = 0;
    std::vector<std::pair<Trigger, std::uint64_t>> by = {};  // calls that began, as far as known
  };
  using Calls = std::unordered_map<Record, Called>;
  // Completions of a record are the trigger record | kCompletion; they are as many as its calls.
  static constexpr std::uint64_t kPut = 1, kCompletion = 2;

  // So many slices with a whole pass must agree after one that did not, which may be by bad luck;
  // so many disagree until then, and a record is counted by the average.
  static constexpr unsigned kAgain = 6, kDisagree = 2;
  // Passes in slices that an average is of, about. It begins anew when so many did nothing as would
  // by chance once in a thousand times.
  static constexpr double kRemembered = 30, kByChance = 0.001;
  // Of what a cycle hides: how much more or less is told to make up for earlier ones.
  static constexpr double kMostCorrection = 0.25;
  static constexpr std::size_t kMostTriggers = 4;  // of a record
  static constexpr double kIdle = 0.1;             // Part::calls of a trigger that may be given up
  static constexpr unsigned kMostOwed = 2;  // calls that began in a slice, and are counted later
  // Records that set each other off when they complete, one after the other; and calls that a cycle
  // may hide, should they do so in a circle.
  static constexpr unsigned kMostCompletions = 8;
  static constexpr double kMostCalls = 1e8;

  // The first cycle begins. Not `is_complete`: the lists are not known yet.
  void begin(const Lists& now, bool is_complete = true);
  // Counting began, and ended, between the two readings.
  void slice_began(const Lists& before, const Lists& after);
  void slice_ended(const Lists& before, const Lists& after, const Calls& calls);
  // `by_time`: what the cycle hid, in multiples of what was called in its slice, where it is
  // estimated by time; 0: it had no slice.
  void cycle_ended(const Lists& now, double by_time);
  // Calls that the cycle that has just ended hid; `by_time`: of a record that is not known.
  HiddenCalls hidden(Record record, double by_time) const;
  // What the cycle under way has hidden so far. `in_slice`: calls in its slice, while that is under
  // way. `progress`: how much of the cycle is over.
  void look(const Lists& now, const Calls& in_slice, double progress);
  // Calls that it had hidden when look() was called last, as far as they are known; never less than
  // it was.
  double shown(Record record) const;

  void clear();
  // Records that are counted by passes exactly.
  std::size_t known() const;

 private:
  // Of the cycle under way.
  struct Live {
    double each = 0;
    double more = 0, part = 1;  // to make up for too few, and for too many
    std::uint64_t counted = 0;  // in its slice
    double shown = 0;
    double so_far(double passes, std::uint64_t in_slice, double progress);
  };
  // Passes in a slice.
  struct Seen {
    std::uint64_t whole = 0, touched = 0;
    double about = 0;
    double before = 0;  // the average without it
  };
  // Calls of a record for one trigger.
  struct Part {
    Trigger trigger = 0;
    std::uint32_t least = 1, most = std::numeric_limits<std::uint32_t>::max();  // for each pass
    unsigned agreeing = 0, disagreeing = 0;  // slices in a row; among the last ones
    bool has_disagreed = false;              // since it was exact, or at all
    double calls = 0, passes = 0;            // in slices, the latest ones more than others
    double idle = 0;                         // passes since the last call
    double new_calls = 0, new_passes = 0;    // since slices have begun to disagree
    std::uint64_t in_slice = 0;              // of this cycle
    bool fresh = true, first = false;  // to be followed from a cycle's end on; never seen before
    double from = 0;                   // passes when it was first followed
    double told = 0;                   // calls since then, in slices and hidden ones
    std::optional<Live> live = {};

    bool is_exact() const { return disagreeing < kDisagree; }
    bool is_idle() const { return calls < kIdle; }
    double each() const;
    void learn(std::uint64_t now, const Seen& seen);
    bool narrow(std::uint64_t now, const Seen& seen);
  };
  struct Follower {
    std::vector<Part> parts;
    std::uint64_t called = 0;     // in this cycle's slice
    double rest = 0;              // of those, for no trigger that is known
    unsigned explained = kAgain;  // slices with calls in a row, of which there was no rest
    double owes = 0;              // calls that began in a slice, and are not counted yet
    double average = 0;           // of `called`, as Part::passes
    double shown = 0;             // of the cycle under way, before all was learned anew
    HiddenCalls hidden = {0, 0};  // by the last cycle
    double total = 0;             // calls since it has been followed, and in the last cycle
    double of_cycle = 0;
    bool is_done = false;  // with the cycle that ends, or the look
    bool is_live() const;
    double all_shown() const;
    void give_up_idle();
  };
  // Passes through a list, writes to a record.
  struct Known {
    std::uint64_t before = 0, ended = 0;  // at the last cycle's begin and end
    // At the end of the last cycle with a slice that had a whole one, and the same a cycle ago: a
    // record that was not seen until now may have been processed since then.
    std::uint64_t unseen = 0, unseen_before = 0;
    std::uint64_t whole = 0, touched = 0;  // in the slice that has just ended
    double about = 0;                      // between these
    double average = 0;                    // the same of slices, as Part::passes
  };
  std::optional<Seen> seen(Trigger trigger, const Calls& calls) const;
  void learn(Follower& follower, const Called& called, const Calls& calls);
  void end_cycle(Follower& follower, double by_time, unsigned depth);
  std::optional<std::pair<double, double>> passes_of(Trigger trigger, double by_time,
                                                     unsigned depth);
  void begin_cycle();
  void go_live(Part& part, double passes, double of_cycle, double unseen);
  void look(Follower& follower, Record record, const Lists& now, const Calls& in_slice,
            double progress, unsigned depth);
  double passes_so_far(Trigger trigger, const Lists& now, const Calls& in_slice, double progress,
                       unsigned depth);
  void add_lists(const Lists& now);
  bool goes_on(const Lists& now) const;

  std::unordered_map<Trigger, Known> lists_;
  std::unordered_set<Trigger> seen_;  // in any reading, also before all was learned anew
  bool blank_ = false;                // what the next reading has may have been there before
  Lists begin_before_, begin_after_;  // of the slice
  bool in_slice_ = false;
  std::unordered_map<Record, Follower> followers_;
};

}  // namespace ioc_exporter::records

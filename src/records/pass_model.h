// PassModel: which records of an IOC process with each pass of which scan list, or with each put to
// them, so that their calls are known while the record probes are away: passes and puts are counted
// all the time, at one trap each. Pure. A record's puts are a list of its own, whose passes they
// are.
//
// It is learned in the slices (records/overhead_governor.h), from numbers alone, so that it holds
// for records that others process in turn as well: a record is counted by a list while its calls in
// each slice are the same whole multiple of the passes in it. Passes that the slice's ends cut
// through may or may not have met the record. One slice that says otherwise, and the record's calls
// are estimated by time again until it has been learned anew. Asynchronous records are estimated by
// time always.
//
// Of a record that is known, what the passes say is shown at once, in the middle of a cycle too.
// What a record was counted and estimated before it was learned counts too: estimates that were too
// high or too low are made up for bit by bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "records/pause_estimates.h"

namespace ioc_exporter::records {

class PassModel {
 public:
  using Record = std::uint64_t;
  using List = std::uint64_t;
  struct Passes {
    std::uint64_t ended = 0;    // so far
    std::uint64_t started = 0;  // one more while one is under way
  };
  using Lists = std::map<List, Passes>;
  using Calls = std::unordered_map<Record, std::uint64_t>;
  // Puts to a record are the list record + kPut, which no other record is of.
  static constexpr std::uint64_t kPut = 1;

  // A record is counted by passes once so many slices agree, and it was called in some of them.
  static constexpr unsigned kSlices = 6, kSlicesWithCalls = 3;
  // Of what a cycle hides: how much more or less is told to make up for earlier ones.
  static constexpr double kMostCorrection = 0.25;
  // But for puts; and of those that a record may be of when its first calls are seen.
  static constexpr std::size_t kMostLists = 1024, kMostCandidates = 64;
  // Of several lists that a record may be of any does, while their passes are the same: within one
  // in so many, of so many at least.
  static constexpr std::uint64_t kApart = 50, kFewPasses = 1000;

  // The first cycle begins.
  void begin(const Lists& now);
  // Counting began, and ended, between the two readings.
  void slice_began(const Lists& before, const Lists& after);
  void slice_ended(const Lists& before, const Lists& after, const Calls& calls);
  // Then hidden() is to be asked once of each record that was called in any slice so far.
  void cycle_ended(const Lists& now);
  // Calls that the cycle hid; `by_time`: what they are taken for where passes do not tell.
  HiddenCalls hidden(Record record, double by_time);
  // Those that the cycle under way has hidden so far, of a record that was known when it began;
  // else 0. Never less than it was. `in_slice`: calls in its slice, while that is under way.
  // `progress`: how much of the cycle is over.
  double live(Record record, const Lists& now, std::uint64_t in_slice, double progress);
  // The record is asynchronous. What was shown of the cycle under way stays.
  void always_by_time(Record record);
  // What live() said last.
  double shown(Record record) const;

  void clear();
  // Records that are counted by passes now.
  std::size_t known() const;

 private:
  // A list's calls for each pass, as far as the slices allow.
  struct Multiple {
    List list = 0;
    std::uint32_t least = 1;
    std::uint32_t most = std::numeric_limits<std::uint32_t>::max();
    std::uint64_t from = 0;  // passes when the record was first followed
    bool is_possible() const { return least <= most; }
    void narrow(std::uint64_t calls, std::uint64_t whole, std::uint64_t touched);
  };
  struct Follower {
    std::vector<Multiple> multiples;  // of the lists that it may be of; none until it is called
    unsigned slices = 0;
    unsigned slices_with_calls = 0;
    bool fresh = true;           // to be followed from a cycle's end on
    bool first = false;          // fresh, and never seen before
    double told = 0;             // calls since then, in slices and by hidden()
    std::uint64_t in_slice = 0;  // those of this cycle's slice
  };
  // Passes through a list.
  struct Known {
    std::uint64_t before = 0, ended = 0;  // at the last cycle's begin and end
    // At the end of the last cycle with a slice that had a whole one, and the same a cycle ago: a
    // record that was not seen until now may have been processed since then.
    std::uint64_t unseen = 0, unseen_before = 0;
    std::uint64_t whole = 0, touched = 0;  // in the slice that has just ended
  };

  // Of the cycle under way, for a record that is known.
  struct Live {
    List list = 0;
    double each = 0;
    std::uint64_t from = 0;     // passes when it began
    double more = 0, part = 1;  // to make up for too few, and for too many
    std::uint64_t counted = 0;  // in its slice
    double shown = 0;
    double so_far(std::uint64_t ended, std::uint64_t in_slice, double progress);
  };

  void go_live(Record record, const Follower& follower);
  void learn(Record record, Follower& follower, std::uint64_t calls);
  std::vector<Multiple> candidates(Record record, std::uint64_t calls) const;
  // Of the list that the record may be counted by; null: there is none, or several that differ.
  const Multiple* list_of(const Follower& follower) const;
  void add_lists(const Lists& now);
  bool goes_on(const Lists& now) const;

  std::unordered_map<List, Known> lists_;
  std::size_t shared_lists_ = 0;      // of those, the ones that are no puts
  Lists begin_before_, begin_after_;  // of the slice
  bool in_slice_ = false;
  std::unordered_map<Record, Follower> followers_;
  std::unordered_map<Record, Live> live_;
  std::unordered_set<Record> by_time_;  // always
};

}  // namespace ioc_exporter::records

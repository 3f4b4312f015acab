// PassModel: which records of an IOC process with each pass of which periodic scan list, so that
// their calls are known while the record probes are away: the passes are counted all the time, at
// one trap each. Pure.
//
// It is learned in the slices (records/overhead_governor.h), from numbers alone, so that it holds
// for records that others process in turn as well: a record is counted by a list while its calls in
// each slice are the same whole multiple of the passes in it. Passes that the slice's ends cut
// through may or may not have met the record. One slice that says otherwise, and the record's calls
// are estimated by time again until it has been learned anew.
//
// What a record was counted and estimated before it was learned counts too: estimates that were too
// high or too low are made up for bit by bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <unordered_map>
#include <vector>

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

  // A record is counted by passes once so many slices agree, and it was called in some of them.
  static constexpr unsigned kSlices = 6, kSlicesWithCalls = 3;
  // Of what a cycle should have hidden: how much more or less is told to make up for earlier ones.
  static constexpr double kMostCorrection = 0.25;
  static constexpr std::size_t kMostLists = 32;

  // The first cycle begins.
  void begin(const Lists& now);
  // Counting began, and ended, between the two readings.
  void slice_began(const Lists& before, const Lists& after);
  void slice_ended(const Lists& before, const Lists& after, const Calls& calls);
  // Then hidden() is to be asked once of each record that was called in any slice so far.
  void cycle_ended(const Lists& now);
  // Calls that the cycle hid; `by_time`: what they are taken for where passes do not tell.
  double hidden(Record record, double by_time);

  void clear();
  // Records that are counted by passes now.
  std::size_t known() const;

 private:
  // A list's calls for each pass, as far as the slices allow.
  struct Multiple {
    std::uint32_t least = 1;
    std::uint32_t most = std::numeric_limits<std::uint32_t>::max();
    std::uint64_t from = 0;  // passes when the record was first followed
    bool is_possible() const { return least <= most; }
    void narrow(std::uint64_t calls, std::uint64_t whole, std::uint64_t touched);
  };
  struct Follower {
    std::vector<Multiple> multiples;  // as lists_
    unsigned slices = 0;
    unsigned slices_with_calls = 0;
    bool fresh = true;           // to be followed from a cycle's end on
    bool first = false;          // fresh, and never seen before
    double told = 0;             // calls since then, in slices and by hidden()
    std::uint64_t in_slice = 0;  // those of this cycle's slice
  };
  // Passes through a list.
  struct Known {
    List list = 0;
    std::uint64_t before = 0, ended = 0;  // at the last cycle's begin and end
    // At the end of the last cycle with a slice that had a whole one, and the same a cycle ago: a
    // record that was not seen until now may have been processed since then.
    std::uint64_t unseen = 0, unseen_before = 0;
    std::uint64_t whole = 0, touched = 0;  // in the slice that has just ended
  };

  void learn(Follower& follower, std::uint64_t calls);
  // Index into lists_, of the list with the most passes that the record may be counted by.
  std::size_t list_of(const Follower& follower) const;
  void follow_lists(Follower& follower) const;
  void add_lists(const Lists& now);
  bool goes_on(const Lists& now) const;

  std::vector<Known> lists_;
  Lists begin_before_, begin_after_;  // of the slice
  bool in_slice_ = false;
  std::unordered_map<Record, Follower> followers_;
};

}  // namespace ioc_exporter::records

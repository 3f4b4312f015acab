#include "records/pass_model.h"

#include <algorithm>

namespace ioc_exporter::records {

void PassModel::clear() {
  lists_.clear();
  in_slice_ = false;
  followers_.clear();
}

void PassModel::begin(const Lists& now) {
  clear();
  add_lists(now);
  for (Known& known : lists_)
    known.before = known.unseen = known.unseen_before = known.ended = now.at(known.list).ended;
}

// A list is there from its first pass on that was seen: before, it had none.
void PassModel::add_lists(const Lists& now) {
  for (const auto& [list, passes] : now) {
    if (lists_.size() == kMostLists) return;
    if (std::ranges::find(lists_, list, &Known::list) == lists_.end())
      lists_.push_back({.list = list});
  }
}

// Whether no list went or began anew: else nothing that was learned holds.
bool PassModel::goes_on(const Lists& now) const {
  return std::ranges::all_of(lists_, [&now](const Known& known) {
    const auto found = now.find(known.list);
    return found == now.end() ? known.ended == 0 : found->second.ended >= known.ended;
  });
}

void PassModel::slice_began(const Lists& before, const Lists& after) {
  begin_before_ = before;
  begin_after_ = after;
  in_slice_ = true;
}

void PassModel::slice_ended(const Lists& before, const Lists& after, const Calls& calls) {
  if (!in_slice_) return;
  in_slice_ = false;
  if (!goes_on(begin_before_) || !goes_on(begin_after_) || !goes_on(before) || !goes_on(after))
    return begin(after);
  add_lists(after);
  const auto passes = [](const Lists& lists, List list) {
    const auto found = lists.find(list);
    return found == lists.end() ? Passes() : found->second;
  };
  for (Known& known : lists_) {
    const std::uint64_t first = passes(begin_after_, known.list).started,
                        last = passes(before, known.list).ended;
    known.whole = last > first ? last - first : 0;
    known.touched = passes(after, known.list).started - passes(begin_before_, known.list).ended;
  }
  for (const auto& [record, count] : calls)
    if (const auto [follower, is_new] = followers_.try_emplace(record); is_new)
      follower->second.first = true;
  for (auto& [record, follower] : followers_) {
    const auto found = calls.find(record);
    learn(follower, found == calls.end() ? 0 : found->second);
  }
}

// With m calls a pass: whole * m <= calls <= touched * m.
void PassModel::Multiple::narrow(std::uint64_t calls, std::uint64_t whole, std::uint64_t touched) {
  if (whole > 0) most = static_cast<std::uint32_t>(std::min<std::uint64_t>(most, calls / whole));
  if (calls == 0) return;
  if (touched == 0)
    most = 0;
  else
    least = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(std::max<std::uint64_t>(least, (calls + touched - 1) / touched),
                                std::numeric_limits<std::uint32_t>::max()));
}

// A record that was called before a list was there is none of that list.
void PassModel::follow_lists(Follower& follower) const {
  while (follower.multiples.size() < lists_.size()) {
    follower.multiples.emplace_back();
    if (follower.slices_with_calls > 0) follower.multiples.back().most = 0;
  }
}

void PassModel::learn(Follower& follower, std::uint64_t calls) {
  follow_lists(follower);
  bool possible = false;
  for (std::size_t i = 0; i < lists_.size(); ++i) {
    follower.multiples[i].narrow(calls, lists_[i].whole, lists_[i].touched);
    possible = possible || follower.multiples[i].is_possible();
  }
  if (!possible) {
    follower = {};
    return;
  }
  follower.slices += 1;
  if (calls > 0) follower.slices_with_calls += 1;
  follower.in_slice = calls;
  follower.told += static_cast<double>(calls);
}

void PassModel::cycle_ended(const Lists& now) {
  if (!goes_on(now)) return begin(now);
  add_lists(now);
  for (Known& known : lists_) {
    known.before = known.ended;
    known.unseen_before = known.unseen;
    if (const auto found = now.find(known.list); found != now.end())
      known.ended = found->second.ended;
    if (known.whole > 0) known.unseen = known.ended;
    known.whole = 0;
  }
}

std::size_t PassModel::list_of(const Follower& follower) const {
  std::size_t best = lists_.size();
  if (follower.slices < kSlices || follower.slices_with_calls < kSlicesWithCalls) return best;
  std::uint64_t most_passes = 0;
  for (std::size_t i = 0; i < follower.multiples.size(); ++i) {
    const Multiple& multiple = follower.multiples[i];
    const std::uint64_t passes = lists_[i].ended - multiple.from;
    if (multiple.least != multiple.most || passes < most_passes) continue;
    best = i;
    most_passes = passes;
  }
  return best;
}

double PassModel::hidden(Record record, double by_time) {
  const auto found = followers_.find(record);
  if (found == followers_.end()) return by_time;
  Follower& follower = found->second;
  if (follower.fresh) {
    follow_lists(follower);
    for (std::size_t i = 0; i < lists_.size(); ++i)
      follower.multiples[i].from = follower.first ? lists_[i].unseen_before : lists_[i].ended;
    follower.told = follower.first ? static_cast<double>(follower.in_slice) + by_time : 0;
    follower.fresh = follower.first = false;
    follower.in_slice = 0;
    return by_time;
  }
  const std::size_t list = list_of(follower);
  double calls = by_time;
  if (list < lists_.size()) {
    const Multiple& multiple = follower.multiples[list];
    const auto each = static_cast<double>(multiple.least);
    const Known& known = lists_[list];
    const double owed = each * static_cast<double>(known.ended - multiple.from) - follower.told;
    const double of_cycle = std::max(0.0, each * static_cast<double>(known.ended - known.before) -
                                              static_cast<double>(follower.in_slice));
    calls =
        std::clamp(owed, of_cycle * (1 - kMostCorrection), of_cycle * (1 + kMostCorrection) + each);
  }
  follower.in_slice = 0;
  follower.told += calls;
  return calls;
}

std::size_t PassModel::known() const {
  return static_cast<std::size_t>(std::ranges::count_if(followers_, [this](const auto& entry) {
    return !entry.second.fresh && list_of(entry.second) < lists_.size();
  }));
}

}  // namespace ioc_exporter::records

#include "records/pass_model.h"

#include <algorithm>

namespace ioc_exporter::records {

void PassModel::clear() {
  lists_.clear();
  before_.clear();
  ended_.clear();
  unseen_.clear();
  unseen_before_.clear();
  whole_.clear();
  touched_.clear();
  in_slice_ = false;
  followers_.clear();
}

void PassModel::begin(const Lists& now) {
  clear();
  add_lists(now);
  for (std::size_t i = 0; i < lists_.size(); ++i) ended_[i] = now.at(lists_[i]).ended;
  before_ = unseen_ = unseen_before_ = ended_;
}

// A list is there from its first pass on that was seen: before, it had none.
void PassModel::add_lists(const Lists& now) {
  for (const auto& [list, passes] : now) {
    if (lists_.size() == kMostLists) return;
    if (std::ranges::find(lists_, list) != lists_.end()) continue;
    lists_.push_back(list);
    for (auto* numbers : {&before_, &ended_, &unseen_, &unseen_before_, &whole_, &touched_})
      numbers->push_back(0);
  }
}

// Whether no list went or began anew: else nothing that was learned holds.
bool PassModel::goes_on(const Lists& now) const {
  for (std::size_t i = 0; i < lists_.size(); ++i) {
    const auto found = now.find(lists_[i]);
    if (found == now.end() ? ended_[i] > 0 : found->second.ended < ended_[i]) return false;
  }
  return true;
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
  for (std::size_t i = 0; i < lists_.size(); ++i) {
    const std::uint64_t first = passes(begin_after_, lists_[i]).started,
                        last = passes(before, lists_[i]).ended;
    whole_[i] = last > first ? last - first : 0;
    touched_[i] = passes(after, lists_[i]).started - passes(begin_before_, lists_[i]).ended;
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
    follower.multiples[i].narrow(calls, whole_[i], touched_[i]);
    possible = possible || follower.multiples[i].is_possible();
  }
  if (!possible) {
    follower = {};
    return;
  }
  follower.slices += 1;
  if (calls > 0) follower.slices_with_calls += 1;
  follower.in_slice = calls;
  follower.counted += calls;
}

void PassModel::cycle_ended(const Lists& now) {
  if (!goes_on(now)) return begin(now);
  add_lists(now);
  before_ = ended_;
  unseen_before_ = unseen_;
  for (std::size_t i = 0; i < lists_.size(); ++i) {
    if (const auto found = now.find(lists_[i]); found != now.end()) ended_[i] = found->second.ended;
    if (whole_[i] > 0) unseen_[i] = ended_[i];
  }
  whole_.assign(lists_.size(), 0);
}

std::size_t PassModel::list_of(const Follower& follower) const {
  std::size_t best = lists_.size();
  if (follower.slices < kSlices || follower.slices_with_calls < kSlicesWithCalls) return best;
  std::uint64_t most_passes = 0;
  for (std::size_t i = 0; i < follower.multiples.size(); ++i) {
    const Multiple& multiple = follower.multiples[i];
    const std::uint64_t passes = ended_[i] - multiple.from;
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
      follower.multiples[i].from = follower.first ? unseen_before_[i] : ended_[i];
    follower.told = follower.first ? by_time : 0;
    follower.counted = follower.first ? follower.in_slice : 0;
    follower.fresh = follower.first = false;
    follower.in_slice = 0;
    return by_time;
  }
  const std::size_t list = list_of(follower);
  double calls = by_time;
  if (list < lists_.size()) {
    const Multiple& multiple = follower.multiples[list];
    const auto each = static_cast<double>(multiple.least);
    const double owed = each * static_cast<double>(ended_[list] - multiple.from) -
                        static_cast<double>(follower.counted) - follower.told;
    const double of_cycle = std::max(0.0, each * static_cast<double>(ended_[list] - before_[list]) -
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

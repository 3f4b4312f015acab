#include "records/pass_model.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace ioc_exporter::records {

void PassModel::clear() {
  lists_.clear();
  shared_lists_ = 0;
  in_slice_ = false;
  followers_.clear();
  live_.clear();
  by_time_.clear();
}

void PassModel::begin(const Lists& now) {
  auto live = std::move(live_);  // what was shown stays
  auto by_time = std::move(by_time_);
  clear();
  live_ = std::move(live);
  by_time_ = std::move(by_time);
  add_lists(now);
  for (auto& [list, known] : lists_)
    known.before = known.unseen = known.unseen_before = known.ended = now.at(list).ended;
}

// A list is there from its first pass on that was seen: before, it had none.
void PassModel::add_lists(const Lists& now) {
  for (const auto& [list, passes] : now) {
    const bool shared = (list & kPut) == 0;
    if (lists_.contains(list) || (shared && shared_lists_ == kMostLists)) continue;
    lists_.try_emplace(list);
    shared_lists_ += shared ? 1 : 0;
  }
}

// Whether no list went or began anew: else nothing that was learned holds.
bool PassModel::goes_on(const Lists& now) const {
  return std::ranges::all_of(lists_, [&now](const auto& entry) {
    const auto& [list, known] = entry;
    const auto found = now.find(list);
    return found == now.end() ? known.ended == 0 : found->second.started >= known.ended;
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
  for (auto& [list, known] : lists_) {
    const std::uint64_t first = passes(begin_after_, list).started,
                        last = passes(before, list).ended;
    known.whole = last > first ? last - first : 0;
    known.touched = passes(after, list).started - passes(begin_before_, list).ended;
  }
  for (const auto& [record, count] : calls)
    if (!by_time_.contains(record))
      if (const auto [follower, is_new] = followers_.try_emplace(record); is_new)
        follower->second.first = true;
  for (auto& [record, follower] : followers_) {
    const auto found = calls.find(record);
    learn(record, follower, found == calls.end() ? 0 : found->second);
  }
  for (auto& [record, live] : live_)
    if (const auto found = calls.find(record); found != calls.end()) live.counted = found->second;
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

// What the first slice with calls allows: the lists that it saw most of.
std::vector<PassModel::Multiple> PassModel::candidates(Record record, std::uint64_t calls) const {
  std::vector<Multiple> multiples;
  for (const auto& [list, known] : lists_) {
    if (known.touched == 0 || ((list & kPut) != 0 && list != record + kPut)) continue;
    Multiple multiple{.list = list};
    multiple.narrow(calls, known.whole, known.touched);
    if (multiple.is_possible()) multiples.push_back(multiple);
  }
  const auto seen = [this](const Multiple& multiple) {
    const Known& known = lists_.at(multiple.list);
    return std::pair(known.whole + known.touched, multiple.list);
  };
  std::ranges::sort(multiples, std::ranges::greater(), seen);
  if (multiples.size() > kMostCandidates) multiples.resize(kMostCandidates);
  return multiples;
}

void PassModel::learn(Record record, Follower& follower, std::uint64_t calls) {
  if (follower.multiples.empty()) {
    if (calls == 0) return;
    follower.multiples = candidates(record, calls);
  } else {
    for (Multiple& multiple : follower.multiples) {
      const Known& known = lists_.at(multiple.list);
      multiple.narrow(calls, known.whole, known.touched);
    }
    std::erase_if(follower.multiples, [](const Multiple& one) { return !one.is_possible(); });
  }
  if (follower.multiples.empty()) {
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
  for (auto& [list, known] : lists_) {
    known.before = known.ended;
    known.unseen_before = known.unseen;
    if (const auto found = now.find(list); found != now.end())
      known.ended = std::max(known.ended, found->second.ended);
    if (known.whole > 0) known.unseen = known.ended;
    known.whole = 0;
  }
}

// Its own puts need no more than to agree. Of other lists, several may agree with slices that are
// short: that with the most passes is taken, if those with the same multiple say the same.
const PassModel::Multiple* PassModel::list_of(const Follower& follower) const {
  const bool long_enough =
      follower.slices >= kSlices && follower.slices_with_calls >= kSlicesWithCalls;
  const Multiple* best = nullptr;
  const auto passes = [this](const Multiple& one) { return lists_.at(one.list).ended - one.from; };
  for (const Multiple& multiple : follower.multiples) {
    if (multiple.least != multiple.most) continue;
    if ((multiple.list & kPut) != 0) return &multiple;
    if (long_enough && (best == nullptr || passes(multiple) > passes(*best))) best = &multiple;
  }
  if (best == nullptr) return nullptr;
  const std::uint64_t most = passes(*best);
  const bool agree = std::ranges::all_of(follower.multiples, [&](const Multiple& one) {
    if (one.least != one.most || one.least != best->least) return true;
    return (most - passes(one)) * kApart <= std::max(most, kFewPasses);
  });
  return agree ? best : nullptr;
}

double PassModel::Live::so_far(std::uint64_t ended, std::uint64_t in_slice, double progress) {
  const double passes = ended > from ? static_cast<double>(ended - from) : 0;
  const double hidden = std::max(0.0, each * passes - static_cast<double>(counted + in_slice));
  shown = std::max(shown, hidden * part + more * progress);
  return shown;
}

double PassModel::live(Record record, const Lists& now, std::uint64_t in_slice, double progress) {
  const auto found = live_.find(record);
  if (found == live_.end()) return 0;
  const auto list = now.find(found->second.list);
  if (list == now.end()) return found->second.shown;
  return found->second.so_far(list->second.ended, in_slice, progress);
}

double PassModel::shown(Record record) const {
  const auto found = live_.find(record);
  return found == live_.end() ? 0 : found->second.shown;
}

void PassModel::always_by_time(Record record) {
  if (by_time_.insert(record).second) followers_.erase(record);
}

HiddenCalls PassModel::hidden(Record record, double by_time) {
  HiddenCalls hidden(by_time);
  if (const auto live = live_.find(record); live != live_.end()) {
    const auto list = lists_.find(live->second.list);
    const std::uint64_t ended = list == lists_.end() ? 0 : list->second.ended;
    hidden = {live->second.so_far(ended, 0, 1), true};
    live_.erase(live);
  }
  const auto found = followers_.find(record);
  if (found == followers_.end() || found->second.multiples.empty()) return hidden;
  Follower& follower = found->second;
  if (follower.fresh) {
    for (Multiple& multiple : follower.multiples) {
      const Known& known = lists_.at(multiple.list);
      multiple.from = follower.first ? known.unseen_before : known.ended;
    }
    follower.told = follower.first ? static_cast<double>(follower.in_slice) + hidden.calls : 0;
    follower.fresh = follower.first = false;
  } else {
    follower.told += hidden.calls;
    go_live(record, follower);
  }
  follower.in_slice = 0;
  return hidden;
}

// From now on, as long as the cycle that begins.
void PassModel::go_live(Record record, const Follower& follower) {
  const Multiple* multiple = list_of(follower);
  if (multiple == nullptr) return;
  const auto each = static_cast<double>(multiple->least);
  const Known& known = lists_.at(multiple->list);
  const double of_cycle = each * static_cast<double>(known.ended - known.before);
  const double owed = each * static_cast<double>(known.ended - multiple->from) - follower.told;
  Live live{.list = multiple->list, .each = each, .from = known.ended};
  if (owed > 0) live.more = std::min(owed, of_cycle * kMostCorrection + each);
  if (owed < 0 && of_cycle > 0) live.part = 1 - std::min(-owed / of_cycle, kMostCorrection);
  live_.insert_or_assign(record, live);
}

std::size_t PassModel::known() const {
  return static_cast<std::size_t>(std::ranges::count_if(followers_, [this](const auto& entry) {
    return !entry.second.fresh && list_of(entry.second) != nullptr;
  }));
}

}  // namespace ioc_exporter::records

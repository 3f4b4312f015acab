#include "records/pass_model.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <tuple>
#include <utility>

namespace ioc_exporter::records {
namespace {

bool is_completion(PassModel::Trigger trigger) {
  return (trigger & PassModel::kCompletion) != 0;
}

PassModel::Record who_completes(PassModel::Trigger trigger) {
  return trigger & ~PassModel::kCompletion;
}

double middle(const PassModel::Passes& passes) {
  return static_cast<double>(passes.ended + passes.started) / 2;
}

constexpr std::pair kAny{std::uint32_t{1}, std::numeric_limits<std::uint32_t>::max()};

// A sum that forgets, as `passes` go by.
void add(double& sum, double more, double passes) {
  sum = sum * std::exp(-passes / PassModel::kRemembered) + more;
}

}  // namespace

void PassModel::clear() {
  lists_.clear();
  seen_.clear();
  in_slice_ = blank_ = false;
  followers_.clear();
}

// Nothing that was learned holds, but what was shown stays.
void PassModel::begin(const Lists& now, bool is_complete) {
  lists_.clear();
  in_slice_ = false;
  for (auto& [record, follower] : followers_) {
    Follower fresh;
    fresh.shown = follower.all_shown();
    follower = std::move(fresh);
  }
  std::erase_if(followers_, [](const auto& entry) { return entry.second.shown == 0; });
  blank_ = true;
  add_lists(now);
  blank_ = !is_complete;
}

// A list is there from its first pass on that was seen: before, it had none. But for one that was
// there before all was learned anew, and those of the first reading then.
void PassModel::add_lists(const Lists& now) {
  for (const auto& [list, passes] : now) {
    const bool is_new = seen_.insert(list).second && !blank_;
    const auto [added, is_added] = lists_.try_emplace(list);
    Known& known = added->second;
    if (is_added && !is_new)
      known.before = known.unseen = known.unseen_before = known.ended = passes.ended;
  }
  if (!now.empty()) blank_ = false;
}

// Whether no list went or began anew.
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
  const auto passes = [](const Lists& lists, Trigger list) {
    const auto found = lists.find(list);
    return found == lists.end() ? Passes() : found->second;
  };
  for (auto& [list, known] : lists_) {
    const std::uint64_t first = passes(begin_after_, list).started,
                        last = passes(before, list).ended;
    known.whole = last > first ? last - first : 0;
    const std::uint64_t before_all = passes(begin_before_, list).ended,
                        after_all = passes(after, list).started;
    known.touched = after_all > before_all ? after_all - before_all : 0;
    // Counting began just before one reading, and ended just after another.
    known.about = std::max(0.0, middle(passes(before, list)) - middle(passes(begin_after_, list)));
  }
  for (const auto& [record, called] : calls) followers_.try_emplace(record);
  const Called none;
  for (auto& [record, follower] : followers_) {
    const auto found = calls.find(record);
    learn(follower, found == calls.end() ? none : found->second, calls);
  }
  for (auto& [list, known] : lists_) add(known.average, known.about, known.about);
}

// Of a completion, one may be under way when the slice begins, and one when it ends.
std::optional<PassModel::Seen> PassModel::seen(Trigger trigger, const Calls& calls) const {
  if (is_completion(trigger)) {
    const auto follower = followers_.find(who_completes(trigger));
    if (follower == followers_.end()) return std::nullopt;
    const auto found = calls.find(who_completes(trigger));
    const std::uint64_t called = found == calls.end() ? 0 : found->second.calls;
    return Seen{called > 0 ? called - 1 : 0, called + 1, static_cast<double>(called),
                follower->second.average};
  }
  const auto list = lists_.find(trigger);
  if (list == lists_.end()) return std::nullopt;
  const Known& known = list->second;
  return Seen{known.whole, known.touched, known.about, known.average};
}

void PassModel::learn(Follower& follower, const Called& called, const Calls& calls) {
  double known = 0;
  for (Part& part : follower.parts) part.in_slice = 0;
  for (const auto& [trigger, number] : called.by) {
    const auto passes = seen(trigger, calls);
    if (!passes || number == 0) continue;
    const auto same = [trigger = trigger](const Part& part) { return part.trigger == trigger; };
    auto part = std::ranges::find_if(follower.parts, same);
    if (part == follower.parts.end()) {
      if (follower.parts.size() == kMostTriggers) follower.give_up_idle();
      if (follower.parts.size() == kMostTriggers) continue;
      follower.parts.push_back({.trigger = trigger,
                                .disagreeing = (trigger & kPut) != 0 ? kDisagree : 0,
                                .passes = passes->before,
                                .first = true});
      part = std::prev(follower.parts.end());
    }
    part->in_slice = std::min(number, called.calls + kMostOwed);
    known += static_cast<double>(part->in_slice);
  }
  for (Part& part : follower.parts)
    if (const auto passes = seen(part.trigger, calls)) part.learn(part.in_slice, *passes);
  // A call that ends after the slice is counted in the next one, and was noted when it began.
  const double others = static_cast<double>(called.calls) - known + follower.owes;
  follower.rest = std::max(0.0, others);
  follower.owes = std::clamp(others, -double{kMostOwed}, 0.0);
  follower.called = called.calls;
  const auto completions = static_cast<double>(called.calls);
  if (called.calls > 0) follower.explained = follower.rest > 0 ? 0 : follower.explained + 1;
  add(follower.average, completions, completions);
}

// What is shown of them stays.
void PassModel::Follower::give_up_idle() {
  for (const Part& part : parts)
    if (part.is_idle() && part.live) shown += part.live->shown;
  std::erase_if(parts, [](const Part& part) { return part.is_idle(); });
}

// With m calls a pass: whole * m <= calls <= touched * m. False: no m does that.
bool PassModel::Part::narrow(std::uint64_t now, const Seen& seen) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  const std::uint64_t top = seen.whole > 0 ? now / seen.whole : kMost;
  const std::uint64_t bottom =
      seen.touched > 0 ? (now + seen.touched - 1) / seen.touched : (now > 0 ? kMost : 0);
  most = static_cast<std::uint32_t>(std::min<std::uint64_t>(most, top));
  least = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(bottom, least, kMost));
  return least <= most;
}

void PassModel::Part::learn(std::uint64_t now, const Seen& seen) {
  if (live) live->counted = now;
  if (seen.touched == 0 && now == 0) return;
  const auto called = static_cast<double>(now);
  add(calls, called, seen.about);
  add(passes, seen.about, seen.about);
  idle = now > 0 ? 0 : idle + seen.about;
  const bool was_exact = is_exact();
  const auto before = std::pair(least, most);
  const bool agrees = narrow(now, seen);
  if (agrees && seen.whole > 0 && ++agreeing >= kAgain) disagreeing = 0;
  if (disagreeing > 0 || !agrees) {
    new_calls += called;
    new_passes += seen.about;
  } else {
    new_calls = new_passes = 0;
  }
  if (!agrees) {
    agreeing = 0;
    has_disagreed = true;
    disagreeing = std::min(disagreeing + 1, kDisagree);
    std::tie(least, most) = before;
    if (!is_exact()) {
      std::tie(least, most) = kAny;
      if (!narrow(now, seen)) std::tie(least, most) = kAny;
    }
  }
  if (was_exact != is_exact()) fresh = has_disagreed;
  if (is_exact() && !was_exact) has_disagreed = false;
  if (was_exact && !is_exact()) {
    calls = new_calls;
    passes = new_passes;
  }
  if (!is_exact() && calls > 0 && std::pow(1 - std::min(calls / passes, 1.0), idle) < kByChance) {
    calls = 0;
    passes = idle;
  }
}

// Calls for each pass. Of few passes, the least that explains what was seen.
double PassModel::Part::each() const {
  if (!is_exact()) return passes > 0 ? calls / std::max(passes, 1.0) : 0;
  if (passes < 2) return least;
  return std::clamp(std::round(calls / passes), static_cast<double>(least),
                    static_cast<double>(most));
}

// Passes so far, and of the cycle that ends.
std::optional<std::pair<double, double>> PassModel::passes_of(Trigger trigger, double by_time,
                                                              unsigned depth) {
  if (is_completion(trigger)) {
    const auto found = followers_.find(who_completes(trigger));
    if (found == followers_.end() || depth == kMostCompletions) return std::nullopt;
    end_cycle(found->second, by_time, depth + 1);
    return std::pair(found->second.total, found->second.of_cycle);
  }
  const auto list = lists_.find(trigger);
  if (list == lists_.end()) return std::nullopt;
  return std::pair(static_cast<double>(list->second.ended),
                   static_cast<double>(list->second.ended - list->second.before));
}

void PassModel::end_cycle(Follower& follower, double by_time, unsigned depth) {
  if (follower.is_done) return;
  follower.is_done = true;  // also for who completes and sets itself off
  double at_once = follower.shown, spread = follower.rest * by_time;
  for (Part& part : follower.parts) {
    const auto counted = static_cast<double>(part.in_slice);
    const auto passes = passes_of(part.trigger, by_time, depth);
    double hidden = counted * by_time;
    if (part.live) {
      hidden = part.live->so_far(passes ? passes->second : 0, 0, 1);
      at_once += hidden;
    } else {
      if (passes) hidden = std::clamp(part.each() * passes->second - counted, 0.0, kMostCalls);
      spread += hidden;
    }
    if (!part.fresh) part.told += counted + hidden;
    if (part.first) part.told = counted + hidden;
  }
  follower.hidden = {at_once, spread};
  follower.of_cycle = static_cast<double>(follower.called) + at_once + spread;
  follower.total += follower.of_cycle;
}

void PassModel::cycle_ended(const Lists& now, double by_time) {
  if (!goes_on(now)) begin(now);
  add_lists(now);
  for (auto& [list, known] : lists_) {
    known.before = known.ended;
    known.unseen_before = known.unseen;
    if (const auto found = now.find(list); found != now.end())
      known.ended = std::max(known.ended, found->second.ended);
    if (known.whole > 0) known.unseen = known.ended;
    known.whole = 0;
  }
  for (auto& [record, follower] : followers_) follower.is_done = false;
  for (auto& [record, follower] : followers_) end_cycle(follower, by_time, 0);
  begin_cycle();
}

HiddenCalls PassModel::hidden(Record record, double by_time) const {
  const auto found = followers_.find(record);
  return found == followers_.end() ? HiddenCalls{0, by_time} : found->second.hidden;
}

// All its calls are shown at once.
bool PassModel::Follower::is_live() const {
  return explained >= kAgain &&
         std::ranges::all_of(parts, [](const Part& part) { return part.live.has_value(); });
}

// Passes so far, in the cycle that has ended, and when it was seen last that they do nothing.
void PassModel::go_live(Part& part, double passes, double of_cycle, double unseen) {
  if (part.fresh) {
    part.from = part.first ? unseen : passes;
    if (!part.first) part.told = 0;
    part.fresh = part.first = false;
  }
  const double each = part.each();
  Live live{.each = each};
  const double owed = part.is_exact() ? each * (passes - part.from) - part.told : 0;
  if (owed > 0) live.more = std::min(owed, each * of_cycle * kMostCorrection + each);
  if (owed < 0 && each * of_cycle > 0)
    live.part = 1 - std::min(-owed / (each * of_cycle), kMostCorrection);
  part.live = live;
}

// What completions set off is shown at once where their record is.
void PassModel::begin_cycle() {
  std::vector<Part*> by_completion;
  for (auto& [record, follower] : followers_) {
    follower.shown = follower.rest = 0;
    follower.called = 0;
    for (Part& part : follower.parts) {
      part.live.reset();
      part.in_slice = 0;
      if (is_completion(part.trigger)) {
        by_completion.push_back(&part);
      } else if (const auto list = lists_.find(part.trigger); list != lists_.end()) {
        const Known& known = list->second;
        go_live(part, static_cast<double>(known.ended),
                static_cast<double>(known.ended - known.before),
                static_cast<double>(known.unseen_before));
      }
    }
  }
  for (unsigned i = 0; i < kMostCompletions && !by_completion.empty(); ++i)
    std::erase_if(by_completion, [this](Part* part) {
      const auto source = followers_.find(who_completes(part->trigger));
      if (source == followers_.end() || !source->second.is_live()) return false;
      const Follower& it = source->second;
      go_live(*part, it.total, it.of_cycle, it.total - it.of_cycle);
      return true;
    });
}

double PassModel::Live::so_far(double passes, std::uint64_t in_slice, double progress) {
  const double hidden =
      std::clamp(each * passes - static_cast<double>(counted + in_slice), 0.0, kMostCalls);
  shown = std::max(shown, hidden * part + more * progress);
  return shown;
}

// Since the cycle began.
double PassModel::passes_so_far(Trigger trigger, const Lists& now, const Calls& in_slice,
                                double progress, unsigned depth) {
  if (is_completion(trigger)) {
    const auto found = followers_.find(who_completes(trigger));
    if (found == followers_.end() || depth == kMostCompletions) return 0;
    Follower& source = found->second;
    look(source, found->first, now, in_slice, progress, depth + 1);
    const auto called = in_slice.find(found->first);
    return source.all_shown() +
           static_cast<double>(source.called +
                               (called == in_slice.end() ? 0 : called->second.calls));
  }
  const auto list = lists_.find(trigger);
  const auto passes = now.find(trigger);
  if (list == lists_.end() || passes == now.end()) return 0;
  return static_cast<double>(passes->second.ended) - static_cast<double>(list->second.ended);
}

void PassModel::look(Follower& follower, Record record, const Lists& now, const Calls& in_slice,
                     double progress, unsigned depth) {
  if (follower.is_done) return;
  follower.is_done = true;
  const auto called = in_slice.find(record);
  for (Part& part : follower.parts) {
    if (!part.live) continue;
    std::uint64_t counted = 0;
    if (called != in_slice.end())
      for (const auto& [trigger, number] : called->second.by)
        if (trigger == part.trigger) counted = number;
    part.live->so_far(passes_so_far(part.trigger, now, in_slice, progress, depth), counted,
                      progress);
  }
}

void PassModel::look(const Lists& now, const Calls& in_slice, double progress) {
  for (auto& [record, follower] : followers_) follower.is_done = false;
  for (auto& [record, follower] : followers_) look(follower, record, now, in_slice, progress, 0);
}

double PassModel::Follower::all_shown() const {
  double all = shown;
  for (const Part& part : parts)
    if (part.live) all += part.live->shown;
  return all;
}

double PassModel::shown(Record record) const {
  const auto found = followers_.find(record);
  return found == followers_.end() ? 0 : found->second.all_shown();
}

std::size_t PassModel::known() const {
  return static_cast<std::size_t>(std::ranges::count_if(followers_, [](const auto& entry) {
    const Follower& follower = entry.second;
    return follower.is_live() && std::ranges::any_of(follower.parts, &Part::is_exact) &&
           std::ranges::all_of(follower.parts,
                               [](const Part& part) { return part.is_exact() || part.is_idle(); });
  }));
}

}  // namespace ioc_exporter::records

#include "records/habits.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>

namespace ioc_exporter::records {
namespace {

// Habits fade by this part each day: what was once is not for ever, what is each week stays.
constexpr double kFading = 1.0 / 32;
// A surge that comes again so much weaker or stronger is none: a fly scan each week, though habits
// fade.
constexpr double kAlike = 2;
// Rate at which a surge becomes usual, per second: twice as much in six hours.
constexpr double kAdopting = 0.7 / (6 * 3600);

constexpr std::size_t kNameAlone = 16;  // size of an IOC without records, in records

struct Worst {
  double order = 0;
  std::uint32_t record = 0;
  double value = 0;
};

// The first kShown by order.
void keep_worst(std::vector<Worst>& all) {
  const auto most = std::min(all.size(), RecordHabits::kShown);
  std::ranges::partial_sort(all, all.begin() + static_cast<std::ptrdiff_t>(most),
                            std::ranges::greater(), &Worst::order);
  all.resize(most);
}

}  // namespace

// Records that were there before keep their habits.
void RecordHabits::take_database(Ioc& ioc, const IocSample& sample) {
  std::unordered_map<std::uint64_t, const Habit*> known;
  for (const Habit& habit : ioc.habits) known.emplace(habit.name, &habit);
  std::vector<Habit> habits;
  habits.reserve(sample.database->records.size());
  const auto now = static_cast<std::uint32_t>(ioc.observed);
  for (const RecordIdentity& record : sample.database->records) {
    const std::uint64_t name = fnv1a(record.name);
    const auto before = known.find(name);
    habits.push_back(before != known.end() ? *before->second : Habit{{name, now, now, 0, 0}, 0});
  }
  ioc.habits = std::move(habits);
  ioc.peaks.clear();
  ioc.database = sample.database;
}

void RecordHabits::begin_life(Ioc& ioc, const IocSample& sample) {
  ioc.pid = sample.pid;
  ioc.start_time_seconds = sample.start_time_seconds;
  ioc.life = 0;
  ioc.looked.reset();
  // Time before the restart was no silence, unless the record had stopped before.
  const auto moment = static_cast<std::uint32_t>(ioc.observed);
  for (Habit& habit : ioc.habits)
    if (moment - habit.active <= std::max(kPatience, kTimesSilence * habit.silence))
      habit.active = moment;
}

bool RecordHabits::has_stopped(const Ioc& ioc, Habit& habit, bool processed, std::uint32_t now) {
  const std::uint32_t silent = now - habit.active;
  const std::uint32_t most = std::max(kPatience, kTimesSilence * habit.silence);
  const bool is_known = habit.active - habit.since >= kLearning;
  if (processed) {
    // Silence that was unusual is none once more, for as long; what was usual may last six times.
    const bool was_unusual = is_known && silent > most;
    habit.silence = std::max(habit.silence, was_unusual ? silent / kTimesSilence : silent);
    habit.active = now;
    return false;
  }
  if (silent <= most || !is_known || ioc.life <= kPatience) return false;
  if (silent <= most + kAccepting) return true;
  habit.since = habit.active = now;  // it rests for good
  return false;
}

bool RecordHabits::surges(const Ioc& ioc, Habit& habit, double rate, double elapsed,
                          std::uint32_t now) {
  if (ioc.life <= kYouth) return false;
  const bool unusual = now - habit.since >= kLearning && rate >= kLeastRate &&
                       rate > kTimesRate * static_cast<double>(habit.rate);
  const double usual = std::max(static_cast<double>(habit.rate), rate / 100);
  habit.rate = static_cast<float>(unusual ? std::min(rate, usual * (1 + kAdopting * elapsed))
                                          : std::max(static_cast<double>(habit.rate), rate));
  return unusual;
}

// Once it is over, it is one of the things that the record does.
void RecordHabits::note_surge(Ioc& ioc, std::size_t record, double rate, bool surges) {
  if (surges && ioc.peaks.empty()) ioc.peaks.resize(ioc.habits.size());
  if (ioc.peaks.empty()) return;
  float& peak = ioc.peaks[record];
  if (surges) {
    peak = std::max(peak, static_cast<float>(rate));
  } else if (peak > 0) {
    const auto usual = std::exchange(peak, 0.0F) * static_cast<float>(kAlike / kTimesRate);
    ioc.habits[record].rate = std::max(ioc.habits[record].rate, usual);
  }
}

void RecordHabits::compare(Ioc& ioc, const IocSample& sample, Clock::time_point now) {
  // The records could not be read this time.
  if (ioc.looked && sample.records.empty() &&
      std::ranges::any_of(ioc.habits, [](const Habit& habit) { return habit.processed > 0; }))
    return;
  counts_.assign(ioc.habits.size(), 0);
  for (const RecordSample& record : sample.records)
    if (record.record < counts_.size()) counts_[record.record] += record.processed;
  ioc.unusual = {};
  double elapsed = 0;
  const bool is_first = !ioc.looked;
  if (!is_first) elapsed = std::chrono::duration<double>(now - *ioc.looked).count();
  ioc.looked = now;
  ioc.life += elapsed;
  ioc.observed += elapsed;
  const bool fades = ioc.observed >= ioc.next_day;
  if (fades) ioc.next_day = ioc.observed + kDay;
  const auto moment = static_cast<std::uint32_t>(ioc.observed);
  std::vector<Worst> stopped, surging;
  for (std::uint32_t i = 0; i < ioc.habits.size(); ++i) {
    Habit& habit = ioc.habits[i];
    const std::uint64_t before = std::exchange(habit.processed, counts_[i]);
    if (is_first || elapsed <= 0) continue;
    const std::uint64_t more = counts_[i] > before ? counts_[i] - before : 0;
    const double usual = static_cast<double>(habit.rate);
    const double rate = static_cast<double>(more) / elapsed;
    if (has_stopped(ioc, habit, more > 0, moment))
      stopped.push_back({usual, i, static_cast<double>(moment - habit.active)});
    const bool is_surge = surges(ioc, habit, rate, elapsed, moment);
    if (is_surge) surging.push_back({rate / std::max(usual, 0.01), i, rate});
    note_surge(ioc, i, rate, is_surge);
    if (fades) {
      habit.rate *= static_cast<float>(1 - kFading);
      habit.silence -= static_cast<std::uint32_t>(habit.silence * kFading);
    }
  }
  if (surging.empty()) ioc.peaks = {};
  ioc.unusual.stopped = stopped.size();
  ioc.unusual.surging = surging.size();
  keep_worst(stopped);
  keep_worst(surging);
  const auto named = [&](const Worst& worst) {
    return UnusualRecord{ioc.database->records[worst.record].name, worst.value};
  };
  std::ranges::transform(stopped, std::back_inserter(ioc.unusual.worst_stopped), named);
  std::ranges::transform(surging, std::back_inserter(ioc.unusual.worst_surging), named);
}

void RecordHabits::look(const std::vector<IocSample>& iocs, Clock::time_point now) {
  if (last_ && now - *last_ < kInterval) return;
  last_ = now;
  for (const IocSample& sample : iocs) {
    if (!sample.up || !sample.database || !sample.records_watched) continue;
    Ioc& ioc = iocs_[sample.name];
    if (ioc.user != sample.user) ioc = Ioc();
    ioc.user = sample.user;
    ioc.there = now;
    if (ioc.pid != sample.pid || ioc.start_time_seconds != sample.start_time_seconds)
      begin_life(ioc, sample);
    if (ioc.database != sample.database) take_database(ioc, sample);
    compare(ioc, sample, now);
  }
  // The time until the IOC is counted again does not matter.
  for (auto& [name, ioc] : iocs_) {
    if (ioc.there == now) continue;
    ioc.looked.reset();
    ioc.database.reset();
    ioc.unusual = {};
  }
  forget_some();
}

void RecordHabits::forget_some() {
  std::size_t kept = 0;
  std::vector<std::pair<double, std::string>> gone;
  for (const auto& [name, ioc] : iocs_) {
    if (ioc.database) continue;
    kept += ioc.habits.size() + kNameAlone;
    gone.emplace_back(ioc.observed, name);
  }
  if (kept <= kMostKept) return;
  std::ranges::sort(gone);
  for (auto least = gone.begin(); kept > kMostKept; ++least) {
    const auto ioc = iocs_.find(least->second);
    kept -= ioc->second.habits.size() + kNameAlone;
    iocs_.erase(ioc);
  }
}

void RecordHabits::add_to(std::vector<IocSample>& iocs, const NameFilter& shown) const {
  for (IocSample& sample : iocs) {
    const auto known = iocs_.find(sample.name);
    if (known == iocs_.end() || !sample.up || !known->second.looked) continue;
    sample.unusual = known->second.unusual;
    sample.unusual->observed_seconds = known->second.observed;
    for (auto* const worst : {&sample.unusual->worst_stopped, &sample.unusual->worst_surging})
      std::erase_if(*worst, [&shown](const auto& one) { return !shown.wants(one.name); });
  }
}

KeptHabits RecordHabits::kept() const {
  std::vector<std::map<std::string, Ioc>::const_iterator> order;
  for (auto one = iocs_.begin(); one != iocs_.end(); ++one) order.push_back(one);
  std::ranges::stable_sort(order, std::ranges::greater(), [](const auto& one) {
    return std::pair(one->second.database != nullptr, one->second.observed);
  });
  KeptHabits kept;
  std::size_t records = 0;
  for (const auto& one : order) {
    const auto& [name, ioc] = *one;
    const std::size_t more = ioc.habits.size() + kNameAlone;
    if (records + more > kMostKept || kept.size() >= kMostKeptIocs) continue;
    records += more;
    KeptIoc& copy = kept[name];
    copy.user = ioc.user;
    copy.observed = ioc.observed;
    copy.next_day = ioc.next_day;
    copy.habits.assign(ioc.habits.begin(), ioc.habits.end());
  }
  return kept;
}

void RecordHabits::restore(KeptHabits&& habits) {
  for (auto& [name, kept] : habits) {
    Ioc& ioc = iocs_[name];
    ioc.user = std::move(kept.user);
    ioc.observed = kept.observed;
    ioc.next_day = kept.next_day;
    ioc.habits.reserve(kept.habits.size());
    for (const KeptHabit& habit : kept.habits) ioc.habits.push_back({habit, 0});
    kept.habits = {};
  }
}

}  // namespace ioc_exporter::records

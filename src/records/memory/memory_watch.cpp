#include "records/memory/memory_watch.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "iocs/memory/variables.h"

namespace ioc_exporter::records {

namespace layout = iocs::layout;
namespace {

constexpr std::int32_t kMostPeriods = 256;
constexpr std::int32_t kMostOnList = 2'000'000;
constexpr double kShortestPeriod = 1e-9, kLongestPeriod = 1e9;  // s

// As spawnPeriodic() in dbScan.c names the list's thread.
std::string period_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", seconds);
  return text;
}

Result<ScanListSample> read_scan_list(const layout::PeriodicScanList& raw) {
  if (!(raw.period >= kShortestPeriod && raw.period <= kLongestPeriod))  // NaN is neither
    return error_in_words("a scan list's period is " + period_text(raw.period) + " s");
  ScanListSample sample;
  sample.period = period_text(raw.period);
  const std::int32_t count = raw.scan_list.list.count;
  if (count < 0 || count > kMostOnList || (count == 0) != (raw.scan_list.list.first == 0))
    return error_in_words("scan list of " + sample.period + " s: " + std::to_string(count) +
                          " records announced");
  sample.records = static_cast<std::uint64_t>(count);
  if (raw.name > layout::kLargestScanCtl) sample.overruns = raw.overruns;
  return sample;
}

// The list changes while it is read: its first node may be there before it is counted.
Result<ScanListSample> read_scan_list_at(iocs::Memory& memory, std::uint64_t address) {
  constexpr int kAttempts = 3;
  Result<ScanListSample> sample = error_in_words("");
  for (int attempt = 0; attempt < kAttempts && !sample; ++attempt) {
    const auto raw = memory.value<layout::PeriodicScanList>(address);
    if (!raw) return raw.error();
    sample = read_scan_list(*raw);
  }
  return sample;
}

void merge(ScanListSample& into, const ScanListSample& other) {
  into.records += other.records;
  if (into.overruns && other.overruns) *into.overruns += *other.overruns;
}

}  // namespace

Result<std::vector<ScanListSample>> read_scan_lists(iocs::Memory& memory,
                                                    const iocs::VariablePlaces& variables) {
  auto counts = iocs::place_of(variables, "nPeriodic");
  if (!counts) return std::move(counts).error();
  auto arrays = iocs::place_of(variables, "papPeriodic");
  if (!arrays) return std::move(arrays).error();
  const auto count = memory.value<std::int32_t>(counts->address);
  if (!count) return count.error();
  const auto array = memory.value<std::uint64_t>(arrays->address);
  if (!array) return array.error();
  if (*count == 0 || *array == 0) return std::vector<ScanListSample>();
  if (*count < 0 || *count > kMostPeriods)
    return error_in_words("nPeriodic is " + std::to_string(*count));
  if (!iocs::is_pointer(*array))
    return error_in_words("papPeriodic is " + iocs::hex_address(*array));

  std::map<double, ScanListSample> by_period;
  for (std::int32_t i = 0; i < *count; ++i) {
    const auto list = memory.value<std::uint64_t>(*array + 8u * static_cast<unsigned>(i));
    if (!list) return list.error();
    if (*list == 0) continue;  // a choice of menuScan that is no period
    if (!iocs::is_pointer(*list))
      return error_in_words("a scan list is at " + iocs::hex_address(*list));
    auto sample = read_scan_list_at(memory, *list);
    if (!sample) return std::move(sample).error();
    const auto [known, is_new] =
        by_period.try_emplace(std::strtod(sample->period.c_str(), nullptr), *sample);
    if (!is_new) merge(known->second, *sample);
  }
  std::vector<ScanListSample> lists;
  for (auto& [period, sample] : by_period) lists.push_back(std::move(sample));
  return lists;
}

namespace {

// Stores a reading, or says why there is none.
template <class T>
void take(Result<T> reading, const std::string& what, std::optional<T>& into,
          std::vector<std::string>& notes) {
  if (reading)
    into = std::move(*reading);
  else
    notes.push_back(what + " not known: " + reading.error().message());
}

std::string joined(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  return all;
}

void note_what_is_missing(IocMemorySample& sample) {
  const bool no_overruns =
      sample.scan_lists && !sample.scan_lists->empty() && !sample.scan_lists->front().overruns;
  if (no_overruns)
    sample.notes.push_back("its Base does not count overruns of scan lists (since 3.14.12.4)");
  const bool no_overflows =
      sample.queues && !sample.queues->empty() && !sample.queues->front().overflows;
  if (no_overflows)
    sample.notes.push_back(
        "its Base counts no overflows of queues and keeps no high-water marks (since 3.16.2)");
  if (sample.suspended_threads && !sample.suspended_threads->empty())
    sample.notes.push_back("suspended threads: " + joined(*sample.suspended_threads));
}

void note_never_processed(const RecordStatesSample& states, const Database& database,
                          std::vector<std::string>& notes) {
  constexpr std::size_t kNamed = 5;
  if (states.never_processed == 0) return;
  std::vector<std::string> names;
  for (const std::uint32_t index : states.some_never_processed)
    if (names.size() < kNamed) names.push_back(database.records[index].name);
  notes.push_back(
      "records that are active and have never completed a processing: " + joined(names) +
      (states.never_processed > names.size()
           ? " and " + std::to_string(states.never_processed - names.size()) + " more"
           : ""));
}

// A stripped file has none of these: one note is enough.
bool has_no_variables(const iocs::VariablePlaces& variables) {
  return !variables.contains("papPeriodic") && !variables.contains("onceQ") &&
         !variables.contains("pthreadList");
}

template <class Sample>
void subtract(std::optional<std::vector<Sample>>& from,
              const std::optional<std::vector<Sample>>& before,
              std::optional<std::uint64_t> Sample::*count) {
  if (!from || !before || from->size() != before->size()) return;
  for (std::size_t i = 0; i < from->size(); ++i)
    if (auto& now = (*from)[i].*count; now)
      *now -= std::min(*now, ((*before)[i].*count).value_or(0));
}

IocMemorySample read_variables(iocs::Memory& memory, const iocs::VariablePlaces& variables) {
  IocMemorySample sample;
  if (has_no_variables(variables)) {
    sample.notes.push_back(
        "scan lists, queues and suspended threads not known: its files have no symbol table, they "
        "are stripped");
    return sample;
  }
  take(read_scan_lists(memory, variables), "scan lists", sample.scan_lists, sample.notes);
  take(iocs::read_callback_queues(memory, variables), "queues", sample.queues, sample.notes);
  take(iocs::read_suspended_threads(memory, variables), "suspended threads",
       sample.suspended_threads, sample.notes);
  note_what_is_missing(sample);
  return sample;
}

}  // namespace

MemoryWatch::MemoryWatch(std::shared_ptr<iocs::ProcessReader> reader,
                         std::chrono::milliseconds stuck_after, std::chrono::milliseconds budget)
    : reader_(std::move(reader)), stuck_after_(stuck_after), budget_(budget) {}

void MemoryWatch::read(const std::vector<Job>& jobs) {
  const std::unique_lock lock(reading_, budget_);
  if (!lock) return;  // another scrape reads
  const auto deadline = Clock::now() + budget_;
  forget_others(jobs);
  std::vector<std::pair<const Job*, Watched*>> queue;
  for (const Job& job : jobs)
    if (!job.is_held) queue.emplace_back(&job, &watched(job));
  std::ranges::sort(queue, {}, [](const auto& entry) { return entry.second->tried; });
  for (const auto& [job, one] : queue) {
    if (Clock::now() >= deadline) return;
    read_one(*job, *one, deadline);
    publish(*one);
  }
}

void MemoryWatch::forget_others(const std::vector<Job>& jobs) {
  std::set<iocs::IocId> there;
  for (const Job& job : jobs) there.insert(job.id);
  std::erase_if(watched_, [&](const auto& entry) { return !there.contains(entry.second.id); });
  const std::scoped_lock lock(published_mutex_);
  std::erase_if(published_, [&](const auto& entry) { return !there.contains(entry.second.id); });
}

MemoryWatch::Watched& MemoryWatch::watched(const Job& job) {
  const auto known = watched_.find(job.id.pid);
  if (known != watched_.end() && known->second.states.database() == job.database) {
    if (std::exchange(known->second.serial, job.serial) != job.serial) {
      known->second.before = known->second.sample;
      known->second.links.begin_anew();
    }
    return known->second;
  }
  Watched fresh(RecordStates(job.database, job.offsets, stuck_after_),
                CaLinks(job.database, job.base_version));
  fresh.id = job.id;
  fresh.serial = job.serial;
  return watched_.insert_or_assign(job.id.pid, std::move(fresh)).first->second;
}

void MemoryWatch::read_one(const Job& job, Watched& watched, Clock::time_point deadline) {
  watched.tried = Clock::now();
  auto memory = reader_->memory(job.id);
  if (!memory) {
    watched.sample = {};
    watched.problem = memory.error().message();
    return;
  }
  watched.sample = read_variables(**memory, job.variables);
  auto done = watched.states.read(**memory, deadline);
  watched.problem = done ? std::string() : done.error().message();
  auto links = watched.links.update(**memory, job.variables, deadline);
  watched.no_links = links ? std::string() : links.error().message();
}

void MemoryWatch::publish(const Watched& watched) {
  auto sample = std::make_shared<IocMemorySample>(watched.sample);
  subtract(sample->scan_lists, watched.before.scan_lists, &ScanListSample::overruns);
  subtract(sample->queues, watched.before.queues, &QueueSample::overflows);
  sample->records = watched.states.sample();
  if (sample->records)
    note_never_processed(*sample->records, *watched.states.database(), sample->notes);
  sample->ca_links = watched.links.sample();
  if (!watched.no_links.empty())
    sample->notes.push_back("Channel Access links not known: " + watched.no_links);
  if (!watched.problem.empty())
    sample->notes.push_back("states of records not known: " + watched.problem);
  const std::scoped_lock lock(published_mutex_);
  published_.insert_or_assign(watched.id.pid,
                              Published{watched.id, watched.states.database(), std::move(sample)});
}

void MemoryWatch::take_counts(const IocSample& ioc) {
  const auto found = watched_.find(ioc.pid);
  const bool was_read = found != watched_.end() && found->second.tried != Clock::time_point{};
  if (!was_read || found->second.states.database() != ioc.database) return;
  found->second.states.take_counts(ioc.records);
  publish(found->second);
}

void MemoryWatch::add_to(std::vector<IocSample>& iocs) {
  {
    const std::unique_lock lock(reading_, std::try_to_lock);
    for (const IocSample& ioc : iocs)
      if (lock && ioc.up && ioc.database) take_counts(ioc);
  }
  const std::scoped_lock lock(published_mutex_);
  for (IocSample& ioc : iocs) {
    const auto published = published_.find(ioc.pid);
    if (!ioc.up || published == published_.end() || published->second.database != ioc.database)
      continue;
    ioc.memory = published->second.sample;
    ioc.notes.insert(ioc.notes.end(), ioc.memory->notes.begin(), ioc.memory->notes.end());
  }
}

}  // namespace ioc_exporter::records

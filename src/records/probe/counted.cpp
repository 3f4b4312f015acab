// The part of RecordTables that reads what was counted.
#include <algorithm>
#include <utility>

#include "exposition/limited_series.h"
#include "records/probe/tables.h"

namespace ioc_exporter::records {
namespace {

std::map<std::uint32_t, std::uint32_t> slots_by_generation(
    const std::map<std::uint32_t, WatchedIoc>& watched_iocs) {
  std::map<std::uint32_t, std::uint32_t> slots;
  for (const auto& [slot, watched] : watched_iocs) slots.emplace(watched.generation, slot);
  return slots;
}

// A thread that ended within a call has not returned from it: by pthread_exit() or
// pthread_cancel(). Returns how many such calls there were.
std::uint64_t count_ended(WatchedIoc& watched, const iocx_thread& thread) {
  add_thread(watched.ended, thread, watched.thread_names);
  if (thread.epoch != watched.epoch) return 0;
  std::uint64_t within = 0;
  std::shared_ptr<RecordCounts::Table> table;
  const iocx_frame* parent = nullptr;
  iocx_record_stats* innermost = nullptr;
  for (std::uint32_t i = 0; i < std::min<std::uint32_t>(thread.depth, IOCX_MAX_DEPTH); ++i) {
    const iocx_frame& frame = thread.frames[i];
    if (frame.state <= IOCX_FRAME_UNDECIDED) {
      if (!table) table = copy_of(watched.outgrown);
      iocx_record_stats& stats = (*table)[frame.record];
      ++stats.processed;
      ++stats.untimed;
      innermost = &stats;
      ++watched.ended.causes[parent != nullptr  ? "link"
                             : frame.cause != 0 ? cause_label(frame.cause, thread.comm)
                                                : cause_label(thread.cause, thread.comm)];
      if (parent == nullptr)
        ++watched.ended.threads[watched.thread_names.label(thread.cause, thread.comm)];
      ++within;
    }
    parent = &frame;
  }
  if (innermost != nullptr) ++innermost->unwound;
  if (table) watched.outgrown = std::move(table);
  return within;
}

}  // namespace

RecordCounts RecordTables::counts_of(std::uint32_t slot) const {
  const WatchedIoc& watched = watched_.at(slot);
  return {watched.records, watched.outgrown, object_.maps().lines.read(watched.generation)};
}

Result<std::vector<RawRecord>> RecordTables::collect(std::uint32_t slot) const {
  std::vector<RawRecord> records;
  auto read = counts_of(slot).for_each([&](std::uint64_t address, const iocx_record_stats& stats) {
    records.push_back({address, stats});
  });
  if (!read) return read.error();
  return records;
}

const WatchedIoc* RecordTables::watched_by(const iocx_thread& thread) const {
  const auto found = watched_.find(thread.slot);
  if (found == watched_.end() || found->second.generation != thread.generation) return nullptr;
  return &found->second;
}

Result<std::map<std::uint32_t, IocCounts>> RecordTables::counts() const {
  std::map<std::uint32_t, IocCounts> counts;
  for (const auto& [slot, watched] : watched_) {
    IocCounts& of_slot = counts.emplace(slot, watched.ended).first->second;
    const std::uint64_t threadless = asynchronous(slot).threadless;
    if (threadless == 0) continue;
    of_slot.hits.entries += threadless;
    of_slot.causes["other"] += threadless;
    of_slot.threads[std::string(exposition::kOther)] += threadless;
  }
  auto read =
      for_each_thread(object_, thread_places_, ThreadPart::counts, [&](const iocx_thread& thread) {
        if (const WatchedIoc* const watched = watched_by(thread))
          add_thread(counts[thread.slot], thread, watched->thread_names);
      });
  if (!read) return read.error();
  return counts;
}

Result<std::map<std::uint32_t, ProbeHits>> RecordTables::hits() const {
  std::map<std::uint32_t, ProbeHits> hits;
  for (const auto& [slot, watched] : watched_)
    hits.emplace(slot, watched.ended.hits).first->second.entries += asynchronous(slot).threadless;
  auto read =
      for_each_thread(object_, thread_places_, ThreadPart::hits, [&](const iocx_thread& thread) {
        if (watched_by(thread) == nullptr) return;
        hits[thread.slot].add(thread.counts);
      });
  if (!read) return read.error();
  return hits;
}

std::uint32_t RecordTables::generation(std::uint32_t slot) const {
  const auto found = watched_.find(slot);
  return found == watched_.end() ? 0 : found->second.generation;
}

bool RecordTables::is_counted(std::uint32_t slot) const {
  const auto found = watched_.find(slot);
  return found != watched_.end() && found->second.attach != 0;
}

bool RecordTables::is_timed(std::uint32_t slot) const {
  const auto found = watched_.find(slot);
  return found != watched_.end() && found->second.target.ending;
}

std::optional<std::chrono::steady_clock::time_point> RecordTables::direct_since(
    std::uint32_t slot) const {
  const auto found = watched_.find(slot);
  if (found == watched_.end()) return std::nullopt;
  const WatchedIoc& watched = found->second;
  const bool stays =
      watched.direct.found || (!watched.direct.sampled && watched.timing.until_ns == UINT64_MAX);
  if (watched.direct.ends == 0 || !stays) return std::nullopt;
  return watched.direct.since;
}

iocx_asynchronous RecordTables::asynchronous(std::uint32_t slot) const {
  iocx_asynchronous now{};
  object_.maps().asynchronous_now.read(slot, &now, sizeof now);
  return now;
}

Result<void> RecordTables::free_ended_threads(
    const std::function<bool(std::int32_t, std::int32_t)>& alive) {
  return records::free_ended_threads(
      object_, thread_places_, alive, [this](const iocx_thread& thread) {
        if (watched_by(thread) != nullptr)
          ended_within_ += count_ended(watched_.at(thread.slot), thread);
      });
}

Result<std::vector<std::uint64_t>> RecordTables::drops() const {
  auto drops = kernel::sum_per_cpu_counters(object_.maps().drops, IOCX_RECORD_DROPS);
  if (drops) (*drops)[IOCX_RECORD_DROP_UNWOUND] += ended_within_;
  return drops;
}

Result<std::map<std::uint32_t, std::vector<RawCause>>> RecordTables::causes() const {
  std::map<std::uint32_t, std::vector<RawCause>> by_slot;
  if (!has_causes_) return by_slot;
  const auto slots = slots_by_generation(watched_);
  auto read = object_.maps().causes.for_each([&](const iocx_cause_key& key, std::uint64_t count) {
    const auto slot = slots.find(key.generation);
    if (slot == slots.end()) return;
    by_slot[slot->second].push_back({key.record, cause_label(key.cause, key.comm), count});
  });
  if (!read) return read.error();
  return by_slot;
}

}  // namespace ioc_exporter::records

#include "records/probe/tables.h"

#include "base/log.h"
#include "base/wall_clock.h"

namespace ioc_exporter::records {
namespace {

static_assert(sizeof(iocx_record_stats) == 9 * 8 + IOCX_HIST_SLOTS * 8 + IOCX_PUT_SOURCES * 8);
static_assert(offsetof(iocx_record_stats, async_weight) == 64);
static_assert(sizeof(iocx_record_line) == 32 && sizeof(iocx_line_times) == 64);
static_assert(sizeof(iocx_line_chunk) == 16 && IOCX_HIST_SLOTS < 255);
static_assert(sizeof(iocx_ioc_config) == 88 && offsetof(iocx_ioc_config, timed_until_ns) == 32);
static_assert(sizeof(iocx_asynchronous) == 24);
static_assert(offsetof(iocx_ioc_config, pact) == 8 && offsetof(iocx_ioc_config, attach) == 18);
static_assert(sizeof(iocx_frame) == 48);
static_assert(sizeof(iocx_thread_counts) == 23 * 8 && IOCX_CAUSES - IOCX_CAUSE_DIRECT <= 4);
static_assert(sizeof(iocx_scan_name) == 20 && sizeof(iocx_cause_key) == 32);
static_assert(offsetof(iocx_thread, counts) == 48);
static_assert(sizeof(iocx_thread_puts) == 9 * 8);
static_assert(sizeof(iocx_put_config) == 48);
static_assert(offsetof(iocx_put_config, ppn) == 36);
static_assert(sizeof(iocx_notify_key) == 16 && sizeof(iocx_notify) == 16);
static_assert(sizeof(iocx_thread) == 48 + 184 + 72 + 16 + IOCX_MAX_DEPTH * 48);
static_assert(IOCX_HIST_EDGES == IOCX_HIST_LAST_K - IOCX_HIST_FIRST_K + 1);
static_assert(IOCX_HIST_SLOTS == IOCX_HIST_EDGES + 1);

using WatchedIocs = std::map<std::uint32_t, WatchedIoc>;

// Room for records whose names are not known yet, when a database is read in the middle of loading.
std::uint32_t capacity_for(std::uint32_t records) {
  return std::max(64u, records + records / 8);
}

Result<void> write_ends(const RecordMaps& maps, std::uint32_t slot, const RecordTarget& target) {
  iocx_function_ends all[IOCX_ENDING_FUNCTIONS] = {};
  const auto fill = [&all](RecordProgram program, const elf::EndingFunction* function) {
    const auto ending = ending_of(program);
    if (ending && function != nullptr) all[*ending] = elf::for_programs(function->ends());
  };
  fill(RecordProgram::process, target.ending.get());
  for (const ProbePoint& point : target.extras) fill(point.program, point.ending.get());
  for (std::uint32_t i = 0; i < IOCX_ENDING_FUNCTIONS; ++i)
    if (auto ok = maps.function_ends.update(slot * IOCX_ENDING_FUNCTIONS + i, all[i]); !ok)
      return ok;
  return {};
}

iocx_put_config put_config(const RecordTarget& target, std::uint32_t slot) {
  iocx_put_config config = target.puts;
  config.notifies = slot % IOCX_NOTIFY_TABLES;
  return config;
}

// Before the IOC's first hit: the kernel gets the purpose of a thread once.
void add_scan_names(const RecordMaps& maps, WatchedIoc& watched) {
  for (const std::string& period : watched.target.scan_periods) {
    if (is_usual_scan_period(period)) continue;
    if (watched.scan_names.size() >= iocx_cap(maps.scan_names.capacity())) {
      log::warn("scans of pid {} every {} s count as other: it has half of the names of scans",
                watched.target.ioc.pid, period);
      return;
    }
    const iocx_scan_name name = scan_name(watched.generation, period);
    if (auto ok = maps.scan_names.update(name, 1); !ok) {
      log::warn("scans of pid {} every {} s count as other: {}", watched.target.ioc.pid, period,
                ok.error().message());
      return;
    }
    watched.scan_names.push_back(name);
  }
}

Result<void> forget_causes(const RecordMaps& maps, const WatchedIoc& watched) {
  auto keys = maps.causes.keys();
  if (!keys) return std::move(keys).error();
  for (const iocx_cause_key& key : *keys) {
    if (key.generation != watched.generation) continue;
    auto erased = maps.causes.erase(key);
    if (!erased) return std::move(erased).error();
    if (*erased) maps.caps.give(IOCX_HELD_CAUSES, watched.holder);
  }
  return {};
}

void report(const Result<void>& result) {
  if (!result) log::warn("{}", result.error().message());
}

// IOCX_LAYOUT_* for the target's offsets.
std::uint8_t record_layout(const RecordTarget& target) {
  const bool neighbours = target.disa == target.disv + IOCX_WINDOW_DISA;
  if (!neighbours || target.sdis != target.disv + IOCX_WINDOW_SDIS) return IOCX_LAYOUT_ANY;
  if (target.sevr != target.disv + IOCX_WINDOW_SEVR) return IOCX_LAYOUT_ANY;
  if (target.pact == target.disv + 239) return IOCX_LAYOUT_240;
  if (target.pact == target.disv + 159) return IOCX_LAYOUT_160;
  return IOCX_LAYOUT_ANY;
}

}  // namespace

RecordTables::RecordTables(RecordProcessObject object, const RecordProcessOptions& options)
    : object_(std::move(object)),
      memory_(options.kernel_memory, object_.grows_with_use(), kernel::Cpus::of_host()),
      has_causes_(options.causes > 0) {}

Result<std::uint32_t> RecordTables::free_slot() const {
  std::uint32_t slot = 0;
  while (watched_.contains(slot) || prepared_.contains(slot)) ++slot;
  if (slot >= IOCX_MAX_IOCS)
    return error_in_words("all " + std::to_string(IOCX_MAX_IOCS) + " slots for IOCs are in use");
  return slot;
}

Result<std::uint32_t> RecordTables::slot_for(std::uint32_t records) const {
  for (const auto& [slot, prepared] : prepared_)
    if (prepared.count == records) return slot;
  return free_slot();
}

namespace {

static_assert(IOCX_PROBE_LINK_STEP == static_cast<int>(RecordProgram::link_step));

std::uint32_t stepped_probes(const RecordTarget& target) {
  std::uint32_t all = 0;
  const auto add = [&](RecordProgram program, std::uint64_t offset) {
    if (target.code->entry(offset).stepped) all |= 1u << static_cast<unsigned>(program);
  };
  add(RecordProgram::process, target.offset);
  if (target.completion) add(target.completion->program, target.completion->offset);
  for (const ProbePoint& point : target.extras) add(point.program, point.offset);
  return all;
}

}  // namespace

bool sees_ends(const WatchedIoc& watched) {
  if (watched.direct.sampled) return true;
  if (!watched.direct.found && !watched.timing.completions) return false;
  return std::ranges::any_of(watched.target.extras, [](const ProbePoint& point) {
    return point.program == RecordProgram::completion;
  });
}

// After the probe for completions was attached, and before it is taken off.
Result<void> RecordTables::write_config(std::uint32_t slot) {
  WatchedIoc& watched = watched_.at(slot);
  DirectCounting& direct = watched.direct;
  direct.attached &= watched.attach != 0 && sees_ends(watched);
  if (!direct.attached) {
    direct.ends = 0;
  } else if (direct.ends == 0) {
    direct.era = static_cast<std::uint16_t>(direct.era % (UINT16_MAX / 2) + 1);
    direct.ends = IOCX_ENDS(direct.era);
    direct.since = std::chrono::steady_clock::now();
  }
  iocx_ioc_config config{};
  config.tgid = static_cast<std::uint32_t>(watched.target.ioc.pid);
  config.generation = watched.generation;
  config.pact = watched.target.pact;
  config.disa = watched.target.disa;
  config.disv = watched.target.disv;
  config.stat = watched.target.stat;
  config.sevr = watched.target.sevr;
  config.scan = watched.target.scan;
  config.epoch = watched.epoch;
  config.attach = static_cast<std::uint8_t>(watched.attach);
  config.switches = watched.switches;
  config.layout = record_layout(watched.target);
  config.timed = watched.target.ending != nullptr && watched.timing.ends;
  config.timed_until_ns = watched.timing.until_ns;
  config.weight = watched.timing.weight;
  config.holder = watched.holder;
  config.scans_since_ns = kernel_ns(watched.scans_since);
  if (watched.target.scan_list && watched.target.scan != 0) {
    const RecordTarget& target = watched.target;
    config.scan_from = target.scan_list->file_offset - target.code->entry(target.offset).offset;
    config.scan_size = static_cast<__u32>(watched.target.scan_list->size);
  }
  config.stepped = stepped_probes(watched.target);
  config.ends = direct.ends;
  config.ends_since_ns = kernel_ns(direct.since);
  config.ends_count = direct.found;
  return object_.maps().ioc_config.update(slot, config);
}

Result<void> RecordTables::enter(std::uint32_t slot) {
  WatchedIoc& watched = watched_.at(slot);
  const RecordTarget& target = watched.target;
  const RecordMaps& maps = object_.maps();
  if (auto prepared = prepared_.extract(slot)) {
    watched.capacity = prepared.mapped().capacity;
    watched.records = std::make_shared<const OwnedRecordsMap>(std::move(prepared.mapped().records));
  } else {
    auto capacity = claim_records(slot, target.records);
    if (!capacity) return std::move(capacity).error();
    watched.capacity = *capacity;
    auto map = object_.make_records_map(watched.capacity);
    if (!map) return std::move(map).error();
    watched.records = std::make_shared<const OwnedRecordsMap>(std::move(*map));
    if (auto ok = object_.set_records_map(slot, watched.records->view); !ok) return ok;
  }
  add_scan_names(maps, watched);
  if (auto ok = maps.asynchronous.update(slot, {}); !ok) return ok;
  if (auto ok = write_ends(maps, slot, target); !ok) return ok;
  if (auto ok = maps.put_config.update(slot, put_config(target, slot)); !ok) return ok;
  if (auto ok = write_config(slot); !ok) return ok;
  return maps.ioc_by_tgid.update(static_cast<std::uint32_t>(target.ioc.pid), slot);
}

Result<void> RecordTables::forget_prepared() {
  for (auto left = prepared_.begin(); left != prepared_.end(); left = prepared_.erase(left)) {
    memory_.release(object_.maps().rooms, left->first);
    if (auto ok = object_.clear_records_map(left->first); !ok) return ok;
  }
  return {};
}

Result<std::uint32_t> RecordTables::claim_records(std::uint32_t slot, std::uint32_t records) {
  return memory_.claim(
      object_.maps().rooms,
      {.room = slot, .value_size = sizeof(iocx_record_stats), .entries = capacity_for(records)});
}

Result<OwnedCompletionsMap> RecordTables::make_completions_map(std::uint32_t slot,
                                                               std::uint32_t most) {
  auto capacity = memory_.claim(object_.maps().rooms, {.room = IOCX_COMPLETIONS_ROOM(slot),
                                                       .value_size = sizeof(iocx_completion),
                                                       .entries = most});
  if (!capacity) return std::move(capacity).error();
  auto map = object_.make_completions_map(*capacity);
  if (!map) release_completions_map(slot);
  return map;
}

void RecordTables::release_completions_map(std::uint32_t slot) {
  memory_.release(object_.maps().rooms, IOCX_COMPLETIONS_ROOM(slot));
}

std::uint64_t RecordTables::refused(std::uint32_t slot) const {
  const RecordRooms& rooms = object_.maps().rooms;
  return rooms.refused(slot) + rooms.refused(IOCX_COMPLETIONS_ROOM(slot));
}

Result<void> RecordTables::prepare_maps(const std::vector<RecordTarget>& coming) {
  // Prepared maps that nobody used since the last time: their IOCs ended in the middle of their
  // start.
  if (auto ok = forget_prepared(); !ok || coming.size() < 2) return ok;
  std::vector<std::pair<std::uint32_t, int>> places;
  for (const RecordTarget& target : coming) {
    auto slot = free_slot();
    if (!slot) break;  // slot_for() will say so
    auto capacity = claim_records(*slot, target.records);
    if (!capacity) continue;  // the same
    auto map = object_.make_records_map(*capacity);
    if (!map) {
      memory_.release(object_.maps().rooms, *slot);
      return std::move(map).error();
    }
    places.emplace_back(*slot, map->view.fd());
    prepared_[*slot] = {target.records, *capacity, std::move(*map)};
  }
  auto set = object_.set_records_maps(places);
  if (!set)
    if (auto forgotten = forget_prepared(); !forgotten) return forgotten;
  return set;
}

void RecordTables::leave(const std::vector<std::uint32_t>& slots) {
  const RecordMaps& maps = object_.maps();
  for (const std::uint32_t slot : slots) {
    const auto pid = static_cast<std::uint32_t>(watched_.at(slot).target.ioc.pid);
    if (auto erased = maps.ioc_by_tgid.erase(pid); !erased) report(erased.error());
    report(maps.ioc_config.update(slot, iocx_ioc_config{}));
  }
  std::vector<Result<void>> cleared(slots.size());
  kernel::run_together(slots.size(),
                       [&](std::size_t i) { cleared[i] = object_.clear_records_map(slots[i]); });
  std::ranges::for_each(cleared, report);
  // No program runs any more that counts for them.
  for (const std::uint32_t slot : slots) {
    const WatchedIoc& watched = watched_.at(slot);
    memory_.release(maps.rooms, slot);
    if (has_causes_) report(forget_causes(maps, watched));
    for (auto chunks = maps.lines.release(watched.generation); chunks > 0; --chunks)
      maps.caps.give(IOCX_HELD_LINES, watched.holder);
    for (const iocx_scan_name& name : watched.scan_names)
      if (auto erased = maps.scan_names.erase(name); !erased) report(erased.error());
    watched_.erase(slot);
  }
}

Result<void> RecordTables::ensure_capacity(std::uint32_t slot, std::uint32_t records) {
  WatchedIoc& watched = watched_.at(slot);
  const RecordMaps& maps = object_.maps();
  if (records <= watched.capacity) return {};
  auto capacity = claim_records(slot, records);
  if (!capacity) return std::move(capacity).error();
  if (*capacity <= watched.capacity) return {};
  auto larger = object_.make_records_map(*capacity);
  if (!larger) return std::move(larger).error();
  // Lines go on from what the old map has of their records: they end with it.
  maps.lines.stop(watched.generation);
  if (auto ok = object_.set_records_map(slot, larger->view); !ok) return ok;
  maps.lines.stop(watched.generation);  // those that were made meanwhile
  // Nothing writes to the old map any more: its counts move over here, once and for all.
  auto outgrown = copy_of(watched.outgrown);
  std::uint64_t entries = 0;
  auto moved =
      watched.records->view.for_each([&](std::uint64_t address, const iocx_record_stats& stats) {
        add_stats((*outgrown)[address], stats);
        ++entries;
      });
  maps.rooms.take_back(slot, entries);
  watched.outgrown = std::move(outgrown);
  watched.records = std::make_shared<const OwnedRecordsMap>(std::move(*larger));
  watched.capacity = *capacity;
  return moved;
}

}  // namespace ioc_exporter::records

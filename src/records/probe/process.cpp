#include "records/probe/process.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/same_inode.h"
#include "base/wall_clock.h"
#include "kernel/shares.h"
#include "kernel/uprobe.h"

#include "records/probe/scan_passes.h"

namespace ioc_exporter::records {
namespace {

static_assert(sizeof(iocx_record_stats) == 9 * 8 + IOCX_HIST_SLOTS * 8 + IOCX_PUT_SOURCES * 8);
static_assert(offsetof(iocx_record_stats, async_weight) == 64);
static_assert(sizeof(iocx_record_line) == 32 && sizeof(iocx_line_times) == 64);
static_assert(sizeof(iocx_line_chunk) == 16 && IOCX_HIST_SLOTS < 255);
static_assert(sizeof(iocx_ioc_config) == 56 && offsetof(iocx_ioc_config, timed_until_ns) == 32);
static_assert(sizeof(iocx_asynchronous) == 8);
static_assert(offsetof(iocx_ioc_config, pact) == 8 && offsetof(iocx_ioc_config, attach) == 18);
static_assert(sizeof(iocx_frame) == 48);
static_assert(sizeof(iocx_thread_counts) == 9 * 8);
static_assert(sizeof(iocx_scan_name) == 20 && sizeof(iocx_cause_key) == 32 &&
              sizeof(iocx_link_key) == 24);
static_assert(offsetof(iocx_thread, counts) == 48);
static_assert(sizeof(iocx_thread_puts) == 5 * 8);
static_assert(sizeof(iocx_put_config) == 48);
static_assert(offsetof(iocx_put_config, ppn) == 36);
static_assert(sizeof(iocx_notify_key) == 16 && sizeof(iocx_notify) == 16);
static_assert(sizeof(iocx_thread) == 48 + 72 + 40 + 16 + IOCX_MAX_DEPTH * 48);
static_assert(IOCX_HIST_EDGES == IOCX_HIST_LAST_K - IOCX_HIST_FIRST_K + 1);
static_assert(IOCX_HIST_SLOTS == IOCX_HIST_EDGES + 1);

// Room for records whose names are not known yet, when a database is read in the middle of loading.
std::uint32_t capacity_for(std::uint32_t records) {
  return std::max(64u, records + records / 8);
}

}  // namespace

std::uint8_t attach_bit(Attachment mode) {
  return mode == Attachment::all_processes ? IOCX_ATTACH_ALL : IOCX_ATTACH_PROCESS;
}

std::uint8_t record_layout(const RecordTarget& target) {
  const bool neighbours = target.disa == target.disv + IOCX_WINDOW_DISA;
  if (!neighbours || target.sdis != target.disv + IOCX_WINDOW_SDIS) return IOCX_LAYOUT_ANY;
  if (target.sevr != target.disv + IOCX_WINDOW_SEVR) return IOCX_LAYOUT_ANY;
  if (target.pact == target.disv + 239) return IOCX_LAYOUT_240;
  if (target.pact == target.disv + 159) return IOCX_LAYOUT_160;
  return IOCX_LAYOUT_ANY;
}

RecordProcess::RecordProcess(RecordProcessObject object, const RecordProcessOptions& options)
    : has_causes_(options.causes > 0),
      has_links_(options.links > 0),
      object_(std::move(object)),
      memory_(options.kernel_memory, object_.grows_with_use(), kernel::Cpus::of_host()) {}

Result<RecordProcess> RecordProcess::start(const RecordProcessOptions& options) {
  auto object = RecordProcessObject::load(options);
  if (!object) return std::move(object).error();
  // The maps that give ioc_records and ioc_completions their shape stand in slot 0, where no IOC
  // may find it.
  if (auto cleared = object->clear_records_map(0); !cleared) return cleared.error();
  if (auto cleared = object->clear_completions_map(0); !cleared) return cleared.error();
  if (auto added = add_usual_scan_names(object->maps().scan_names); !added) return added.error();
  return RecordProcess(std::move(*object), options);
}

// Two containers of one image show two devices for what the kernel has one inode of: it would hit
// the probes of both for each of their calls.
RecordProcess::LibraryKey RecordProcess::library_of(
    const std::shared_ptr<const iocs::CodeFile>& code, std::uint64_t offset) {
  LibraryKey key{code->id().device, code->id().inode, offset};
  if (libraries_.contains(key)) return key;
  std::vector<LibraryKey> alike;
  std::vector<int> files;
  for (const auto& [known, library] : libraries_) {
    if (known.offset != offset || !library.code->resembles(*code)) continue;
    alike.push_back(known);
    files.push_back(library.code->fd());
  }
  if (!files.empty()) {
    auto same = find_same_inode(code->fd(), files, offset);
    if (!same) log::warn("compare two library files: {}", same.error().message());
    if (same && *same) return alike[**same];
  }
  libraries_[key].code = code;
  return key;
}

Result<std::uint32_t> RecordProcess::free_slot() const {
  std::uint32_t slot = 0;
  while (watched_.contains(slot) || prepared_.contains(slot)) ++slot;
  if (slot >= IOCX_MAX_IOCS)
    return error_in_words("all " + std::to_string(IOCX_MAX_IOCS) + " slots for IOCs are in use");
  return slot;
}

Result<void> RecordProcess::write_config(std::uint32_t slot, const Watched& watched,
                                         std::uint8_t attach) const {
  iocx_ioc_config config{};
  config.tgid = static_cast<std::uint32_t>(watched.target.pid);
  config.generation = watched.generation;
  config.pact = watched.target.pact;
  config.disa = watched.target.disa;
  config.disv = watched.target.disv;
  config.stat = watched.target.stat;
  config.sevr = watched.target.sevr;
  config.scan = watched.target.scan;
  config.epoch = watched.epoch;
  config.attach = attach;
  config.layout = record_layout(watched.target);
  config.timed = watched.target.ending != nullptr && watched.timing.ends;
  config.timed_until_ns = watched.timing.until_ns;
  config.weight = watched.timing.weight;
  config.holder = watched.holder;
  config.scans_since_ns = kernel_ns(watched.scans_since);
  return object_.maps().ioc_config.update(slot, config);
}

Result<void> RecordProcess::write_ends(std::uint32_t slot, const RecordTarget& target) const {
  iocx_function_ends all[IOCX_ENDING_FUNCTIONS] = {};
  const auto fill = [&all](RecordProgram program, const iocs::EndingFunction* function) {
    const auto ending = ending_of(program);
    if (ending && function != nullptr) all[*ending] = iocs::for_programs(function->ends());
  };
  fill(RecordProgram::process, target.ending.get());
  for (const ProbePoint& point : target.extras) fill(point.program, point.ending.get());
  for (std::uint32_t i = 0; i < IOCX_ENDING_FUNCTIONS; ++i)
    if (auto ok = object_.maps().function_ends.update(slot * IOCX_ENDING_FUNCTIONS + i, all[i]);
        !ok)
      return ok;
  return {};
}

// Users have tables of puts with callback by their number: it is not for them to choose.
iocx_put_config RecordProcess::put_config(const RecordTarget& target) {
  iocx_put_config config = target.puts;
  config.notifies = target.user % IOCX_NOTIFY_TABLES;
  return config;
}

// Everything that the programs look up stands before the first probe can hit.
Result<void> RecordProcess::register_ioc(std::uint32_t slot, Watched& watched,
                                         std::uint8_t attach) {
  if (auto prepared = prepared_.extract(slot)) {
    watched.capacity = prepared.mapped().capacity;
    watched.records = std::make_shared<const OwnedRecordsMap>(std::move(prepared.mapped().records));
  } else {
    const RecordTarget& target = watched.target;
    auto capacity = claim_records(slot, target.user, target.records);
    if (!capacity) return std::move(capacity).error();
    watched.capacity = *capacity;
    auto map = object_.make_records_map(watched.capacity);
    if (!map) return std::move(map).error();
    watched.records = std::make_shared<const OwnedRecordsMap>(std::move(*map));
    if (auto ok = object_.set_records_map(slot, watched.records->view); !ok) return ok;
  }
  add_scan_names(watched);
  if (auto ok = object_.maps().threadless.update(slot, 0); !ok) return ok;
  if (auto ok = object_.maps().asynchronous.update(slot, {}); !ok) return ok;
  if (auto ok = write_ends(slot, watched.target); !ok) return ok;
  if (auto ok = object_.maps().puts.config.update(slot, put_config(watched.target)); !ok) return ok;
  if (auto ok = write_config(slot, watched, attach); !ok) return ok;
  return object_.maps().ioc_by_tgid.update(static_cast<std::uint32_t>(watched.target.pid), slot);
}

bool RecordProcess::may_have_scan_name(const Watched& watched) const {
  std::uint32_t all = 0, theirs = 0;
  for (const auto& [slot, other] : watched_) {
    const auto held = static_cast<std::uint32_t>(other.scan_names.size());
    all += held;
    if (other.holder.user == watched.holder.user) theirs += held;
  }
  const auto bound = kernel::usual_bound(object_.maps().scan_names.capacity());
  return iocx_share_may(bound, watched.holder.ioc, watched.holder.user, all,
                        static_cast<std::uint32_t>(watched.scan_names.size()), theirs) != 0;
}

// Before the IOC's first hit: a thread is told once what it is there for.
void RecordProcess::add_scan_names(Watched& watched) const {
  for (const std::string& period : watched.target.scan_periods) {
    if (is_usual_scan_period(period)) continue;
    if (!may_have_scan_name(watched)) {
      log::warn("scans of pid {} every {} s count as other: it has its share of the names of scans",
                watched.target.pid, period);
      return;
    }
    const iocx_scan_name name = scan_name(watched.generation, period);
    if (auto ok = object_.maps().scan_names.update(name, 1); !ok) {
      log::warn("scans of pid {} every {} s count as other: {}", watched.target.pid, period,
                ok.error().message());
      return;
    }
    watched.scan_names.push_back(name);
  }
}

void RecordProcess::forget_scan_names(const Watched& watched) const {
  for (const iocx_scan_name& name : watched.scan_names)
    if (auto erased = object_.maps().scan_names.erase(name); !erased)
      log::warn("{}", erased.error().message());
}

std::optional<std::uint32_t> RecordProcess::prepared_slot(const RecordTarget& target) const {
  for (const auto& [slot, prepared] : prepared_)
    if (prepared.count == target.records && prepared.user == target.user) return slot;
  return std::nullopt;
}

Result<void> RecordProcess::forget_prepared() {
  for (auto left = prepared_.begin(); left != prepared_.end(); left = prepared_.erase(left)) {
    memory_.release(object_.maps().rooms, left->first);
    if (auto ok = object_.clear_records_map(left->first); !ok) return ok;
  }
  return {};
}

Result<std::uint32_t> RecordProcess::claim_records(std::uint32_t slot, std::uint32_t user,
                                                   std::uint32_t records) {
  return memory_.claim(object_.maps().rooms, {.room = slot,
                                              .user = user,
                                              .value_size = sizeof(iocx_record_stats),
                                              .entries = capacity_for(records)});
}

Result<OwnedCompletionsMap> RecordProcess::make_completions_map(std::uint32_t slot,
                                                                std::uint32_t most) {
  const auto found = watched_.find(slot);
  if (found == watched_.end()) return error_in_words("no IOC in slot " + std::to_string(slot));
  const RecordTarget& target = found->second.target;
  auto capacity = memory_.claim(object_.maps().rooms, {.room = IOCX_COMPLETIONS_ROOM(slot),
                                                       .user = target.user,
                                                       .value_size = sizeof(iocx_completion),
                                                       .entries = most});
  if (!capacity) return std::move(capacity).error();
  auto map = object_.make_completions_map(*capacity);
  if (!map) release_completions_map(slot);
  return map;
}

void RecordProcess::release_completions_map(std::uint32_t slot) {
  memory_.release(object_.maps().rooms, IOCX_COMPLETIONS_ROOM(slot));
}

std::uint64_t RecordProcess::refused(std::uint32_t slot) const {
  const RecordRooms& rooms = object_.maps().rooms;
  return rooms.refused(slot) + rooms.refused(IOCX_COMPLETIONS_ROOM(slot));
}

Result<void> RecordProcess::prepare(const std::vector<Coming>& coming) {
  // Prepared maps that nobody used since the last time: their IOCs ended in the middle of their
  // start.
  if (auto ok = forget_prepared(); !ok) return ok;
  for (auto& [file, library] : libraries_) library.coming = 0;
  if (coming.size() < 2) return {};
  std::map<LibraryKey, std::size_t> by_file;
  std::vector<std::pair<std::uint32_t, int>> places;
  for (const Coming& target : coming) {
    ++by_file[library_of(target.code, target.offset)];
    auto slot = free_slot();
    if (!slot) break;  // watch() will say so
    auto capacity = claim_records(*slot, target.user, target.records);
    if (!capacity) continue;  // the same
    auto map = object_.make_records_map(*capacity);
    if (!map) {
      memory_.release(object_.maps().rooms, *slot);
      return std::move(map).error();
    }
    places.emplace_back(*slot, map->view.fd());
    prepared_[*slot] = {target.records, target.user, *capacity, std::move(*map)};
  }
  if (auto ok = object_.set_records_maps(places); !ok) {
    if (auto forgotten = forget_prepared(); !forgotten) return forgotten;
    return ok;
  }
  for (const auto& [file, count] : by_file) {
    Library& library = libraries_[file];
    library.coming = count;
    if (library.slots.empty()) library.mode = choose_attachment(Attachment::per_process, count);
  }
  return {};
}

Result<std::uint32_t> RecordProcess::watch(const RecordTarget& target) {
  const auto prepared = prepared_slot(target);
  auto slot = prepared ? Result<std::uint32_t>(*prepared) : free_slot();
  if (!slot) return std::move(slot).error();
  const LibraryKey key = library_of(target.code, target.offset);
  Library& library = libraries_[key];
  library.slots.push_back(*slot);
  if (library.coming > 0) --library.coming;
  Watched& watched = watched_[*slot];
  watched.target = target;
  watched.library = key;
  watched.generation = next_generation_++;
  watched.holder = iocx_holder_of(watched.generation, target.user);
  auto done = register_ioc(*slot, watched, attach_bit(library.mode));
  if (done) done = attach_target(*slot, library);
  if (!done) {
    unwatch(*slot);
    return done.error();
  }
  // The IOC is counted already: that the cheaper way of attaching failed is no reason to give it
  // up.
  auto balanced = rebalance(library);
  if (!balanced && balanced.error().code != std::errc::no_such_process)
    log::warn("{}", balanced.error().message());
  return *slot;
}

void RecordProcess::unwatch(const std::vector<std::uint32_t>& slots) {
  const auto report = [](const Result<void>& result) {
    if (!result) log::warn("{}", result.error().message());
  };
  std::vector<std::uint32_t> known;
  for (const std::uint32_t slot : slots)
    if (watched_.contains(slot)) known.push_back(slot);
  take_off_of(known);
  for (const std::uint32_t slot : known) {
    const Watched& watched = watched_.at(slot);
    auto erased = object_.maps().ioc_by_tgid.erase(static_cast<std::uint32_t>(watched.target.pid));
    if (!erased) log::warn("{}", erased.error().message());
    report(object_.maps().ioc_config.update(slot, iocx_ioc_config{}));
  }
  std::vector<Result<void>> cleared(known.size());
  kernel::run_together(known.size(),
                       [&](std::size_t i) { cleared[i] = object_.clear_records_map(known[i]); });
  std::ranges::for_each(cleared, report);
  std::set<LibraryKey> libraries;
  for (const std::uint32_t slot : known) {
    const auto found = watched_.find(slot);
    memory_.release(object_.maps().rooms, slot);
    // After clear_records_map() no program runs that counts for it.
    report(forget_causes_and_links(found->second));
    const RecordMaps& maps = object_.maps();
    for (auto chunks = maps.lines.release(found->second.generation); chunks > 0; --chunks)
      maps.shares.give(IOCX_SHARE_LINES, found->second.holder.ioc, found->second.holder.user);
    forget_scan_names(found->second);
    libraries.insert(found->second.library);
    watched_.erase(found);
  }
  for (const LibraryKey& key : libraries)
    if (const auto library = libraries_.find(key); library != libraries_.end())
      report(rebalance(library->second));
}

Result<void> RecordProcess::update(std::uint32_t slot, const RecordTarget& target) {
  const auto found = watched_.find(slot);
  if (found == watched_.end()) return error_in_words("no IOC in slot " + std::to_string(slot));
  Watched& watched = found->second;
  if (auto ok = ensure_capacity(slot, watched, target.records); !ok) return ok;
  if (target.sdis == watched.target.sdis) return {};
  watched.target.sdis = target.sdis;
  const Attachment mode = libraries_.at(watched.library).mode;
  return write_config(slot, watched, watched.paused ? 0 : attach_bit(mode));
}

Result<void> RecordProcess::ensure_capacity(std::uint32_t slot, Watched& watched,
                                            std::uint32_t records) {
  if (records <= watched.capacity) return {};
  const RecordTarget& target = watched.target;
  auto capacity = claim_records(slot, target.user, records);
  if (!capacity) return std::move(capacity).error();
  if (*capacity <= watched.capacity) return {};
  return replace_map(slot, watched, *capacity);
}

Result<void> RecordProcess::replace_map(std::uint32_t slot, Watched& watched,
                                        std::uint32_t capacity) {
  auto larger = object_.make_records_map(capacity);
  if (!larger) return std::move(larger).error();
  // Lines go on from what the old map has of their records: they end with it.
  object_.maps().lines.stop(watched.generation);
  if (auto ok = object_.set_records_map(slot, larger->view); !ok) return ok;
  object_.maps().lines.stop(watched.generation);  // those that were made meanwhile
  // Nothing writes to the old map any more: its counts move over here, once and for all.
  auto outgrown = watched.outgrown ? std::make_shared<RecordCounts::Table>(*watched.outgrown)
                                   : std::make_shared<RecordCounts::Table>();
  std::uint64_t entries = 0;
  auto moved =
      watched.records->view.for_each([&](std::uint64_t address, const iocx_record_stats& stats) {
        add_stats((*outgrown)[address], stats);
        ++entries;
      });
  object_.maps().rooms.take_back(slot, entries);
  watched.outgrown = std::move(outgrown);
  watched.records = std::make_shared<const OwnedRecordsMap>(std::move(*larger));
  watched.capacity = capacity;
  return moved;
}

Result<RecordCounts> RecordProcess::counts_of(std::uint32_t slot) const {
  const auto found = watched_.find(slot);
  if (found == watched_.end()) return error_in_words("no IOC in slot " + std::to_string(slot));
  const Watched& watched = found->second;
  return RecordCounts(watched.records, watched.outgrown,
                      object_.maps().lines.read(watched.generation));
}

Result<std::vector<RawRecord>> RecordProcess::collect(std::uint32_t slot) const {
  auto counts = counts_of(slot);
  if (!counts) return std::move(counts).error();
  std::vector<RawRecord> records;
  auto read = counts->for_each([&](std::uint64_t address, const iocx_record_stats& stats) {
    records.push_back({address, stats});
  });
  if (!read) return read.error();
  return records;
}

const RecordProcess::Watched* RecordProcess::watched_by(const iocx_thread& thread) const {
  const auto found = watched_.find(thread.slot);
  if (found == watched_.end() || found->second.generation != thread.generation) return nullptr;
  return &found->second;
}

Result<std::map<std::uint32_t, IocCounts>> RecordProcess::counts() const {
  std::map<std::uint32_t, IocCounts> counts;
  for (const auto& [slot, watched] : watched_) {
    IocCounts& of_slot = counts.emplace(slot, watched.ended).first->second;
    auto threadless = object_.maps().threadless.lookup(slot);
    if (!threadless) return std::move(threadless).error();
    if (*threadless && **threadless > 0) of_slot.causes["other"] += **threadless;
  }
  auto read =
      for_each_thread(object_, thread_places_, ThreadPart::counts, [&](const iocx_thread& thread) {
        if (watched_by(thread) != nullptr) add_thread(counts[thread.slot], thread);
      });
  if (!read) return read.error();
  return counts;
}

Result<std::map<std::uint32_t, ProbeHits>> RecordProcess::hits() const {
  std::map<std::uint32_t, ProbeHits> hits;
  for (const auto& [slot, watched] : watched_) hits.emplace(slot, watched.ended.hits);
  auto read =
      for_each_thread(object_, thread_places_, ThreadPart::hits, [&](const iocx_thread& thread) {
        if (watched_by(thread) == nullptr) return;
        hits[thread.slot].entries += thread.counts.entries;
        hits[thread.slot].returns += thread.counts.returns;
      });
  if (!read) return read.error();
  return hits;
}

Result<ProbeHits> RecordProcess::hits(std::uint32_t slot) const {
  auto all = hits();
  if (!all) return std::move(all).error();
  const auto found = all->find(slot);
  return found == all->end() ? ProbeHits{} : found->second;
}

std::uint32_t RecordProcess::generation(std::uint32_t slot) const {
  const auto found = watched_.find(slot);
  return found == watched_.end() ? 0 : found->second.generation;
}

iocx_asynchronous RecordProcess::asynchronous(std::uint32_t slot) const {
  iocx_asynchronous now{};
  object_.maps().asynchronous_now.read(slot, &now, sizeof now);
  return now;
}

bool RecordProcess::saw_asynchronous(std::uint32_t slot) const {
  return asynchronous(slot).seen != 0;
}

// A thread that ended within a call has not returned from it: by pthread_exit() or
// pthread_cancel().
void RecordProcess::count_ended(const iocx_thread& thread) {
  Watched& watched = watched_.at(thread.slot);
  add_thread(watched.ended, thread);
  if (thread.epoch != watched.epoch) return;
  std::shared_ptr<RecordCounts::Table> table;
  const iocx_frame* parent = nullptr;
  for (std::uint32_t i = 0; i < std::min<std::uint32_t>(thread.depth, IOCX_MAX_DEPTH); ++i) {
    const iocx_frame& frame = thread.frames[i];
    if (frame.state <= IOCX_FRAME_UNDECIDED) {
      if (!table)
        table = watched.outgrown ? std::make_shared<RecordCounts::Table>(*watched.outgrown)
                                 : std::make_shared<RecordCounts::Table>();
      iocx_record_stats& stats = (*table)[frame.record];
      ++stats.processed;
      ++stats.untimed;
      ++watched.ended.causes[parent != nullptr ? "link" : cause_label(thread.cause, thread.comm)];
      ++ended_within_;
    }
    parent = &frame;
  }
  if (table) watched.outgrown = std::move(table);
}

Result<void> RecordProcess::free_ended_threads(
    const std::function<bool(std::int32_t, std::int32_t)>& alive) {
  return records::free_ended_threads(object_, thread_places_, alive,
                                     [this](const iocx_thread& thread) {
                                       if (watched_by(thread) != nullptr) count_ended(thread);
                                     });
}

Result<std::vector<std::uint64_t>> RecordProcess::drops() const {
  auto drops = kernel::sum_per_cpu_counters(object_.maps().drops, IOCX_RECORD_DROPS);
  if (drops) (*drops)[IOCX_RECORD_DROP_UNWOUND] += ended_within_;
  return drops;
}

Result<RecordProcessUse> RecordProcess::use() const {
  RecordProcessUse use;
  use.threads = object_.maps().shares.held(IOCX_SHARE_THREADS) +
                object_.maps().shares.held(IOCX_SHARE_OVERFLOW_THREADS);
  use.threads_capacity =
      object_.maps().thread_owners.capacity() + object_.maps().overflow_threads.capacity();
  for (const auto& [file, library] : libraries_) {
    use.attachments += library.for_all.size();
    for (const auto& [slot, attached] : library.by_slot) use.attachments += attached.size();
  }
  for (const auto& [slot, watched] : watched_) use.records_capacity += watched.capacity;
  use.memory = memory_.use(object_.maps().rooms);
  return use;
}

}  // namespace ioc_exporter::records

#include "records/collector.h"

#include "base/time_text.h"
#include "kernel/load_error.h"
#include "records/probe/probe_points.h"

namespace ioc_exporter::records {
namespace {

using std::chrono::seconds;

constexpr const char* kProbe = "record_process";
constexpr seconds kThreadCheckInterval{20};
constexpr std::uint32_t kMostRecordCauses = 262'144;  // of 100,000 records, with some to spare

std::uint32_t records_of(const Database& database) {
  return static_cast<std::uint32_t>(database.records.size());
}

}  // namespace

RecordsCollector::RecordsCollector(iocs::Host& host, const Options& options,
                                   const kernel::TraceUse& traces)
    : host_(host), options_(options), traces_(traces), memory_(host.reader(), options.stuck_after) {
  set_bounds({});
  if (options_.enabled)
    if (auto loaded = load(); !loaded) why_not_ = kernel::explain_load_error(loaded.error());
}

Result<void> RecordsCollector::load() {
  if (auto ok = in_initial_pid_namespace(host_.fs(), "count records"); !ok) return ok;
  RecordProcessOptions probe;
  probe.max_threads = options_.max_threads;
  probe.causes = options_.causes ? kMostRecordCauses : 0;
  probe.traces = traces_;
  probe.kernel_memory =
      options_.kernel_memory > 0 ? options_.kernel_memory : usual_kernel_memory(host_.fs());
  auto process = RecordProcess::start(probe);
  if (!process && traces_.on()) {  // counting does not depend on tracing
    trace_problem_ = process.error().message();
    probe.traces = {};
    process = RecordProcess::start(probe);
  }
  if (!process) return std::move(process).error();
  if (const auto& measured = kernel::measured_hit_cost())
    measured_cost_ = *measured;
  else if (kernel::is_refused(measured.error()))  // so would be those on IOCs
    return measured.error();
  else
    log::warn("{}", measured.error().message());
  process_.emplace(std::move(*process));
  extras_.emplace(*process_);
  const HitCost cost = kernel::hit_cost();
  log::info(
      "a hit of a probe takes {:.0f} ns, {:.0f} ns where the kernel single-steps; {:.0f} ns more "
      "after a pause",
      cost.emulated * 1e9, cost.stepped * 1e9, cost.after_pause * 1e9);
  control_.emplace(*process_,
                   TimingLevel::Limits{.target = options_.overhead_target / 100,
                                       .budget = options_.overhead_budget / 100},
                   cost);
  return {};
}

std::vector<ProbeState> RecordsCollector::probes() const {
  if (!options_.enabled) return {};
  return {{kProbe, why_not_}};
}

void RecordsCollector::follow(TimePoint now) {
  std::vector<std::uint32_t> ended;
  for (auto one = watched_.begin(); one != watched_.end();) {
    auto& [id, watched] = *one;
    const iocs::LiveIoc* const live = host_.find(id, watched.serial);
    if (live == nullptr) {
      if (watched.slot) ended.push_back(*watched.slot);
      one = watched_.erase(one);
      continue;
    }
    if (watched.slot) {
      control_->set_traced_or_stopped(*watched.slot, !live->ioc.traced_or_stopped.empty());
      if (live->ioc.main_thread_ended && !watched.main_thread_ended) {
        const auto noted = process_->note_main_thread_ended(*watched.slot);
        watched.main_thread_ended = noted.ok();
        trouble_.report("count on after the end of a main thread", noted);
      }
    }
    ++one;
  }
  if (!ended.empty()) {
    for (const std::uint32_t slot : ended) control_->forget(slot);
    process_->unwatch(ended);
    for (const std::uint32_t slot : ended)
      if (auto ok = extras_->forget(slot); !ok) log::warn("{}", ok.error().message());
  }
  if (process_) watch_due(now);
  if (why_not_.empty()) return;
  for (const auto& [id, live] : host_.live())
    if (live.ioc.kind == iocs::IocKind::base)
      host_.set_problem(id, iocs::Concern::records, why_not_);
}

bool RecordsCollector::is_due(const iocs::LiveIoc& live, TimePoint now) const {
  if (!live.database || !live.ioc.target || host_.left_alone(live)) return false;
  const auto known = watched_.find(live.ioc.id);
  if (known == watched_.end()) return true;
  const Watched& watched = known->second;
  return watched.attaching.is_due(now) && (!watched.slot || watched.database != live.database);
}

// IOCs that came together are attached together: the kernel is waited for once.
void RecordsCollector::watch_due(TimePoint now) {
  std::vector<const iocs::LiveIoc*> due;
  std::vector<RecordProcess::Coming> coming;
  for (const auto& [id, live] : host_.live()) {
    if (!is_due(live, now)) continue;
    due.push_back(&live);
    const auto known = watched_.find(id);
    if (known == watched_.end() || !known->second.slot)
      coming.push_back(
          {live.ioc.target->file, live.ioc.target->offset, records_of(*live.database)});
  }
  if (due.empty()) return;
  if (auto prepared = process_->prepare(coming); !prepared)
    log::warn("{}", prepared.error().message());
  for (const iocs::LiveIoc* live : due) {
    Watched& watched = watched_[live->ioc.id];
    watched.serial = live->serial;
    const auto done = watch(*live, watched);
    host_.set_problem(live->ioc.id, iocs::Concern::records, done ? "" : done.error().message());
    if (done)
      watched.attaching.succeeded();
    else if (watched.attaching.failed(now, done.error().message()))
      log::warn("{}", done.error().message());
  }
}

Result<void> RecordsCollector::watch(const iocs::LiveIoc& live, Watched& watched) {
  const iocs::ProbeTarget& where = *live.ioc.target;
  RecordTarget target;
  static_cast<iocs::FieldOffsets&>(target) = live.offsets;
  target.pid = live.ioc.id.pid;
  target.main_thread_ended = live.ioc.main_thread_ended;
  target.code = where.file;
  target.path = where.display_path;
  target.offset = where.offset;
  target.records = records_of(*live.database);
  target.scan_periods = live.database->scan_periods;
  RecordPoints points = record_points(where, live.offsets, options_.puts, options_.durations,
                                      traces_.on() && trace_problem().empty());
  target.ending = std::move(points.process);
  target.extras = std::move(points.extras);
  target.puts = points.puts;
  target.completion = completion_point(where);
  target.scan_list = points.scan_list;
  if (watched.slot) {
    auto updated = process_->update(*watched.slot, target);
    if (updated) watched.database = live.database;
    return updated;
  }
  auto slot = process_->watch(target);
  // It has ended meanwhile; the finder will say so.
  if (!slot && slot.error().code == std::errc::no_such_process) return {};
  if (!slot)
    return Error{slot.error().code,
                 "count records of " + iocs::subject_of(live.ioc) + ": " + slot.error().context};
  watched.slot = *slot;
  watched.main_thread_ended = target.main_thread_ended;
  watched.database = live.database;
  watched.notes = std::move(points.notes);
  if (points.all_writes) watched.writes_since = now_seconds();
  control_->watch(*slot, live.ioc.name);
  control_->set_traced_or_stopped(*slot, !live.ioc.traced_or_stopped.empty());
  log::info("counting {} records of {} in {}{}", target.records, iocs::subject_of(live.ioc),
            where.display_path, where.deleted ? " (deleted on disk)" : "");
  return {};
}

void RecordsCollector::tick(TimePoint now) {
  if (!process_) return;
  const std::scoped_lock lock(host_.mutex());
  control_->look(now);
  std::vector<ExtraProbes::Watched> extras;
  for (const auto& [live, slot, generation] : counted())
    if (!host_.left_alone(*live)) extras.push_back({slot, records_of(*live->database)});
  trouble_.report("look at asynchronous records", extras_->look(extras));
  if (!host_.hands_off())
    trouble_.report("look for processings without dbProcess", process_->look_for_direct(now));
  free_ended_threads(now);
  process_->share_memory();
  for (auto& [id, watched] : watched_) {
    const iocs::LiveIoc* const live = host_.find(id, watched.serial);
    if (!watched.slot || watched.refused_reported || live == nullptr) continue;
    if (process_->refused(*watched.slot) == 0) continue;
    watched.refused_reported = true;
    log::warn(
        "count records of {}: its share of --limit.kernel-memory is used up; what did not "
        "process before is not counted",
        iocs::subject_of(live->ioc));
  }
}

// Clients that come and go leave a thread's stack behind with each connection.
void RecordsCollector::free_ended_threads(TimePoint now) {
  const auto use = process_->use();
  const bool crowded = use && use->threads * 4 > use->threads_capacity;
  const bool some_may_have_ended =
      now >= next_thread_check_ && host_.task_changes() != threads_checked_at_;
  if (!some_may_have_ended && !crowded) return;
  next_thread_check_ = now + kThreadCheckInterval;
  threads_checked_at_ = host_.task_changes();
  const auto alive = [this](std::int32_t pid, std::int32_t tid) {
    const std::string task = "/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid);
    return ::access(host_.fs().path(task).c_str(), F_OK) == 0;
  };
  trouble_.report("free the stacks of ended threads", process_->free_ended_threads(alive));
}

std::optional<Collector::TimePoint> RecordsCollector::next_due() {
  const std::scoped_lock lock(host_.mutex());
  return control_ ? control_->next_due() : std::nullopt;
}

void RecordsCollector::act_on_due(TimePoint now) {
  const std::scoped_lock lock(host_.mutex());
  const auto due = control_ ? control_->next_due() : std::nullopt;
  if (due && *due <= now) control_->look(now);
}

std::vector<RecordsCollector::Counted> RecordsCollector::counted() const {
  std::vector<Counted> all;
  for (const auto& [id, watched] : watched_) {
    const iocs::LiveIoc* const live = host_.find(id, watched.serial);
    if (watched.slot && live != nullptr)
      all.push_back({live, *watched.slot, process_->generation(*watched.slot)});
  }
  return all;
}

void RecordsCollector::time_all(std::uint32_t slot, bool all) {
  if (control_) control_->set_wanted(slot, all);
}

void RecordsCollector::detach() {
  if (control_) control_->set_detached(true);
}

void RecordsCollector::attach() {
  if (control_) control_->set_detached(false);
}

void RecordsCollector::set_bounds(const exposition::BoundsOptions& bounds) {
  const std::scoped_lock lock(bounds_mutex_);
  bounds_.configure(bounds);
  if (bounds.set != exposition::SeriesSet::site)
    types_.reset();
  else if (!types_)
    types_.emplace(true);
  if (types_) types_->configure(bounds);
  edges_ = ShownEdges::apart(bounds.edge_step);
}

}  // namespace ioc_exporter::records

#include "records/collector.h"

#include "base/wall_clock.h"
#include "kernel/load_error.h"

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

RecordsCollector::RecordsCollector(iocs::Host& host, const Options& options, probes::Budget& budget,
                                   const kernel::TraceUse& traces)
    : host_(host),
      budget_(budget),
      options_(options),
      traces_(traces),
      view_(host.view()),
      memory_(host.reader(), options.stuck_after) {
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
  control_.emplace(*process_, budget_, options_.overhead_target / 100, cost);
  return {};
}

std::vector<ProbeState> RecordsCollector::probes() const {
  if (!options_.enabled) return {};
  return {{kProbe, why_not_}};
}

void RecordsCollector::follow(TimePoint now) {
  const std::scoped_lock lock(mutex_);
  view_ = host_.view();
  std::vector<std::uint32_t> ended;
  for (auto one = watched_.begin(); one != watched_.end();) {
    auto& [id, watched] = *one;
    const iocs::LiveIoc* const live = view_->find(id, watched.serial);
    if (live == nullptr) {
      if (watched.slot) ended.push_back(*watched.slot);
      one = watched_.erase(one);
      continue;
    }
    ++one;
  }
  // First: what unwatch() attaches for the others must leave alone what this scan has found traced.
  if (process_) process_->engine().follow(view_->live(), host_.hands_off());
  if (!ended.empty()) {
    for (const std::uint32_t slot : ended) control_->forget(slot);
    process_->unwatch(ended);
    for (const std::uint32_t slot : ended)
      if (auto ok = extras_->forget(slot); !ok) log::warn("{}", ok.error().message());
  }
  if (process_) {
    process_->apply();
    watch_due(now);
  }
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
  std::vector<Coming> coming;
  std::vector<RecordTarget> targets;
  for (const auto& [id, live] : view_->live()) {
    if (!is_due(live, now)) continue;
    Watched& watched = watched_[id];
    watched.serial = live.serial;
    Coming one{live, watched, points_of(live)};
    RecordTarget target = target_of(live, one.points);
    if (watched.slot) {
      note(one, process_->update(*watched.slot, target), now);
      continue;
    }
    coming.push_back(std::move(one));
    targets.push_back(std::move(target));
  }
  if (coming.empty()) return;
  const auto slots = process_->watch(targets);
  for (std::size_t i = 0; i < slots.size(); ++i)
    note(coming[i], begin_counting(coming[i], slots[i]), now);
  process_->apply();  // what the budget has said of them before
}

RecordPoints RecordsCollector::points_of(const iocs::LiveIoc& live) const {
  return record_points(*live.ioc.target, live.offsets, options_.puts, options_.durations,
                       traces_.on() && trace_problem().empty());
}

RecordTarget RecordsCollector::target_of(const iocs::LiveIoc& live,
                                         const RecordPoints& points) const {
  const iocs::ProbeTarget& where = *live.ioc.target;
  RecordTarget target;
  static_cast<iocs::FieldOffsets&>(target) = live.offsets;
  target.ioc = live.ioc.id;
  target.code = where.file;
  target.path = where.display_path;
  target.offset = where.offset;
  target.records = records_of(*live.database);
  target.scan_periods = live.database->scan_periods;
  target.ending = points.process;
  target.extras = points.extras;
  target.puts = points.puts;
  target.completion = completion_point(where);
  target.scan_list = points.scan_list;
  return target;
}

Result<void> RecordsCollector::begin_counting(Coming& coming, const Result<std::uint32_t>& slot) {
  auto& [live, watched, points] = coming;
  // It has ended meanwhile; the finder will say so.
  if (!slot && slot.error().code == std::errc::no_such_process) return {};
  if (!slot)
    return Error{slot.error().code,
                 "count records of " + iocs::subject_of(live.ioc) + ": " + slot.error().context};
  watched.slot = *slot;
  watched.notes = std::move(points.notes);
  watched.has_write_points = points.all_writes;
  control_->watch(*slot, live.ioc.name);
  const iocs::ProbeTarget& where = *live.ioc.target;
  log::info("counting {} records of {} in {}{}", records_of(*live.database),
            iocs::subject_of(live.ioc), where.display_path,
            where.deleted ? " (deleted on disk)" : "");
  return {};
}

void RecordsCollector::note(Coming& coming, const Result<void>& done, TimePoint now) {
  auto& [live, watched, points] = coming;
  watched.problem = done ? "" : done.error().message();
  if (done) {
    watched.attaching.succeeded();
    if (watched.slot) watched.database = live.database;
  } else if (watched.attaching.failed(now, watched.problem)) {
    log::warn("{}", watched.problem);
  }
}

void RecordsCollector::tick(TimePoint now) {
  if (!process_) return;
  const std::scoped_lock lock(mutex_);
  control_->tick(now);
  std::vector<ExtraProbes::Watched> extras;
  for (const auto& [id, watched] : watched_)
    if (const iocs::LiveIoc* const live = view_->find(id, watched.serial);
        live != nullptr && watched.slot && !host_.left_alone(*live))
      extras.push_back({*watched.slot, records_of(*live->database)});
  for (auto& [id, watched] : watched_) follow_writes(watched);
  trouble_.report("read what is known of asynchronous records", extras_->read(extras));
  process_->sample_direct(now);
  free_ended_threads(now);
  process_->share_memory();
  for (auto& [id, watched] : watched_) {
    const iocs::LiveIoc* const live = view_->find(id, watched.serial);
    if (!watched.slot || watched.refused_reported || live == nullptr) continue;
    if (process_->refused(*watched.slot) == 0) continue;
    watched.refused_reported = true;
    log::warn(
        "count records of {}: its share of --limit.kernel-memory is used up; what did not "
        "process before is not counted",
        iocs::subject_of(live->ioc));
  }
}

// Since when all writes are counted.
void RecordsCollector::follow_writes(Watched& watched) {
  if (!watched.slot || !watched.has_write_points) return;
  const auto overhead = control_->sample(*watched.slot);
  if (process_->refused(*watched.slot) > 0 ||
      (overhead && (overhead->over_budget || !overhead->attached || !overhead->has_extras)))
    watched.writes_since_ns.reset();
  else if (!watched.writes_since_ns)
    watched.writes_since_ns = clock_ns(CLOCK_MONOTONIC);
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
  const std::scoped_lock lock(mutex_);
  return control_ ? control_->next_due() : std::nullopt;
}

void RecordsCollector::act_on_due(TimePoint now) {
  const std::scoped_lock lock(mutex_);
  if (!control_) return;
  const auto due = control_->next_due();
  if (budget_.is_due(now) || (due && *due <= now)) control_->tick(now);
}

std::vector<RecordsCollector::Counted> RecordsCollector::counted() const {
  const std::scoped_lock lock(mutex_);
  std::vector<Counted> all;
  for (const auto& [id, watched] : watched_) {
    const iocs::LiveIoc* const live = view_->find(id, watched.serial);
    if (watched.slot && live != nullptr)
      all.push_back({live->ioc.name, live->ioc.id.pid, live->database, *watched.slot,
                     process_->generation(*watched.slot)});
  }
  return all;
}

void RecordsCollector::time_all(std::uint32_t slot, bool all) {
  const std::scoped_lock lock(mutex_);
  if (control_) control_->set_wanted(slot, all);
}

void RecordsCollector::detach() {
  const std::scoped_lock lock(mutex_);
  for (auto& [id, watched] : watched_) watched.writes_since_ns.reset();
  if (process_) process_->follow(view_->live(), true);
}

void RecordsCollector::attach() {
  const std::scoped_lock lock(mutex_);
  if (process_) process_->follow(view_->live(), false);
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

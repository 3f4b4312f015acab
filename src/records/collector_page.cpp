// Output of RecordsCollector: samples, families, the page at "/".

#include <cmath>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/time_text.h"
#include "base/wall_clock.h"
#include "exposition/page.h"
#include "exposition/status_page.h"
#include "records/collector.h"
#include "records/memory/record_states.h"

namespace ioc_exporter::records {
namespace {

constexpr const char* kProbe = "record_process";

std::string percent_text(double share) {
  return exposition::rate_text(share * 100) + " %";
}

std::uint64_t processed(const IocSample& ioc) {
  std::uint64_t sum = 0;
  for (const RecordSample& record : ioc.records) sum += record.processed;
  return sum;
}

// User and system, of all threads; 0: it has ended. The kernel's number for the clock of a process
// (clock_getcpuclockid(3)).
std::uint64_t cpu_ns_of(int pid) {
  return clock_ns(static_cast<clockid_t>(~static_cast<unsigned>(pid) << 3 | 2));
}

void add_timing_note(const OverheadSample& overhead, std::vector<std::string>& notes) {
  if (overhead.timed_share == 0)
    notes.push_back("its calls are counted, and not timed");
  else if (overhead.timed_share < 1)
    notes.push_back("1 second in " + std::to_string(std::lround(1 / overhead.timed_share)) +
                    " is timed (--overhead.target); all calls are counted");
}

std::vector<MemoryWatch::Job> memory_jobs(const iocs::Host& host) {
  std::vector<MemoryWatch::Job> jobs;
  if (host.hands_off()) return jobs;
  const auto view = host.view();
  for (const auto& [id, live] : view->live())
    if (live.database && live.initialized)
      jobs.push_back({id, live.serial, live.ioc.variables, live.database, live.offsets,
                      live.ioc.base_version, !live.ioc.traced_or_stopped.empty()});
  return jobs;
}

}  // namespace

std::optional<PendingRecords> RecordsCollector::describe(const iocs::LiveIoc& live,
                                                         const RecordCauses* causes,
                                                         std::size_t index, Reading& reading) {
  IocSample& sample = reading.iocs[index];
  const auto found = watched_.find(live.ioc.id);
  if (sample.problem.empty() && live.ioc.kind == iocs::IocKind::base)
    sample.problem = found == watched_.end() ? why_not_ : found->second.problem;
  if (found == watched_.end() || !found->second.slot) return std::nullopt;
  const std::uint32_t slot = *found->second.slot;
  sample.notes = found->second.notes;
  sample.overhead = control_->sample(slot);
  if (sample.overhead && causes != nullptr)
    reading.self.ioc_overhead.push_back(
        {live.ioc.name, kProbe, control_->seconds(slot, causes->hits(slot))});
  const std::uint64_t refused = process_->refused(slot);
  follow_writes(found->second);
  if (const auto since = found->second.writes_since_ns)
    sample.writes_since_seconds =
        now_seconds() - static_cast<double>(clock_ns(CLOCK_MONOTONIC) - *since) / 1e9;
  if (sample.overhead && sample.overhead->over_budget) {
    sample.notes.push_back("its records are not counted: that would cost " +
                           percent_text(*sample.overhead->over_budget) +
                           " of a core, more than --overhead.budget; tried again at times");
    return std::nullopt;
  }
  sample.records_watched = !sample.overhead || sample.overhead->attached;
  if (refused > 0)
    sample.notes.push_back(exposition::plural(refused, "call") +
                           " of records not counted: the IOC's share of --limit.kernel-memory is "
                           "used up");
  if (sample.overhead && causes != nullptr) {
    const bool nothing = found->second.nothing_counted.update(
        Clock::now(), sample.records_watched, causes->hits(slot).entries, cpu_ns_of(sample.pid));
    if (sample.records_watched) sample.overhead->nothing_counted = nothing;
    if (nothing)
      sample.notes.push_back(
          "nothing is counted: it uses CPU time, and its record probes have seen nothing for five "
          "minutes");
  }
  if (const auto error = process_->error_of(slot))
    sample.notes.push_back("its records are not counted: " + error->message());
  if (sample.overhead && sample.overhead->attached) add_timing_note(*sample.overhead, sample.notes);
  if (!sample.has_extras())
    sample.notes.push_back(
        "its writes and scan lists are not counted: with them probes would cost more "
        "than --overhead.budget; tried again at times");
  if (auto added = extras_->add_to(sample, slot); !added) {
    reading.complete = false;
    log::warn("{}", added.error().message());
  }
  if (sample.direct_since_seconds)
    sample.notes.push_back("processings that do not come through dbProcess are counted since " +
                           local_time(*sample.direct_since_seconds));
  if (causes != nullptr) causes->add_to(slot, sample);
  return PendingRecords{index, iocs::subject_of(live.ioc), process_->counts_of(slot)};
}

// All but the counts by record, which take long to read.
std::vector<PendingRecords> RecordsCollector::begin(Reading& reading) {
  // Before the counts by record, which these are parts of.
  std::optional<RecordCauses> causes;
  if (process_) {
    if (auto followed = extras_->begin_page(); !followed) {
      reading.complete = false;
      log::warn("{}", followed.error().message());
    }
    if (auto read = RecordCauses::read(*process_)) {
      causes = std::move(*read);
    } else {
      reading.complete = false;
      log::warn("read the causes of processings: {}", read.error().message());
    }
  }
  for (IocFacts& facts : view_->facts()) {
    IocSample& sample = reading.iocs.emplace_back();
    static_cast<IocFacts&>(sample) = std::move(facts);
    sample.no_record_counts = true;
  }
  std::vector<PendingRecords> pending;
  std::size_t index = 0;  // those that run come first, in the same order
  for (const auto& [id, live] : view_->live()) {
    if (auto one = describe(live, causes ? &*causes : nullptr, index, reading))
      pending.push_back(std::move(*one));
    ++index;
  }
  return pending;
}

void RecordsCollector::describe_self(std::uint64_t records, Reading& reading) {
  if (!options_.enabled) return;
  SelfSamples& self = reading.self;
  ProbeSample& probe = self.probes.emplace_back();
  probe.probe = kProbe;
  probe.loaded = process_.has_value();
  if (!process_) {
    reading.complete = false;
    return;
  }
  if (const auto stats = process_->object().stats()) {
    probe.runs = stats->runs;
    probe.run_time_ns = stats->run_time_ns;
  }
  if (const auto use = process_->use()) {
    probe.attachments = use->attachments;
    self.maps.push_back({"record_threads", use->threads, use->threads_capacity});
    self.maps.push_back({"ioc_records", records, use->records_capacity});
    self.kernel_memory = {use->memory.bytes, use->memory.limit};
  }
  if (const auto drops = process_->drops())
    add_drops(self.drops, kProbe, *drops, iocx_record_drop_labels);
}

RecordsCollector::Reading RecordsCollector::read_all() {
  Reading reading;
  memory_.read(memory_jobs(host_));  // an IOC may make us wait
  std::vector<PendingRecords> pending;
  {
    const std::scoped_lock lock(mutex_);
    pending = begin(reading);
  }
  for (PendingRecords& one : pending) {
    IocSample& sample = reading.iocs[one.index];
    auto read = one.read(*sample.database);
    if (!read) {
      reading.complete = false;
      log::warn("read the record counts of {}: {}", one.subject, read.error().message());
      continue;
    }
    sample.records = std::move(*read);
    sample.no_record_counts = false;
  }
  std::uint64_t records = 0;
  for (const IocSample& ioc : reading.iocs) records += ioc.records.size();
  std::set<std::string> outdated;
  for (const PendingRecords& one : pending)
    if (one.any_unknown) outdated.insert(reading.iocs[one.index].name);
  host_.want_databases(std::move(outdated));
  {
    const std::scoped_lock lock(mutex_);
    describe_self(records, reading);
  }
  memory_.add_to(reading.iocs);
  return reading;
}

std::vector<IocSample> RecordsCollector::read() {
  return read_all().iocs;
}

void RecordsCollector::collect(exposition::Page& page) {
  Reading reading = read_all();
  page.complete = reading.complete;
  page.self.add(std::move(reading.self));
  ShownEdges edges;
  std::optional<std::vector<IocSample>> by_type;
  {
    const std::scoped_lock lock(bounds_mutex_);
    edges = edges_;
    if (types_) types_->apply(by_type.emplace(reading.iocs));
    bounds_.apply(reading.iocs);
    page.self.limited.push_back({"records", bounds_.limited()});
  }
  encode_all(reading.iocs, by_type ? &*by_type : nullptr, measured_cost_, edges, labels_,
             page.encoder);
}

void RecordsCollector::status(exposition::StatusPage& page) {
  Reading reading = read_all();
  Rates::Counts counts;
  std::uint64_t records = 0;
  for (const IocSample& ioc : reading.iocs) {
    if (ioc.up && ioc.database) records += ioc.database->records.size();
    if (ioc.up && ioc.records_watched) counts[ioc.name] = processed(ioc);
  }
  page.facts.push_back({std::to_string(records), "records"});
  const std::size_t counted = counts.size();
  const auto rates = rates_.of(std::move(counts));
  page.rates_due |= rates.size() < counted;
  double all = 0;
  page.ioc_columns.insert(page.ioc_columns.end(), {{"processed/s", true}, {"probes' cost", true}});
  for (const IocSample& ioc : reading.iocs) {
    exposition::StatusIoc* const row = page.find_ioc(ioc.name);
    if (row == nullptr) continue;
    row->notes.insert(row->notes.end(), ioc.notes.begin(), ioc.notes.end());
    if (!ioc.up) continue;
    row->problem = ioc.problem;
    if (const auto rate = rates.find(ioc.name); rate != rates.end()) {
      row->cells["processed/s"] = exposition::rate_text(rate->second);
      all += rate->second;
    }
    if (ioc.records_watched) row->state = "counting records";
    if (!ioc.records_watched && ioc.base && row->state.empty())
      row->state = !process_                                   ? "records not counted"
                   : ioc.overhead && ioc.overhead->over_budget ? "over its budget"
                                                               : "no database loaded yet";
    if (ioc.overhead) row->cells["probes' cost"] = percent_text(ioc.overhead->core_share);
  }
  if (!rates.empty()) page.facts.push_back({exposition::rate_text(all), "processed/s"});
  page.tables.push_back(busy_.table(reading.iocs, Clock::now()));
  page.tables.push_back(stuck_table(reading.iocs));
  page.tables.push_back(waiting_table(reading.iocs));
  page.tables.push_back(down_links_table(reading.iocs));
  page.self.add(reading.self);
}

}  // namespace ioc_exporter::records

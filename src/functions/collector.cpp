#include "functions/collector.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/process_stats.h"
#include "exposition/page.h"
#include "exposition/status_page.h"
#include "kernel/load_error.h"

namespace ioc_exporter::functions {
namespace {

using std::chrono::seconds;

// Libraries that an IOC loads come in its first minute, or seldom.
constexpr seconds kYoung{60}, kLookAtYoung{2}, kLookAtOld{30};
constexpr seconds kFirstPatience{10};

std::vector<Preset> presets_of(const Options& options) {
  auto chosen = chosen_presets(options.presets);  // their names were checked with the options
  return chosen ? std::move(*chosen) : std::vector<Preset>();
}

std::shared_ptr<const std::vector<Walk>> walks_of(const Options& options,
                                                  const std::vector<Preset>& presets) {
  auto walks = std::make_shared<std::vector<Walk>>(options.walks);
  for (const Preset& preset : presets)
    walks->insert(walks->end(), preset.walks.begin(), preset.walks.end());
  return walks;
}

}  // namespace

FunctionsCollector::FunctionsCollector(iocs::Host& host, const Options& options)
    : host_(host),
      presets_(presets_of(options)),
      walks_(walks_of(options, presets_)),
      walk_watch_(host.reader(), walks_),
      budget_(options.overhead_budget / 100),
      descriptions_(std::make_shared<const Descriptions>()) {
  if (options.described.empty() && walks_->empty() && presets_.empty()) return;
  const auto usable = in_initial_pid_namespace(host.fs(), "count functions");
  auto object = usable ? FunctionsObject::load() : usable.error();
  if (object)
    object_.emplace(std::move(*object));
  else
    why_not_ = kernel::explain_load_error(kProbe, object.error());
  describe(options.described, exposition::EdgeStep::by_4);
}

std::vector<ProbeState> FunctionsCollector::probes() const {
  return is_enabled() ? std::vector<ProbeState>{{kProbe, why_not_}} : std::vector<ProbeState>{};
}

void FunctionsCollector::describe(const Descriptions& descriptions, exposition::EdgeStep step) {
  const std::scoped_lock lock(mutex_);
  edges_ = exposition::HistogramEdges::of_scans(step);
  // The site's own come first: of two with one name the first stays.
  Descriptions all = descriptions;
  for (const Preset& preset : presets_)
    all.insert(all.end(), preset.functions.begin(), preset.functions.end());
  if (all == asked_for_) return;
  if (!object_) {
    if (why_not_.empty())
      log::warn(
          "count the functions that are described now: restart ioc_exporter, which loads the "
          "programs for it at its start only");
    return;
  }
  asked_for_ = all;
  for (const std::string& line : take_out_unusable(all)) log::warn("{}", line);
  descriptions_ = std::make_shared<const Descriptions>(std::move(all));
  known_names_.clear();
  start_watch();
}

void FunctionsCollector::start_watch() {
  watch_.reset();  // before the next one uses the same maps
  watch_ = std::make_unique<FunctionWatch>(*object_, descriptions_, budget_);
  watch_->set_detached(detached_);
  watch_->follow(iocs_);
  finder_ = std::make_shared<FunctionFinder>(host_.reader(), descriptions_, walks_);
  looks_.clear();
}

void FunctionsCollector::follow(TimePoint) {
  if (!object_) return;
  const std::scoped_lock lock(mutex_);
  iocs_.clear();
  names_ = host_.names();
  for (const auto& [id, live] : host_.live())
    iocs_.push_back({id, live.serial, host_.number_of(live.ioc.name), live.ioc.user, live.ioc.name,
                     host_.left_alone(live)});
  watch_->follow(iocs_);
  known_names_.follow(host_);
}

void FunctionsCollector::tick(TimePoint now) {
  if (!object_) return;
  if (is_first_) {
    {
      const std::scoped_lock lock(mutex_);
      look_at_due(now);
    }
    worker_.wait(kFirstPatience);  // --check and --once shall see all of it
    is_first_ = false;
  }
  const std::scoped_lock lock(mutex_);
  take_over();
  look_at_due(now);
  watch_->tick(now);
  if (now < next_keep_) return;
  next_keep_ = now + FunctionWatch::kSweep;
  watch_->keep(names_);
}

void FunctionsCollector::take_over() {
  if (!is_looking_ || !worker_.wait({})) return;
  is_looking_ = false;
  const bool is_stale = looks_with_ != finder_;  // it has the numbers of former descriptions
  for (Job& job : std::exchange(jobs_, {})) {
    if (!job.found || is_stale) continue;
    const std::string action = "look for functions in ioc " + job.ioc.name;
    trouble_.report(action, *job.found ? Result<void>() : job.found->error());
    if (!*job.found) continue;
    walk_watch_.take(job.ioc.id, job.ioc.serial, std::move((*job.found)->walks));
    watch_->take(job.ioc.id, job.ioc.serial, std::move(**job.found));
  }
}

void FunctionsCollector::look_at_due(TimePoint now) {
  std::erase_if(looks_, [this](const auto& one) {
    return std::ranges::find(iocs_, one.first, &WatchedIoc::id) == iocs_.end();
  });
  if (is_looking_ || detached_) return;
  auto pointers = watch_->pointers();
  for (const WatchedIoc& ioc : iocs_) {
    Look& look = looks_[ioc.id];
    if (look.serial != ioc.serial) look = {ioc.serial, now, now};
    std::vector<PointerSeen>& seen = pointers[ioc.id.pid];
    if (now < look.next && seen == look.pointers) continue;
    look.next = now + (now - look.first < kYoung ? kLookAtYoung : kLookAtOld);
    look.pointers = seen;
    jobs_.push_back({ioc, std::move(seen)});
  }
  if (jobs_.empty()) return;
  is_looking_ = true;
  looks_with_ = finder_;
  worker_.start([this, finder = finder_] {
    for (Job& job : jobs_) job.found.emplace(finder->look(job.ioc.id, job.pointers));
  });
}

void FunctionsCollector::detach() {
  const std::scoped_lock lock(mutex_);
  detached_ = true;
  if (watch_) watch_->set_detached(true);
}

void FunctionsCollector::attach() {
  const std::scoped_lock lock(mutex_);
  detached_ = false;
  if (watch_) watch_->set_detached(false);
}

void FunctionsCollector::describe_self(SelfSamples& self) const {
  ProbeSample& probe = self.probes.emplace_back();
  probe.probe = kProbe;
  probe.loaded = object_.has_value();
  if (!object_) return;
  if (const auto stats = object_->stats()) {
    probe.runs = stats->runs;
    probe.run_time_ns = stats->run_time_ns;
  }
  probe.attachments = watch_->attachments();
  self.maps.push_back({"function_series", watch_->series(), FunctionsObject::kSeries});
  const auto drops = kernel::sum_per_cpu_counters(object_->maps().drops, IOCX_FUNCTION_DROPS);
  if (!drops) return;
  self.add(drop_samples(kProbe, *drops, iocx_function_drop_labels, iocx_function_drop_lost));
  self.drops.push_back({kProbe, "function_label_unprintable", watch_->unprinted(), true});
  self.drops.push_back({kProbe, "function_label_unknown", known_names_.unknown(), true});
  self.drops.push_back({kProbe, "walk_unfit", walk_watch_.unfit(), true});
}

// Before the mutex: an IOC may make it wait.
void FunctionsCollector::look_at_memory() {
  std::vector<WalkWatch::Job> jobs;
  {
    const std::scoped_lock lock(mutex_);
    for (const WatchedIoc& ioc : iocs_)
      jobs.push_back({ioc.id, ioc.serial, ioc.name, ioc.left_alone});
  }
  walk_watch_.look(jobs);
}

void FunctionsCollector::collect(exposition::Page& page) {
  if (!is_enabled()) return;
  look_at_memory();
  const std::scoped_lock lock(mutex_);
  page.complete = object_.has_value();
  if (!object_) return describe_self(page.self);
  auto samples = watch_->samples(names_);
  known_names_.apply(samples, walk_watch_);
  encode_functions(samples, watch_->watched(names_), edges_, page.encoder);
  walk_watch_.encode(page.encoder);
  describe_self(page.self);
}

void FunctionsCollector::add_walks(exposition::StatusPage& page) const {
  exposition::StatusTable table;
  table.title = "Lists in memory";
  table.note =
      "What walks find in the IOCs that map their file, and the version that a preset's is made "
      "for.";
  table.columns = {
      {"IOC", false}, {"walk", false}, {"file", false}, {"state", false}, {"made for", false}};
  for (WalkWatch::State& state : walk_watch_.states()) {
    std::string made_for;
    for (const Preset& preset : presets_)
      if (std::ranges::find(preset.walks, state.walk, &Walk::name) != preset.walks.end())
        made_for = preset.made_for;
    table.rows.push_back({std::move(state.ioc), std::move(state.walk), std::move(state.file),
                          std::move(state.state), std::move(made_for)});
  }
  page.tables.push_back(std::move(table));
}

void FunctionsCollector::status(exposition::StatusPage& page) {
  if (!is_enabled()) return;
  const std::scoped_lock lock(mutex_);
  if (object_) {
    exposition::StatusTable table;
    table.title = "Functions";
    table.note = "Functions that are described, in the files where they were found.";
    table.columns = {
        {"function", false}, {"file", false}, {"symbol", false}, {"IOCs", true}, {"state", false}};
    for (FunctionState& state : watch_->states())
      table.rows.push_back({std::move(state.name), std::move(state.file), std::move(state.symbol),
                            std::to_string(state.iocs), std::move(state.state)});
    page.tables.push_back(std::move(table));
    static_cast<void>(watch_->samples(names_));  // counts the texts that do not print
    add_walks(page);
  }
  describe_self(page.self);
}

}  // namespace ioc_exporter::functions

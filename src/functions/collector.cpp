#include "functions/collector.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/process_stats.h"
#include "base/rooted_fs.h"
#include "exposition/page.h"
#include "exposition/status_page.h"
#include "kernel/load_error.h"

namespace ioc_exporter::functions {
namespace {

using std::chrono::seconds;

// Libraries that an IOC loads come in its first minute, or seldom.
constexpr seconds kYoung{60}, kSearchYoung{2}, kSearchOld{30};
// One library in the place of another one of the same size leaves no sign.
constexpr seconds kSearchAnyhow{120};
constexpr seconds kFirstPatience{2};  // the IOCs' records wait meanwhile

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

// Nothing is to be searched again.
bool is_whole(const Result<FunctionsFound>& found) {
  return found && !found->again && found->unread.empty() && found->files_over == 0;
}

bool needs_programs(const std::optional<Result<FunctionsFound>>& found) {
  return found && *found && std::ranges::any_of((*found)->files, [](const FileInIoc& file) {
           return !file.file->functions.empty() || !file.file->problems.empty();
         });
}

}  // namespace

FunctionsCollector::FunctionsCollector(iocs::Host& host, const Options& options,
                                       probes::Budget& budget)
    : host_(host),
      presets_(presets_of(options)),
      walks_(walks_of(options, presets_)),
      walk_watch_(host.reader(), walks_),
      budget_(budget),
      descriptions_(std::make_shared<const Descriptions>()),
      finder_(std::make_shared<FunctionFinder>(host_.reader(), descriptions_, walks_)) {
  describe(options.described, {});
  // While the right to attach is there.
  if (is_enabled_) static_cast<void>(kernel::measured_hit_cost());
}

std::vector<ProbeState> FunctionsCollector::probes() const {
  const std::scoped_lock lock(mutex_);
  if (!object_ && why_not_.empty()) return {};
  return {{kProbe, why_not_}};
}

void FunctionsCollector::describe(const Descriptions& descriptions,
                                  const exposition::BoundsOptions& shown) {
  const std::scoped_lock lock(mutex_);
  edges_ = exposition::HistogramEdges::of_scans(shown.edge_step);
  by_record_ = shown.set == exposition::SeriesSet::all;
  // The site's own come first: of two with one name the first stays.
  Descriptions all = descriptions;
  for (const Preset& preset : presets_)
    all.insert(all.end(), preset.functions.begin(), preset.functions.end());
  is_enabled_ = !all.empty() || !walks_->empty();
  const auto usable =
      is_enabled_ ? in_initial_pid_namespace(host_.fs(), "count functions") : Result<void>();
  is_usable_ = static_cast<bool>(usable);
  if (!usable) why_not_ = kernel::explain_load_error(usable.error());
  if (all == asked_for_) return;
  asked_for_ = all;
  for (const ListProblem& problem : take_out_unusable(all)) log::warn("{}", problem.line);
  descriptions_ = std::make_shared<const Descriptions>(std::move(all));
  known_names_.clear();
  view_.reset();
  finder_ = std::make_shared<FunctionFinder>(host_.reader(), descriptions_, walks_);
  searches_.clear();
  if (object_) start_watch();
}

void FunctionsCollector::start_watch() {
  if (watch_) {
    full_before_ += watch_->refused() + watch_->pointers_over();
    unreadable_before_ += watch_->series().unprinted();
  }
  watch_.reset();  // before the next one uses the same maps
  watch_ = std::make_unique<FunctionWatch>(*object_, descriptions_, budget_);
  watch_->follow(iocs_);
}

// Without the mutex: it takes a while.
void FunctionsCollector::load(TimePoint now) {
  if (!load_again_.is_due(now)) return;
  auto object = FunctionsObject::load(server_, helper_);
  const std::scoped_lock lock(mutex_);
  trouble_.report("load probe functions", object ? Result<void>() : object.error());
  why_not_ = object ? "" : kernel::explain_load_error(object.error());
  if (!object) return static_cast<void>(load_again_.failed(now, why_not_));
  object_.emplace(std::move(*object));
  start_watch();
}

void FunctionsCollector::follow(TimePoint) {
  if (!is_enabled_ || !is_usable_) return;
  const std::scoped_lock lock(mutex_);
  const bool hands_off = host_.hands_off();
  auto view = host_.view();
  if (view == view_ && hands_off == left_alone_) return;
  view_ = std::move(view);
  left_alone_ = hands_off;
  iocs_.clear();
  names_ = view_->names();
  for (const auto& [id, live] : view_->live())
    iocs_.push_back(
        {id, live.serial, live.number, live.ioc.name, probes::state_of(live, hands_off)});
  if (watch_) watch_->follow(iocs_);
  known_names_.follow(*view_);
}

void FunctionsCollector::tick(TimePoint now) {
  if (!is_enabled_ || !is_usable_) return;
  if (is_first_) {
    {
      const std::scoped_lock lock(mutex_);
      search_due(now);
    }
    worker_.wait(kFirstPatience);  // --check and --once shall see all of it
    is_first_ = false;
  }
  if (!object_ && is_searching_ && worker_.wait({}) &&
      std::ranges::any_of(jobs_, [](const Job& job) { return needs_programs(job.found); }))
    load(now);
  const std::scoped_lock lock(mutex_);
  take_over();
  search_due(now);
  if (!watch_) return;
  watch_->tick(now);
  if (now < next_keep_) return;
  next_keep_ = now + FunctionWatch::kSweep;
  watch_->keep(names_);
}

void FunctionsCollector::act_on_due(TimePoint now) {
  if (!budget_.is_due(now)) return;
  const std::scoped_lock lock(mutex_);
  if (watch_) watch_->tick(now);
}

void FunctionsCollector::take_over() {
  if (!is_searching_ || !worker_.wait({})) return;
  is_searching_ = false;
  const bool is_stale = searches_with_ != finder_;  // it has the numbers of former descriptions
  for (Job& job : std::exchange(jobs_, {})) {
    if (!job.found || is_stale) continue;
    const auto search = searches_.find(job.ioc.id);
    if (search != searches_.end() &&
        (!is_whole(*job.found) || (!watch_ && needs_programs(job.found))))
      search->second.sizes.reset();
    if (!*job.found) {
      lines_.warn("look for functions in ioc " + job.ioc.name + ": " +
                  job.found->error().message());
      continue;
    }
    walk_watch_.take(job.ioc.id, job.ioc.serial, std::move((*job.found)->walks));
    if (search != searches_.end() && (*job.found)->again) search->second.next = {};
    if (watch_) watch_->take(job.ioc.id, job.ioc.serial, std::move(**job.found));
  }
}

void FunctionsCollector::search_due(TimePoint now) {
  std::erase_if(searches_, [this](const auto& one) {
    return std::ranges::find(iocs_, one.first, &WatchedIoc::id) == iocs_.end();
  });
  if (is_searching_ || host_.hands_off()) return;
  std::map<pid_t, std::vector<PointerSeen>> pointers;
  if (watch_) pointers = watch_->pointers();
  const auto proc = Folder::open(host_.fs(), "/proc");
  for (const WatchedIoc& ioc : iocs_) {
    Search& search = searches_[ioc.id];
    if (search.serial != ioc.serial) search = {ioc.serial, now, now};
    std::vector<PointerSeen>& seen = pointers[ioc.id.pid];
    const bool is_same = seen == search.pointers;
    if (now < search.next && is_same) continue;
    search.next = now + (now - search.first < kYoung ? kSearchYoung : kSearchOld);
    auto sizes = proc ? iocs::read_memory_sizes(*proc, ioc.id.pid, ioc.id.pid) : std::nullopt;
    if (sizes && sizes->all == 0) sizes.reset();  // its main thread has ended
    const bool has_changed = !sizes || std::exchange(search.sizes, sizes) != sizes;
    if (!has_changed && is_same && now < search.next_anyhow) continue;
    search.next_anyhow = now + kSearchAnyhow;
    search.pointers = seen;
    jobs_.push_back({ioc, std::move(seen)});
  }
  if (jobs_.empty()) return;
  is_searching_ = true;
  searches_with_ = finder_;
  worker_.start([this, finder = finder_] {
    for (Job& job : jobs_) job.found.emplace(finder->find(job.ioc.id, job.pointers));
  });
}

// The host says by now that all IOCs are to be left alone.
void FunctionsCollector::detach() {
  const TimePoint now = Clock::now();
  follow(now);
  const std::scoped_lock lock(mutex_);
  if (watch_) watch_->tick(now);
}

void FunctionsCollector::attach() {
  follow(Clock::now());
}

void FunctionsCollector::describe_self(SelfSamples& self) const {
  const std::uint64_t unknown = known_names_.unknown() + walk_watch_.unfit();
  if (unknown > 0) self.drops[{kProbe, "unreadable"}] += unknown;
  if (!why_not_.empty()) self.probes.push_back({kProbe, false, 0, {}, {}});
  if (!object_) return;
  std::uint64_t& full = self.drops[{kProbe, "full"}];
  std::uint64_t& unreadable = self.drops[{kProbe, "unreadable"}];
  watch_->add_overhead(self);
  self.probes.push_back(probe_sample(kProbe, true, watch_->attachments(), object_->stats()));
  self.maps.push_back({"function_series", watch_->series().used(), FunctionsObject::kSeries});
  unreadable += unreadable_before_ + watch_->series().unprinted();
  full += full_before_ + watch_->refused() + watch_->pointers_over();
  if (auto drops = kernel::sum_per_cpu_counters(object_->maps().drops, IOCX_FUNCTION_DROPS))
    add_drops(self.drops, kProbe, *drops, iocx_function_drop_labels);
}

// Before the mutex: an IOC may make it wait.
void FunctionsCollector::read_memory() {
  std::vector<WalkWatch::Job> jobs;
  {
    const std::scoped_lock lock(mutex_);
    for (const WatchedIoc& ioc : iocs_)
      jobs.push_back({ioc.id, ioc.serial, ioc.name, !ioc.state.left_alone.empty()});
  }
  walk_watch_.read(jobs);
}

void FunctionsCollector::collect(exposition::Page& page) {
  if (!is_enabled()) return;
  read_memory();
  const std::scoped_lock lock(mutex_);
  page.complete = why_not_.empty();
  if (watch_) {
    auto samples = watch_->samples(names_);
    select_samples(samples);
    known_names_.apply(samples, walk_watch_);
    encode_functions(samples, watch_->watched(names_), edges_, by_record_, page.encoder);
  }
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
  exposition::StatusTable table;
  table.title = "Functions";
  table.note = "Functions that are described, in the files where they were found.";
  table.columns = {
      {"function", false}, {"file", false}, {"symbol", false}, {"IOCs", true}, {"state", false}};
  if (watch_) {
    for (FunctionState& state : watch_->states())
      table.rows.push_back({std::move(state.name), std::move(state.file), std::move(state.symbol),
                            std::to_string(state.iocs), std::move(state.state)});
    static_cast<void>(watch_->samples(names_));  // counts the texts that do not print
  }
  page.tables.push_back(std::move(table));
  add_walks(page);
  describe_self(page.self);
}

}  // namespace ioc_exporter::functions

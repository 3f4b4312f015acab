// FunctionsCollector: calls, times and results of functions that the site's file describes, or
// presets, and what presets find in the IOCs' memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/helper.h"
#include "base/log.h"
#include "base/retry.h"
#include "base/worker.h"
#include "exposition/collector.h"
#include "exposition/histogram_edges.h"
#include "exposition/limits.h"
#include "exposition/self_samples.h"
#include "functions/bounded_log.h"
#include "functions/finder.h"
#include "functions/known_names.h"
#include "functions/options.h"
#include "functions/preset.h"
#include "functions/walk_watch.h"
#include "functions/watch.h"
#include "iocs/find/process_signs.h"
#include "iocs/host.h"

namespace ioc_exporter::functions {

class FunctionsCollector final : public Collector {
 public:
  // Loads the programs once an IOC maps a file that they are for. `host` and `budget` must outlive
  // it.
  FunctionsCollector(iocs::Host& host, const Options& options, probes::Budget& budget);

  std::string_view name() const override { return "functions"; }
  bool is_enabled() const override { return is_enabled_; }
  std::vector<ProbeState> probes() const override;
  void follow(TimePoint now) override;
  void tick(TimePoint now) override;
  void act_on_due(TimePoint now) override;
  void collect(exposition::Page& page) override;
  void status(exposition::StatusPage& page) override;
  void detach() override;
  void attach() override;

  // From now on these are counted; where they are others, all begins anew. In any thread.
  void describe(const Descriptions& descriptions, const exposition::BoundsOptions& shown);
  // That loads and attaches the programs from now on (FunctionsServer).
  void use_helper(std::shared_ptr<Helper> helper) { helper_ = std::move(helper); }

 private:
  struct Search {
    std::uint64_t serial = 0;
    TimePoint first{}, next{}, next_anyhow{};
    std::optional<iocs::MemorySizes> sizes = {};  // just before the last one, if it saw all
    std::vector<PointerSeen> pointers = {};       // of that search
  };
  struct Job {
    WatchedIoc ioc;
    std::vector<PointerSeen> pointers;
    std::optional<Result<FunctionsFound>> found = {};
  };

  void load(TimePoint now);
  void start_watch();
  void read_memory();
  void add_walks(exposition::StatusPage& page) const;
  void take_over();
  void search_due(TimePoint now);
  void describe_self(SelfSamples& self) const;

  iocs::Host& host_;
  const std::vector<Preset> presets_;
  const std::shared_ptr<const std::vector<Walk>> walks_;
  WalkWatch walk_watch_;
  probes::Budget& budget_;
  std::shared_ptr<Helper> helper_;  // null: this process loads and attaches
  std::atomic<bool> is_enabled_ = false;
  std::atomic<bool> is_usable_ = true;
  mutable std::mutex mutex_;  // for what follows
  std::string why_not_;
  FunctionsServer server_;  // of this process
  std::optional<FunctionsObject> object_;
  Retry load_again_;
  Descriptions asked_for_;
  std::shared_ptr<const Descriptions> descriptions_;
  KnownNames known_names_;
  std::unique_ptr<FunctionWatch> watch_;
  std::uint64_t full_before_ = 0, unreadable_before_ = 0;  // of former ones
  std::shared_ptr<FunctionFinder> finder_;
  bool by_record_ = true;  // durations
  exposition::HistogramEdges edges_ = exposition::HistogramEdges::of_scans();
  std::shared_ptr<const iocs::HostView> view_;  // at the last follow(); null: to be done again
  bool left_alone_ = false;                     // then
  std::vector<WatchedIoc> iocs_;                // of the view
  IocNames names_;                              // likewise
  std::map<iocs::IocId, Search> searches_;
  TimePoint next_keep_{};
  bool is_first_ = true, is_searching_ = false;
  TroubleLog trouble_;
  BoundedLog lines_;
  std::shared_ptr<FunctionFinder> searches_with_;  // the worker; not finder_ after a reload
  std::vector<Job> jobs_;                          // the worker's, while it searches
  Worker worker_;                                  // last: it ends first
};

}  // namespace ioc_exporter::functions

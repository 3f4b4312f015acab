// Rooms: the host, and the collectors of all rooms, as the options ask for them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/options.h"
#include "base/result.h"
#include "delivery/process.h"
#include "exposition/collector.h"
#include "functions/collector.h"
#include "iocs/collector.h"
#include "iocs/host.h"
#include "iocs/memory/reader_pool.h"
#include "policy/collector.h"
#include "probes/budget.h"
#include "putlog/collector.h"
#include "puts/collector.h"
#include "records/collector.h"
#include "traces/collector.h"
#include "traces/demand.h"
#include "traces/outlets.h"
#include "traces/ring.h"

namespace ioc_exporter::app {

// Not with --check and --once: beside a running exporter they write to none of its files.
putlog::Options put_log_options(const Options& options);
traces::Options trace_options(const Options& options);

struct Rooms {
  Rooms(const Options& options, std::unique_ptr<putlog::Outlets> put_outlets,
        std::unique_ptr<traces::Outlets> outlets_of_traces,
        std::unique_ptr<delivery::Process> process);
  // Waits for no reading.
  ~Rooms();

  // Why probes could not be loaded. "" = all that are turned on work.
  std::string why_failed() const;

  std::shared_ptr<iocs::ReaderPool> readers;
  iocs::ExitWatch exit_watch;
  iocs::Host host;
  probes::Budget budget;
  traces::TraceMaps trace_maps;
  records::RecordsCollector records;
  putlog::PutLogRing put_ring;
  puts::PutsCollector puts;
  functions::FunctionsCollector functions;
  policy::PolicyCollector policy;
  std::unique_ptr<putlog::Outlets> outlets;        // null: the put log is off
  std::unique_ptr<traces::Outlets> trace_outlets;  // null: traces are off
  std::unique_ptr<delivery::Process> delivery;     // null: there are no sinks
  putlog::PutLogCollector put_log;
  // Null: traces are off. Shared with followers.
  std::shared_ptr<traces::TraceRing> trace_ring;
  traces::TracesCollector traces;
  iocs::IocsCollector iocs;
  std::vector<Collector*> collectors;  // in the order of the page
};

// Loads the probes, as takes rights that are given up later. One that fails leaves the others
// running, and shows on /metrics; it is an error when all fail, or any with --strict.
Result<std::unique_ptr<Rooms>> load_rooms(const Options& options);

}  // namespace ioc_exporter::app

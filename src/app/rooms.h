// Rooms: the host, and the collectors of all rooms, as the options ask for them.
#pragma once

#include <memory>
#include <vector>

#include "app/options.h"
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

  std::shared_ptr<iocs::ReaderPool> readers;
  iocs::Host host;
  probes::Budget budget;
  traces::TraceMaps trace_maps;
  records::RecordsCollector records;  // loaded first: it forks
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

}  // namespace ioc_exporter::app

#include "app/rooms.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "app/helpers.h"
#include "app/version.h"
#include "base/log.h"

namespace ioc_exporter::app {
namespace {

bool stays(const Options& options) {
  return !options.check && !options.once;
}

// Of the service manager's folders the first, unless the operator names another; "": nothing is
// kept for the next run.
std::string states_of(const Options& options) {
  if (!stays(options)) return "";
  if (options.iocs.state_folder) return *options.iocs.state_folder;
  const char* const given = std::getenv("STATE_DIRECTORY");
  const std::string folder = given == nullptr ? "" : given;
  return folder.starts_with('/') ? folder.substr(0, folder.find(':')) : "";
}

puts::PutsCollector::Setup puts_setup(const Options& options, const kernel::RingUse& ring,
                                      const kernel::TraceUse& traces, probes::Budget& budget) {
  return {{options.ca, options.iocs.filter,
           std::min<std::chrono::milliseconds>(options.iocs.keep_gone, iocs::GoneIocs::kKeepCounts),
           states_of(options), ring},
          traces,
          &budget};
}

iocs::Host::Options host_options(const Options& options,
                                 std::shared_ptr<iocs::ReaderPool> readers) {
  iocs::Host::Options host;
  host.reader = std::move(readers);
  host.finder.name_sources = options.iocs.name_sources;
  host.finder.filter = options.iocs.filter;
  host.finder.server_ports.insert(options.ca.server_ports.begin(), options.ca.server_ports.end());
  host.keep_gone = options.iocs.keep_gone;
  return host;
}

// Null: traces are off.
std::shared_ptr<traces::TraceRing> ring_of_traces(const Options& options) {
  if (!trace_options(options).enabled) return nullptr;
  return std::make_shared<traces::TraceRing>(
      delivery::RingBounds{options.trace_outlets.memory_traces,
                           static_cast<std::size_t>(options.trace_outlets.memory_bytes)});
}

}  // namespace

putlog::Options put_log_options(const Options& options) {
  putlog::Options put_log = options.putlog;
  put_log.enabled = put_log.enabled && stays(options);
  return put_log;
}

traces::Options trace_options(const Options& options) {
  traces::Options traces = options.traces;
  traces.enabled = traces.enabled && stays(options);
  return traces;
}

Rooms::Rooms(const Options& options, std::unique_ptr<putlog::Outlets> put_outlets,
             std::unique_ptr<traces::Outlets> outlets_of_traces,
             std::unique_ptr<delivery::Process> process)
    : readers(std::make_shared<iocs::ReaderPool>(RootedFs())),
      host(RootedFs(), host_options(options, readers)),
      budget(options.records.overhead_budget / 100),
      trace_maps(trace_options(options)),
      records(host, options.records, budget, trace_maps.use()),
      put_ring(put_log_options(options)),
      puts(host, puts_setup(options, put_ring.use(), trace_maps.use(), budget)),
      functions(host, options.functions, budget),
      policy(host, puts),
      outlets(std::move(put_outlets)),
      trace_outlets(std::move(outlets_of_traces)),
      delivery(std::move(process)),
      put_log(put_ring, puts, outlets.get()),
      trace_ring(trace_outlets ? ring_of_traces(options) : nullptr),
      traces(options.traces, trace_maps, records, puts, outlets ? outlets->ring() : nullptr,
             outlets ? outlets->privacy_of_users() : putlog::Privacy(),
             {trace_ring.get(), trace_outlets.get()}),
      iocs(host, exit_watch),
      collectors{&iocs, &records, &puts, &functions, &policy, &put_log, &traces} {}

std::string Rooms::why_failed() const {
  std::string all;
  for (const Collector* collector : collectors)
    for (const ProbeState& probe : collector->probes())
      if (!probe.problem.empty()) all += (all.empty() ? "" : "; ") + probe.problem;
  return all;
}

Result<std::unique_ptr<Rooms>> load_rooms(const Options& options) {
  std::unique_ptr<putlog::Outlets> outlets;
  if (put_log_options(options).enabled) {
    auto made = putlog::Outlets::make(options.putlog.outlets);
    if (!made) return std::move(made).error();
    outlets = std::move(*made);
  }
  std::unique_ptr<traces::Outlets> trace_outlets;
  if (trace_options(options).enabled) {
    auto made = traces::Outlets::make(options.trace_outlets, build_info().version);
    if (!made) return std::move(made).error();
    trace_outlets = std::move(*made);
  }
  auto delivery = start_delivery(outlets.get(), trace_outlets.get(), options);
  if (!delivery) return std::move(delivery).error();
  auto rooms = std::make_unique<Rooms>(options, std::move(outlets), std::move(trace_outlets),
                                       std::move(*delivery));
  bool any_works = false, any_failed = false;
  for (const Collector* collector : rooms->collectors)
    for (const ProbeState& probe : collector->probes()) {
      any_works |= probe.problem.empty() && collector != &rooms->iocs;  // it counts nothing
      any_failed |= !probe.problem.empty();
    }
  if (any_failed && (!any_works || options.strict)) return error_in_words(rooms->why_failed());
  for (const Collector* collector : rooms->collectors)
    for (const ProbeState& probe : collector->probes())
      if (!probe.problem.empty()) log::error("probe {} is missing: {}", probe.name, probe.problem);
  return rooms;
}

Rooms::~Rooms() {
  readers->stop();
  if (trace_ring) trace_ring->end();
}

}  // namespace ioc_exporter::app

// Outlets: all that traces go to for good, as the options say: files, servers.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "delivery/outlets.h"
#include "traces/outlet_options.h"
#include "traces/sink.h"

namespace ioc_exporter::traces {

class Outlets : public TraceReceiver, public delivery::Outlets<TraceKind> {
 public:
  // `version`: of this exporter, told to receivers. Reads logins. Opens no files.
  static Result<std::unique_ptr<Outlets>> make(const OutletOptions& options,
                                               const std::string& version);

  void receive(std::span<const SharedTrace> traces) override { give(traces); }
  std::vector<SinkSample> samples() const override { return sink_samples(); }

 private:
  Outlets() = default;

  Result<std::unique_ptr<Sink>> make_sink(const SinkOptions& options, const std::string& version);
};

}  // namespace ioc_exporter::traces

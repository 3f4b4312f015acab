#include "traces/outlet_families.h"

#include "delivery/sink_families.h"

namespace ioc_exporter::traces {
namespace {

using exposition::Family;
using exposition::FamilyType;

constexpr Family kDelivered{"ioc_exporter_traces_sink_delivered_total", FamilyType::counter,
                            "Traces that a sink took."};
constexpr Family kFiltered{"ioc_exporter_traces_sink_filtered_total", FamilyType::counter,
                           "Traces that the sink's filter left out."};
constexpr Family kDropped{"ioc_exporter_traces_sink_dropped_total", FamilyType::counter,
                          "Traces that a sink did not take, by reason."};
constexpr Family kWaiting{"ioc_exporter_traces_sink_waiting", FamilyType::gauge,
                          "Traces that wait for the sink."};
constexpr Family kFailures{"ioc_exporter_traces_sink_failures_total", FamilyType::counter,
                           "Times that a sink failed: it is asked again."};

}  // namespace

void encode_outlets(std::span<const SinkSample> sinks, exposition::Encoder& encoder) {
  if (sinks.empty()) return;
  delivery::encode_sinks({kDelivered, kFiltered, kDropped, kWaiting, kFailures}, sinks, encoder);
}

}  // namespace ioc_exporter::traces

#include "delivery/sink_families.h"

#include <array>

#include "exposition/family_table.h"

namespace ioc_exporter::delivery {
namespace {

using exposition::counter;
using exposition::Series;

template <auto kValue>
void add(const SinkSample& sink, Series& to) {
  to.add(sink.*kValue);
}

constexpr exposition::FamilyRow<SinkSample> kSinks[] = {
    {counter("ioc_exporter_sink_events_total",
             "Puts or traces that came to the sink: those that it took, that its filter left out, "
             "that were dropped and that wait."),
     add<&SinkSample::received>},
    {counter("ioc_exporter_sink_delivered_total", "Puts or traces that the sink took."),
     add<&SinkSample::delivered>},
    {counter("ioc_exporter_sink_filtered_total", "Puts or traces that the sink's filter left out."),
     add<&SinkSample::filtered>},
    {exposition::gauge("ioc_exporter_sink_waiting",
                       "Puts or traces that wait for the sink, those in a burst included."),
     add<&SinkSample::waiting>},
    {counter("ioc_exporter_sink_failures_total", "Times that the sink failed. It is tried again."),
     add<&SinkSample::failures>},
    {counter("ioc_exporter_sink_dropped_total", "Puts or traces that the sink lost, by reason."),
     [](const SinkSample& sink, Series& to) {
       for (const auto& [reason, count] : sink.dropped) to.add({{"reason", reason}}, count);
     }},
};

}  // namespace

void add_sinks(std::string_view events, std::span<const SinkSample> sinks,
               const exposition::Encoder& encoder, exposition::SharedFamilies& families) {
  Series to(encoder, families);
  exposition::add_families(
      kSinks, sinks,
      [events](const SinkSample& sink) {
        return std::array<exposition::Label, 2>{{{"sink", sink.sink}, {"events", events}}};
      },
      to);
}

}  // namespace ioc_exporter::delivery

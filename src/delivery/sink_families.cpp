#include "delivery/sink_families.h"

#include <utility>

namespace ioc_exporter::delivery {
namespace {

using exposition::CountedSeries;
using exposition::Family;
using exposition::FamilyType;

struct Count {
  Family family;
  std::uint64_t SinkSample::*value;
};

constexpr Count kCounts[] = {
    {{"ioc_exporter_sink_events_total", FamilyType::counter,
      "Puts or traces that came to the sink: those that it took, that its filter left out, that "
      "were dropped and that wait."},
     &SinkSample::received},
    {{"ioc_exporter_sink_delivered_total", FamilyType::counter,
      "Puts or traces that the sink took."},
     &SinkSample::delivered},
    {{"ioc_exporter_sink_filtered_total", FamilyType::counter,
      "Puts or traces that the sink's filter left out."},
     &SinkSample::filtered},
    {{"ioc_exporter_sink_waiting", FamilyType::gauge,
      "Puts or traces that wait for the sink, those in a burst included."},
     &SinkSample::waiting},
    {{"ioc_exporter_sink_failures_total", FamilyType::counter,
      "Times that the sink failed. It is tried again."},
     &SinkSample::failures},
};
constexpr Family kDropped{"ioc_exporter_sink_dropped_total", FamilyType::counter,
                          "Puts or traces that the sink did not take and never will, by reason."};

}  // namespace

void add_sinks(std::string_view events, std::span<const SinkSample> sinks,
               const exposition::Encoder& encoder, exposition::SharedFamilies& families) {
  for (const auto& [family, value] : kCounts) {
    exposition::SeriesList<CountedSeries> series;
    for (const SinkSample& sink : sinks)
      series.push_back(
          {encoder.labels({{"sink", sink.sink}, {"events", events}}), {.count = sink.*value}});
    families.add(family, std::move(series));
  }
  exposition::SeriesList<CountedSeries> dropped;
  for (const SinkSample& sink : sinks)
    for (const auto& [reason, count] : sink.dropped)
      dropped.push_back(
          {encoder.labels({{"sink", sink.sink}, {"events", events}, {"reason", reason}}),
           {.count = count}});
  families.add(kDropped, std::move(dropped));
}

}  // namespace ioc_exporter::delivery

#include "delivery/sink_families.h"

#include <utility>

#include "exposition/merged_series.h"

namespace ioc_exporter::delivery {

void encode_sinks(const SinkFamilies& families, std::span<const SinkSample> sinks,
                  exposition::Encoder& encoder) {
  const auto encode = [&](const exposition::Family& family, auto value) {
    exposition::SeriesList<std::uint64_t> series;
    for (const SinkSample& sink : sinks)
      series.emplace_back(encoder.labels({{"sink", sink.sink}}), value(sink));
    exposition::encode_counts(family, std::move(series), encoder);
  };
  encode(families.delivered, [](const SinkSample& sink) { return sink.delivered; });
  encode(families.filtered, [](const SinkSample& sink) { return sink.filtered; });
  exposition::SeriesList<std::uint64_t> dropped;
  for (const SinkSample& sink : sinks)
    for (const auto& [reason, count] : sink.dropped)
      dropped.emplace_back(encoder.labels({{"sink", sink.sink}, {"reason", reason}}), count);
  exposition::encode_counts(families.dropped, std::move(dropped), encoder);
  encode(families.waiting, [](const SinkSample& sink) { return sink.waiting; });
  encode(families.failures, [](const SinkSample& sink) { return sink.failures; });
}

}  // namespace ioc_exporter::delivery

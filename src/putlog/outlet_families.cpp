#include "putlog/outlet_families.h"

#include <string>
#include <utility>

#include "exposition/merged_series.h"

namespace ioc_exporter::putlog {
namespace {

using exposition::Family;
using exposition::FamilyType;

constexpr Family kEvents{"ioc_exporter_putlog_events_total", FamilyType::counter,
                         "Puts that a sink of the put log took."};
constexpr Family kFiltered{"ioc_exporter_putlog_filtered_total", FamilyType::counter,
                           "Puts that the sink's filter left out."};
constexpr Family kDropped{"ioc_exporter_putlog_dropped_total", FamilyType::counter,
                          "Puts that a sink did not take before its queue was full, by reason."};
constexpr Family kWaiting{"ioc_exporter_putlog_waiting", FamilyType::gauge,
                          "Puts that wait for the sink, those in a burst included."};
constexpr Family kFailures{"ioc_exporter_putlog_sink_failures_total", FamilyType::counter,
                           "Times that a sink failed: it is asked again."};
constexpr Family kFollowers{"ioc_exporter_putlog_followers", FamilyType::gauge,
                            "Who follows the put log now."};
constexpr Family kFollowersDropped{"ioc_exporter_putlog_followers_dropped_total",
                                   FamilyType::counter,
                                   "Who wanted to follow the put log, and was let go, by reason."};

}  // namespace

void encode_outlets(const std::vector<SinkSample>& sinks, const FollowerSample& followers,
                    exposition::Encoder& encoder) {
  const auto encode = [&](const Family& family, auto value) {
    exposition::SeriesList<std::uint64_t> series;
    for (const SinkSample& sink : sinks)
      series.emplace_back(encoder.labels({{"sink", sink.sink}}), value(sink));
    exposition::encode_counts(family, std::move(series), encoder);
  };
  encode(kEvents, [](const SinkSample& sink) { return sink.delivered; });
  encode(kFiltered, [](const SinkSample& sink) { return sink.filtered; });
  exposition::SeriesList<std::uint64_t> dropped;
  for (const SinkSample& sink : sinks)
    for (const auto& [reason, count] : sink.dropped)
      dropped.emplace_back(encoder.labels({{"sink", sink.sink}, {"reason", reason}}), count);
  exposition::encode_counts(kDropped, std::move(dropped), encoder);
  encode(kWaiting, [](const SinkSample& sink) { return sink.waiting; });
  encode(kFailures, [](const SinkSample& sink) { return sink.failures; });
  exposition::encode_counts(kFollowers, {{encoder.labels({}), followers.followers}}, encoder);
  exposition::encode_counts(kFollowersDropped,
                            {{encoder.labels({{"reason", "too_slow"}}), followers.too_slow},
                             {encoder.labels({{"reason", "no_place"}}), followers.refused}},
                            encoder);
}

}  // namespace ioc_exporter::putlog

#include "putlog/outlet_families.h"

#include "delivery/sink_families.h"
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
  delivery::encode_sinks({kEvents, kFiltered, kDropped, kWaiting, kFailures}, sinks, encoder);
  exposition::encode_counts(kFollowers, {{encoder.labels({}), followers.followers}}, encoder);
  exposition::encode_counts(kFollowersDropped,
                            {{encoder.labels({{"reason", "too_slow"}}), followers.too_slow},
                             {encoder.labels({{"reason", "no_place"}}), followers.refused}},
                            encoder);
}

}  // namespace ioc_exporter::putlog

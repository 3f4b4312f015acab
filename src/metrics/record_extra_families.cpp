#include "metrics/record_extra_families.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "metrics/merged_series.h"
#include "metrics/number_text.h"
#include "metrics/record_label.h"

namespace ioc_exporter::metrics {
namespace {

constexpr Family kScan{"epics_ioc_scan_list_duration_seconds", FamilyType::histogram,
                       "Time that a pass through the periodic scan list took. One that takes "
                       "longer than the period is an overrun."};
constexpr Family kPeriod{"epics_ioc_scan_period_seconds", FamilyType::gauge,
                         "Period of the scan list."};
constexpr Family kLastScan{"epics_ioc_scan_last_timestamp_seconds", FamilyType::gauge,
                           "When the last pass through the scan list ended, in seconds since 1970: "
                           "the heartbeat of its thread."};
constexpr Family kCompletion{
    "epics_record_completion_duration_seconds", FamilyType::histogram,
    "Asynchronous records: time from the start of dbProcess to completion."};

// Every second power of two from 2^-18 s (3.8 us) to 4 s.
HistogramEdges scan_edges() {
  auto edges = HistogramEdges::from({-72, -64, -56, -48, -40, -32, -24, -16, -8, 0, 8}, kPutScale);
  return edges ? *edges : HistogramEdges::of_puts();
}

template <class Each>
void for_each_list(const std::vector<const IocSample*>& iocs, const Encoder& encoder, Each&& each) {
  for (const IocSample* ioc : iocs)
    if (ioc->up)
      for (const ScanTimeSample& list : ioc->scan_times)
        each(encoder.labels({{"ioc", ioc->name}, {"period", list.period}}), list);
}

using Sums = std::pair<std::uint64_t, decltype(CompletionSample::buckets)>;

void add_sums(Sums& sums, const Sums& more) {
  sums.first += more.first;
  std::transform(sums.second.begin(), sums.second.end(), more.second.begin(), sums.second.begin(),
                 std::plus<>());
}

void encode(const Family& family, const HistogramEdges& edges, SeriesList<Sums> series,
            Encoder& encoder) {
  encoder.begin_histograms(family, edges);
  for_each_merged(std::move(series), add_sums,
                  [&encoder](const EncodedLabels& labels, const Sums& sums) {
                    encoder.histogram(labels, sums.second, seconds_from_ns(sums.first));
                  });
}

void encode_numbers(const Family& family, SeriesList<double> series, Encoder& encoder) {
  encoder.begin_family(family);
  for_each_merged(
      std::move(series), [](double& most, double other) { most = std::max(most, other); },
      [&encoder](const EncodedLabels& labels, double value) { encoder.number(labels, value); });
}

}  // namespace

void encode_scan_lists(const std::vector<const IocSample*>& iocs, Encoder& encoder) {
  SeriesList<Sums> durations;
  SeriesList<double> periods, last;
  for_each_list(iocs, encoder, [&](const EncodedLabels& labels, const ScanTimeSample& list) {
    durations.emplace_back(labels, Sums{list.sum_ns, list.buckets});
    periods.emplace_back(labels, list.period_seconds);
    last.emplace_back(labels, list.last_time_seconds);
  });
  encode(kScan, scan_edges(), std::move(durations), encoder);
  encode_numbers(kPeriod, std::move(periods), encoder);
  encode_numbers(kLastScan, std::move(last), encoder);
}

void encode_completions(const std::vector<const IocSample*>& iocs, const HistogramEdges& edges,
                        Encoder& encoder) {
  SeriesList<Sums> series;
  for (const IocSample* ioc : iocs) {
    if (!ioc->up || !ioc->database) continue;
    for (const CompletionSample& completion : ioc->completions) {
      series.emplace_back(
          encoder.labels({{"ioc", ioc->name}, record_label(*ioc, completion.record)}),
          Sums{completion.sum_ns, completion.buckets});
    }
  }
  encode(kCompletion, edges, std::move(series), encoder);
}

}  // namespace ioc_exporter::metrics

#include "records/families/extra_families.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "exposition/merged_series.h"
#include "exposition/number_text.h"
#include "records/families/label.h"

namespace ioc_exporter::records {
namespace {

constexpr exposition::Family kScan{
    "epics_ioc_scan_list_duration_seconds", exposition::FamilyType::histogram,
    "Time that a pass through the periodic scan list took. One that takes "
    "longer than the period is an overrun."};
constexpr exposition::Family kPeriod{"epics_ioc_scan_period_seconds", exposition::FamilyType::gauge,
                                     "Period of the scan list."};
constexpr exposition::Family kLastScan{
    "epics_ioc_scan_last_timestamp_seconds", exposition::FamilyType::gauge,
    "When the last pass through the scan list ended, in seconds since 1970: "
    "the heartbeat of its thread."};
constexpr exposition::Family kScanAge{
    "epics_ioc_scan_age_seconds", exposition::FamilyType::gauge,
    "Time since the last pass through the scan list ended, by the host's own clock."};
constexpr exposition::Family kCompletion{
    "epics_record_completion_duration_seconds", exposition::FamilyType::histogram,
    "Asynchronous records: time from the start of dbProcess to completion; sampled while "
    "epics_ioc_timed_ratio is below 1."};

template <class Each>
void for_each_list(const std::vector<const IocSample*>& iocs, const exposition::Encoder& encoder,
                   Each&& each) {
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

void encode(const exposition::Family& family, const exposition::HistogramEdges& edges,
            exposition::SeriesList<Sums> series, exposition::Encoder& encoder) {
  encoder.begin_histograms(family, edges);
  exposition::for_each_merged(
      std::move(series), add_sums,
      [&encoder](const exposition::EncodedLabels& labels, const Sums& sums) {
        encoder.histogram(labels, sums.second, exposition::seconds_from_ns(sums.first));
      });
}

void encode_numbers(const exposition::Family& family, exposition::SeriesList<double> series,
                    exposition::Encoder& encoder) {
  encoder.begin_family(family);
  exposition::for_each_merged(
      std::move(series), [](double& most, double other) { most = std::max(most, other); },
      [&encoder](const exposition::EncodedLabels& labels, double value) {
        encoder.number(labels, value);
      });
}

}  // namespace

void encode_scan_lists(const std::vector<const IocSample*>& iocs,
                       const exposition::HistogramEdges& edges, exposition::Encoder& encoder) {
  exposition::SeriesList<Sums> durations;
  exposition::SeriesList<double> periods, last, ages;
  for_each_list(iocs, encoder,
                [&](const exposition::EncodedLabels& labels, const ScanTimeSample& list) {
                  durations.emplace_back(labels, Sums{list.sum_ns, list.buckets});
                  periods.emplace_back(labels, list.period_seconds);
                  last.emplace_back(labels, list.last_time_seconds);
                  ages.emplace_back(labels, list.age_seconds);
                });
  encode(kScan, edges, std::move(durations), encoder);
  encode_numbers(kPeriod, std::move(periods), encoder);
  encode_numbers(kLastScan, std::move(last), encoder);
  encode_numbers(kScanAge, std::move(ages), encoder);
}

void encode_completions(const std::vector<const IocSample*>& iocs,
                        const exposition::HistogramEdges& edges, exposition::Encoder& encoder) {
  exposition::SeriesList<Sums> series;
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

}  // namespace ioc_exporter::records

#include "puts/totals/put_families.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include "exposition/label_text.h"
#include "exposition/merged_series.h"
#include "exposition/number_text.h"

namespace ioc_exporter::ca {
namespace {

constexpr exposition::Family kPuts{
    kPutsTotal, exposition::FamilyType::counter,
    "Puts that clients sent to the IOC. Empty labels: the exporter does not know the name (yet)."};
constexpr exposition::Family kFailures{"epics_put_failures_total", exposition::FamilyType::counter,
                                       "Puts that the IOC answered with an error, by reason."};
constexpr exposition::Family kPutDuration{
    kPutDurations, exposition::FamilyType::histogram,
    "Time from a put with callback to the IOC's answer, over all clients."};
constexpr exposition::Family kLastPut{"epics_last_put_timestamp_seconds",
                                      exposition::FamilyType::gauge,
                                      "When the client put to the PV last, in seconds since 1970."};
constexpr exposition::Family kPv{
    "epics_pv_info", exposition::FamilyType::gauge,
    "Record and field that a PV name leads to, of PVs that were written to. "
    "Always 1."};

std::string_view op_name(const PutSample& put) {
  if (put.by_pva) return kPvaPutOp;
  return put.op == PutOp::write ? "write" : "write_notify";
}

std::size_t characters(std::string_view utf8) {
  return static_cast<std::size_t>(
      std::count_if(utf8.begin(), utf8.end(), [](char c) { return (c & '\xC0') != '\x80'; }));
}

// Quotes, braces and escapes in an exemplar are too much for readers that take them in a label:
// Prometheus 2.42 leaves the escapes as they are, Python's prometheus_client 0.26 fails.
bool is_safe_in_exemplar(std::string_view value) {
  return value.find_first_of("\"\\\n{}") == std::string_view::npos &&
         exposition::utf8_safe(value) == value;
}

// The last put: when it was, and who sent it; with as many of the labels as OpenMetrics 1.0 allows,
// which is 128 characters, names included. The client's address is always among them, and there is
// room for what others note of it: its number in the put log.
std::vector<exposition::Label> exemplar_labels(const PutSample& put) {
  constexpr std::size_t kMost = 128 - std::string_view("seq18446744073709551615").size();
  std::vector<exposition::Label> labels;
  std::size_t total = 0;
  for (const exposition::Label& label :
       {exposition::Label{"client", put.client}, exposition::Label{"user", put.user},
        exposition::Label{"client_host", put.host}}) {
    if (!is_safe_in_exemplar(label.value)) continue;
    total += label.name.size() + characters(label.value);
    if (total > kMost) break;
    labels.push_back(label);
  }
  return labels;
}

void encode_durations(const std::vector<PutDurationSample>& durations,
                      const exposition::HistogramEdges& edges, exposition::Encoder& encoder) {
  using Sums = std::pair<std::uint64_t, decltype(PutDurationSample::buckets)>;
  exposition::SeriesList<Sums> series;
  series.reserve(durations.size());
  for (const PutDurationSample& duration : durations)
    series.emplace_back(
        encoder.labels({{"ioc", duration.ioc}, {"protocol", kCa}, {"pv", duration.pv}}),
        Sums{duration.sum_ns, duration.buckets});
  encoder.begin_histograms(kPutDuration, edges);
  exposition::for_each_merged(
      std::move(series),
      [](Sums& sums, const Sums& more) {
        sums.first += more.first;
        std::transform(sums.second.begin(), sums.second.end(), more.second.begin(),
                       sums.second.begin(), std::plus<>());
      },
      [&encoder](const exposition::EncodedLabels& labels, const Sums& sums) {
        encoder.histogram(labels, sums.second, exposition::seconds_from_ns(sums.first));
      });
}

void encode_pvs(const std::vector<PvSample>& pvs, exposition::Encoder& encoder) {
  exposition::SeriesList<std::uint64_t> series;
  series.reserve(pvs.size());
  for (const PvSample& pv : pvs)
    series.emplace_back(
        encoder.labels(
            {{"ioc", pv.ioc}, {"pv", pv.pv}, {"record", pv.record}, {"field", pv.field}}),
        1);
  encoder.begin_family(kPv);
  exposition::for_each_merged(
      std::move(series), [](std::uint64_t&, std::uint64_t) {},
      [&encoder](const exposition::EncodedLabels& labels, std::uint64_t one) {
        encoder.count(labels, one);
      });
}

}  // namespace

void add_puts(const std::vector<PutSample>& puts, const exposition::Encoder& encoder,
              exposition::SharedFamilies& shared) {
  exposition::SeriesList<exposition::CountedSeries> counts;
  exposition::SeriesList<double> times;
  counts.reserve(puts.size());
  times.reserve(puts.size());
  for (const PutSample& put : puts) {
    auto labels = put_labels(protocol_of(put.by_pva), put.ioc, put.pv, put.client, put.user,
                             put.host, op_name(put));
    exposition::CountedSeries series{put.count, put.created_seconds};
    if (encoder.has_counter_facts() && put.last_time_seconds > 0)
      series.exemplar = {encoder.labels(exemplar_labels(put)), 1, put.last_time_seconds};
    counts.emplace_back(encoder.labels(labels), std::move(series));
    labels.pop_back();  // "op"
    if (put.last_time_seconds > 0)
      times.emplace_back(encoder.labels(labels), put.last_time_seconds);
  }
  shared.add(kPuts, std::move(counts));
  shared.add(kLastPut, std::move(times));
}

void add_put_failures(const std::vector<PutFailureSample>& failures,
                      const exposition::Encoder& encoder, exposition::SharedFamilies& shared) {
  exposition::SeriesList<exposition::CountedSeries> series;
  series.reserve(failures.size());
  for (const PutFailureSample& failure : failures)
    series.emplace_back(encoder.labels({{"ioc", failure.ioc},
                                        {"protocol", protocol_of(failure.by_pva)},
                                        {"pv", failure.pv},
                                        {"client", failure.client},
                                        {"user", failure.user},
                                        {"client_host", failure.host},
                                        {"reason", failure.reason}}),
                        exposition::CountedSeries{failure.count, failure.created_seconds});
  shared.add(kFailures, std::move(series));
}

void encode_puts(const CaSamples& samples, const exposition::HistogramEdges& edges,
                 exposition::Encoder& encoder, exposition::SharedFamilies& shared) {
  add_puts(samples.puts, encoder, shared);
  add_put_failures(samples.put_failures, encoder, shared);
  encode_durations(samples.put_durations, edges, encoder);
  encode_pvs(samples.pvs, encoder);
}

}  // namespace ioc_exporter::ca

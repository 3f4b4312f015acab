#include "puts/totals/put_families.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "exposition/family_table.h"
#include "exposition/label_text.h"

namespace ioc_exporter::ca {
namespace {

using exposition::CountedSeries;
using exposition::counter;
using exposition::FamilyRow;
using exposition::gauge;
using exposition::histogram;
using exposition::Label;
using exposition::Series;
using exposition::when;

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

void add_put(const PutSample& put, Series& to) {
  CountedSeries series{put.count, put.created_seconds};
  if (to.encoder().has_counter_facts() && put.last_time_seconds > 0)
    series.exemplar = {to.encoder().labels(exemplar_labels(put)), 1, put.last_time_seconds};
  to.add({{"op", op_name(put)}}, std::move(series));
}

constexpr FamilyRow<PutSample> kPuts[] = {
    {counter(kPutsTotal,
             "Puts that clients sent to the IOC. Empty labels: the exporter does not "
             "know the name (yet)."),
     add_put},
    {gauge("epics_last_put_timestamp_seconds",
           "When the client put to the PV last, in seconds since 1970."),
     [](const PutSample& put, Series& to) {
       to.add(when(put.last_time_seconds > 0, put.last_time_seconds));
     }},
};

constexpr FamilyRow<PutFailureSample> kFailures[] = {
    {counter("epics_put_failures_total", "Puts that the IOC answered with an error, by reason."),
     [](const PutFailureSample& failure, Series& to) {
       to.add({{"reason", failure.reason}}, failure.count, failure.created_seconds);
     }},
};

constexpr FamilyRow<PutDurationSample> kDurations[] = {
    {histogram(kPutDurations,
               "Time from a put with callback to the IOC's answer, over all clients."),
     [](const PutDurationSample& duration, Series& to) {
       to.add_histogram({}, duration.buckets, duration.sum_ns);
     }},
};

constexpr FamilyRow<PvSample> kPvs[] = {
    {gauge("epics_pv_info",
           "Record and field that a PV name leads to, of PVs that were written to. Always 1."),
     [](const PvSample&, Series& to) { to.add(1.0); }},  // the largest of several, not their sum
};

// Of a put or a failure.
template <class Sample>
std::array<Label, 6> who_put_to_what(const Sample& sample) {
  return {{{"ioc", sample.ioc},
           {"protocol", protocol_of(sample.by_pva)},
           {"pv", sample.pv},
           {"client", sample.client},
           {"user", sample.user},
           {"client_host", sample.host}}};
}

}  // namespace

void add_puts(const std::vector<PutSample>& puts, const exposition::Encoder& encoder,
              exposition::SharedFamilies& shared) {
  Series to(encoder, shared);
  exposition::add_families(kPuts, puts, who_put_to_what<PutSample>, to);
}

void add_put_failures(const std::vector<PutFailureSample>& failures,
                      const exposition::Encoder& encoder, exposition::SharedFamilies& shared) {
  Series to(encoder, shared);
  exposition::add_families(kFailures, failures, who_put_to_what<PutFailureSample>, to);
}

void encode_puts(const CaSamples& samples, const exposition::HistogramEdges& edges,
                 exposition::Encoder& encoder, exposition::SharedFamilies& shared) {
  add_puts(samples.puts, encoder, shared);
  add_put_failures(samples.put_failures, encoder, shared);
  exposition::encode_merged(
      kDurations, samples.put_durations,
      [](const PutDurationSample& duration) {
        return std::array<Label, 3>{
            {{"ioc", duration.ioc}, {"protocol", kCa}, {"pv", duration.pv}}};
      },
      encoder, &edges);
  exposition::encode_merged(
      kPvs, samples.pvs,
      [](const PvSample& pv) {
        return std::array<Label, 4>{
            {{"ioc", pv.ioc}, {"pv", pv.pv}, {"record", pv.record}, {"field", pv.field}}};
      },
      encoder);
}

}  // namespace ioc_exporter::ca

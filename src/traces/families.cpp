#include "traces/families.h"

#include "exposition/merged_series.h"

namespace ioc_exporter::traces {
namespace {

using exposition::Family;
using exposition::FamilyType;

constexpr Family kTraces{"ioc_exporter_traces_total", FamilyType::counter,
                         "Traces that were made, by why their chain of records was chosen."};
constexpr Family kDropped{"ioc_exporter_traces_dropped_total", FamilyType::counter,
                          "Chains of records that were chosen and became no trace, by reason."};
constexpr Family kChosen{"ioc_exporter_traces_chosen_total", FamilyType::counter,
                         "Chains of records that were chosen to be traced, and have ended."};
constexpr Family kCut{"ioc_exporter_traces_cut_total", FamilyType::counter,
                      "Traces in which spans are missing, or have no end."};
constexpr Family kJoined{"ioc_exporter_traces_joined_total", FamilyType::counter,
                         "Chains of records that became a part of the trace of another one, which "
                         "an asynchronous record continued."};
constexpr Family kSpans{"ioc_exporter_traces_spans_total", FamilyType::counter,
                        "Spans of the traces that were made."};
constexpr Family kWaiting{"ioc_exporter_traces_waiting", FamilyType::gauge,
                          "Chains of records that were chosen, have ended and are not read yet, "
                          "and traces that wait for completions, or for a name."};

void encode_by(const Family& family, const char* label,
               const std::map<std::string, std::uint64_t>& counts, exposition::Encoder& encoder) {
  exposition::SeriesList<std::uint64_t> series;
  for (const auto& [value, count] : counts)
    series.emplace_back(encoder.labels({{label, value}}), count);
  exposition::encode_counts(family, std::move(series), encoder);
}

}  // namespace

void encode_traces(const TracesSample& sample, exposition::Encoder& encoder) {
  encode_by(kTraces, "why", sample.made, encoder);
  encode_by(kDropped, "reason", sample.dropped, encoder);
  exposition::encode_counts(kChosen, {{encoder.labels({}), sample.chosen}}, encoder);
  exposition::encode_counts(kCut, {{encoder.labels({}), sample.cut}}, encoder);
  exposition::encode_counts(kJoined, {{encoder.labels({}), sample.joined}}, encoder);
  exposition::encode_counts(kSpans, {{encoder.labels({}), sample.spans}}, encoder);
  exposition::encode_counts(kWaiting, {{encoder.labels({}), sample.waiting}}, encoder);
}

}  // namespace ioc_exporter::traces

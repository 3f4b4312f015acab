#include "traces/families.h"

#include <utility>

#include "exposition/merged_series.h"

namespace ioc_exporter::traces {
namespace {

using exposition::Family;
using exposition::FamilyType;

constexpr Family kTraces{"ioc_exporter_traces_total", FamilyType::counter,
                         "Traces that were made, by why their chain of records was chosen."};
constexpr Family kWaiting{"ioc_exporter_traces_waiting", FamilyType::gauge,
                          "Chains of records that were chosen, have ended and are not read yet, "
                          "and traces that wait for completions, or for a name."};

}  // namespace

void encode_traces(const TracesSample& sample, exposition::Encoder& encoder) {
  exposition::SeriesList<std::uint64_t> made;
  for (const auto& [why, count] : sample.made)
    made.emplace_back(encoder.labels({{"why", why}}), count);
  exposition::encode_counts(kTraces, std::move(made), encoder);
  exposition::encode_counts(kWaiting, {{encoder.labels({}), sample.waiting}}, encoder);
}

}  // namespace ioc_exporter::traces

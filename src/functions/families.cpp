#include "functions/families.h"

#include "exposition/family_table.h"

namespace ioc_exporter::functions {
namespace {

using exposition::EncodedLabels;
using exposition::Label;

constexpr exposition::Family kCalls =
    exposition::counter("epics_function_calls_total", "Calls of functions that are described.");
constexpr exposition::Family kFailures =
    exposition::counter("epics_function_failures_total",
                        "Calls of described functions with a result that is no success.");
constexpr exposition::Family kDurations = exposition::histogram(
    "epics_function_duration_seconds",
    "Time of described functions, or since the call of another one with the same key.");
constexpr exposition::Family kWatched = exposition::gauge(
    "epics_function_watched", "1: its calls are counted; 0: not now (the reason is on /).");

EncodedLabels labels_of(const exposition::Encoder& encoder, const FunctionSample& sample,
                        const std::string* result = nullptr) {
  std::vector<Label> labels{{"ioc", sample.ioc}, {"function", sample.function}};
  for (const auto& [name, value] : sample.labels) labels.push_back({name, value});
  if (result != nullptr) labels.push_back({"result", *result});
  return encoder.labels(labels);
}

}  // namespace

void encode_functions(const std::vector<FunctionSample>& functions,
                      const std::vector<WatchedSample>& watched,
                      const exposition::HistogramEdges& edges, exposition::Encoder& encoder) {
  exposition::SharedFamilies families;
  families.begin(kWatched);
  for (const WatchedSample& one : watched)
    families.add(encoder.labels({{"ioc", one.ioc}, {"function", one.function}}),
                 one.is_counted ? 1.0 : 0.0);
  families.begin(kCalls);
  for (const FunctionSample& one : functions)
    families.add(labels_of(encoder, one), exposition::CountedSeries{one.calls});
  families.begin(kFailures);
  for (const FunctionSample& one : functions)
    for (const auto& [result, count] : one.failures)
      families.add(labels_of(encoder, one, &result), exposition::CountedSeries{count});
  families.begin(kDurations, &edges);
  for (const FunctionSample& one : functions)
    if (one.durations) families.add(labels_of(encoder, one), *one.durations);
  families.encode(encoder);
}

}  // namespace ioc_exporter::functions

#include "functions/families.h"

#include <utility>

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

const OwnFamilies* own_families(const FunctionSample& sample) {
  return sample.description != nullptr && sample.description->metrics
             ? &*sample.description->metrics
             : nullptr;
}

EncodedLabels labels_of(const exposition::Encoder& encoder, const FunctionSample& sample,
                        const std::string* result = nullptr) {
  std::vector<Label> labels{{"ioc", sample.ioc}};
  if (own_families(sample) == nullptr) labels.push_back({"function", sample.function});
  for (const auto& [name, value] : sample.labels) labels.push_back({name, value});
  if (result != nullptr) labels.push_back({"result", *result});
  return encoder.labels(labels);
}

// Families of one series; none: it has no such family.
struct Families {
  std::optional<exposition::Family> calls, failures, results, durations;
};

Families families_of(const OwnFamilies* own) {
  if (own == nullptr) return {kCalls, kFailures, {}, kDurations};
  const auto made = [](const std::optional<OwnFamily>& family, exposition::FamilyType type) {
    return family ? std::optional(exposition::Family{family->name, type, family->help})
                  : std::nullopt;
  };
  using enum exposition::FamilyType;
  return {made(own->calls, counter), made(own->failures, counter), made(own->results, counter),
          made(own->durations, histogram)};
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
  // In the order of the table above, whichever sample comes first.
  families.begin(kCalls);
  families.begin(kFailures);
  families.begin(kDurations, &edges);
  for (const FunctionSample& one : functions) {
    const Families to = families_of(own_families(one));
    const auto add = [&](const std::optional<exposition::Family>& family, auto value,
                         const std::string* result = nullptr) {
      if (!family) return;
      families.begin(*family, family->type == exposition::FamilyType::histogram ? &edges : nullptr);
      families.add(labels_of(encoder, one, result), std::move(value));
    };
    add(to.calls, exposition::CountedSeries{one.calls});
    if (one.durations) add(to.durations, *one.durations);
    for (const auto& [result, count] : one.failures)
      add(to.failures, exposition::CountedSeries{count}, &result);
    for (const auto& [result, count] : one.results)
      add(to.results, exposition::CountedSeries{count}, &result);
  }
  families.encode(encoder);
}

}  // namespace ioc_exporter::functions

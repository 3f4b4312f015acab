#include "functions/families.h"

#include <algorithm>
#include <utility>

#include "exposition/family_table.h"

namespace ioc_exporter::functions {
namespace {

using exposition::EncodedLabels;
using exposition::Label;

constexpr exposition::Family kCalls = exposition::counter(
    "epics_function_calls_total", "Calls of functions that the site's file describes.");
constexpr exposition::Family kFailures =
    exposition::counter("epics_function_failures_total",
                        "Calls of described functions with a result that is no success.");
constexpr exposition::Family kDurations = exposition::histogram(
    "epics_function_duration_seconds",
    "Time that a call of a described function took, or since another function's call with the same "
    "key.");
constexpr exposition::Family kWatched =
    exposition::gauge("epics_function_watched",
                      "1: the function's calls are counted. 0: not now, the page at / says why.");

const OwnFamilies* own_families(const FunctionSample& sample) {
  return sample.description != nullptr && sample.description->metrics
             ? &*sample.description->metrics
             : nullptr;
}

EncodedLabels labels_of(const exposition::Encoder& encoder, const FunctionSample& sample,
                        bool by_record, const std::string* result) {
  std::vector<Label> labels{{"ioc", sample.ioc}};
  if (own_families(sample) == nullptr) labels.push_back({"function", sample.function});
  for (const auto& [name, value] : sample.labels)
    if (by_record || name != "record") labels.push_back({name, value});
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

void select_samples(std::vector<FunctionSample>& samples) {
  std::erase_if(samples, [](FunctionSample& sample) {
    if (sample.description == nullptr) return false;
    const auto& only = sample.description->only;
    if (std::ranges::any_of(sample.labels, [&only](const auto& label) {
          const auto wanted = only.find(label.first);
          return wanted != only.end() && wanted->second != label.second;
        }))
      return true;
    std::erase_if(sample.labels, [&only](const auto& label) { return only.contains(label.first); });
    return false;
  });
}

void encode_functions(const std::vector<FunctionSample>& functions,
                      const std::vector<WatchedSample>& watched,
                      const exposition::HistogramEdges& edges, bool by_record,
                      exposition::Encoder& encoder) {
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
      const bool is_histogram = family->type == exposition::FamilyType::histogram;
      families.begin(*family, is_histogram ? &edges : nullptr);
      families.add(labels_of(encoder, one, by_record || !is_histogram, result), std::move(value));
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

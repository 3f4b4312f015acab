// The families of described functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "exposition/encoder.h"
#include "exposition/histogram_edges.h"
#include "exposition/shared_families.h"
#include "functions/description.h"

namespace ioc_exporter::functions {

// Calls with the same labels. Samples with the same labels are added up.
struct FunctionSample {
  std::string ioc, function;
  std::vector<std::pair<std::string, std::string>> labels;  // besides these
  std::uint64_t calls = 0;
  std::map<std::string, std::uint64_t> failures = {};  // by result
  std::optional<exposition::SharedFamilies::Durations> durations = {};
  std::map<std::string, std::uint64_t> results = {};  // the failures, and the successes
  const Description* description = nullptr;  // null: nothing of its own; outlives the sample
};

// Takes out what descriptions do not want to be shown (`only`).
void select_samples(std::vector<FunctionSample>& samples);

struct WatchedSample {
  std::string ioc, function;
  bool is_counted = false;
};

// `by_record`: durations have the label `record` where descriptions say so; else they are summed.
void encode_functions(const std::vector<FunctionSample>& functions,
                      const std::vector<WatchedSample>& watched,
                      const exposition::HistogramEdges& edges, bool by_record,
                      exposition::Encoder& encoder);

}  // namespace ioc_exporter::functions

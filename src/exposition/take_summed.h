// What collectors share that keep their series within limits.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exposition/limited_series.h"

namespace ioc_exporter::exposition {

// Whether something of that name is there still: else its sums may go.
using KnownIocs = std::function<bool(const std::string& ioc)>;

// Takes the samples out that add(sample) says are in a sum.
template <class Sample, class Add>
void take_summed(std::vector<Sample>& samples, Add add) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (add(samples[i])) continue;
    if (kept != i) samples[kept] = std::move(samples[i]);
    ++kept;
  }
  samples.erase(samples.begin() + static_cast<std::ptrdiff_t>(kept), samples.end());
}

inline std::string other() {
  return std::string(exposition::kOther);
}

// Two texts as one, the first without a NUL: a PV of an IOC, a rule with its action.
inline void name_of(std::string& buffer, std::string_view first, std::string_view second) {
  buffer.assign(first).append(1, '\0').append(second);
}

}  // namespace ioc_exporter::exposition

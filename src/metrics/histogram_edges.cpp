#include "metrics/histogram_edges.h"

#include <cmath>
#include <string>

#include "probes/samples.h"

namespace ioc_exporter::metrics {

double edge_seconds(int k) {
  constexpr double kFractions[4] = {0.5, 0.5946035575013605, 0.7071067811865475,
                                    0.8408964152537144};
  const int power = k >= 0 ? k / 4 : -((3 - k) / 4);  // rounded down
  return std::ldexp(kFractions[k - 4 * power], power + 1);
}

HistogramEdges::HistogramEdges() {
  for (int k = -80; k <= 0; k += 8) ks_.push_back(k);
}

Result<HistogramEdges> HistogramEdges::from(std::vector<int> ks) {
  for (std::size_t i = 0; i < ks.size(); ++i) {
    const std::string edge = "histogram edge " + std::to_string(ks[i]);
    if (ks[i] < kHistogramFirstK || ks[i] > kHistogramLastK)
      return error_in_words(edge + ": not within " + std::to_string(kHistogramFirstK) + " to " +
                            std::to_string(kHistogramLastK));
    if (i > 0 && ks[i] == ks[i - 1]) return error_in_words(edge + ": given twice");
    if (i > 0 && ks[i] < ks[i - 1])
      return error_in_words(edge + ": stands after " + std::to_string(ks[i - 1]) +
                            ", edges must rise");
  }
  return HistogramEdges(std::move(ks));
}

}  // namespace ioc_exporter::metrics

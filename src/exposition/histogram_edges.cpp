#include "exposition/histogram_edges.h"

#include <cmath>
#include <string>

namespace ioc_exporter::exposition {
namespace {

std::vector<int> edges_between(int first_k, int last_k, EdgeStep step) {
  std::vector<int> ks;
  for (int k = first_k; k <= last_k; k += static_cast<int>(step)) ks.push_back(k);
  return ks;
}

}  // namespace

double edge_seconds(int k) {
  constexpr double kFractions[4] = {0.5, 0.5946035575013605, 0.7071067811865475,
                                    0.8408964152537144};
  const int power = k >= 0 ? k / 4 : -((3 - k) / 4);  // rounded down
  return std::ldexp(kFractions[k - 4 * power], power + 1);
}

HistogramEdges::HistogramEdges(EdgeStep step) : ks_(edges_between(-80, 0, step)) {}

HistogramEdges HistogramEdges::of_puts(EdgeStep step) {
  return {edges_between(-56, 24, step), kPutScale};
}

HistogramEdges HistogramEdges::of_scans(EdgeStep step) {
  return {edges_between(-72, 8, step), kPutScale};
}

Result<HistogramEdges> HistogramEdges::from(std::vector<int> ks, HistogramScale scale) {
  for (std::size_t i = 0; i < ks.size(); ++i) {
    const std::string edge = "histogram edge " + std::to_string(ks[i]);
    if (ks[i] < scale.first_k || ks[i] > scale.last_k)
      return error_in_words(edge + ": not within " + std::to_string(scale.first_k) + " to " +
                            std::to_string(scale.last_k));
    if (i > 0 && ks[i] == ks[i - 1]) return error_in_words(edge + ": given twice");
    if (i > 0 && ks[i] < ks[i - 1])
      return error_in_words(edge + ": stands after " + std::to_string(ks[i - 1]) +
                            ", edges must rise");
  }
  return HistogramEdges(std::move(ks), scale);
}

}  // namespace ioc_exporter::exposition

#include "metrics/put_families.h"

#include <algorithm>
#include <utility>

namespace ioc_exporter::metrics {
namespace {

constexpr Family kPuts{
    "epics_ca_puts_total", FamilyType::counter,
    "Channel Access writes that clients sent to the IOC. Empty labels: the exporter "
    "has not seen the name (yet)."};

std::string_view op_name(PutOp op) {
  return op == PutOp::write ? "write" : "write_notify";
}

}  // namespace

void encode_puts(const std::vector<PutSample>& puts, Encoder& encoder) {
  std::vector<std::pair<EncodedLabels, std::uint64_t>> series;
  series.reserve(puts.size());
  for (const PutSample& put : puts)
    series.emplace_back(encoder.labels({{"ioc", put.ioc},
                                        {"pv", put.pv},
                                        {"client", put.client},
                                        {"user", put.user},
                                        {"host", put.host},
                                        {"op", op_name(put.op)}}),
                        put.count);
  std::sort(series.begin(), series.end());
  encoder.begin_family(kPuts);
  for (std::size_t i = 0; i < series.size();) {
    std::uint64_t sum = 0;
    const std::size_t first = i;
    for (; i < series.size() && series[i].first == series[first].first; ++i)
      sum += series[i].second;
    encoder.count(series[first].first, sum);
  }
}

}  // namespace ioc_exporter::metrics

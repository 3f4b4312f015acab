// Families about Channel Access puts: what was written, by whom, with which outcome.
#pragma once

#include <string_view>
#include <vector>

#include "ca/samples.h"
#include "exposition/encoder.h"

namespace ioc_exporter::ca {

// All sorted by labels; samples with the same labels are one series: their sum, or the latest time.
// `edges`: of kPutScale.
void encode_puts(const CaSamples& samples, const exposition::HistogramEdges& edges,
                 exposition::Encoder& encoder);

// The labels of one series of puts, in their order.
inline constexpr std::string_view kPutsTotal = "epics_ca_puts_total";
inline constexpr std::string_view kPutDurations = "epics_ca_put_duration_seconds";
inline std::vector<exposition::Label> put_labels(std::string_view ioc, std::string_view pv,
                                                 std::string_view client, std::string_view user,
                                                 std::string_view host, std::string_view op) {
  return {{"ioc", ioc},          {"pv", pv}, {"client", client}, {"user", user},
          {"client_host", host}, {"op", op}};
}

// Puts with the last of each as an exemplar, and those that failed; of one protocol, as above.
// `op`: the label of all puts, "" = by PutSample::op.
void encode_put_counts(const exposition::Family& family, const std::vector<PutSample>& puts,
                       std::string_view op, exposition::Encoder& encoder);
void encode_put_failures(const exposition::Family& family,
                         const std::vector<PutFailureSample>& failures,
                         exposition::Encoder& encoder);

// When each client wrote to each PV last, where that is known; as above.
void encode_last_times(const exposition::Family& family, const std::vector<PutSample>& puts,
                       exposition::Encoder& encoder);

}  // namespace ioc_exporter::ca

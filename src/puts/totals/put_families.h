// Families about puts: their PVs, clients and outcomes. Those of Channel Access, and
// the part of PV Access in the same families.
#pragma once

#include <string_view>
#include <vector>

#include <prometheus/metric_family.h>

#include "exposition/encoder.h"
#include "exposition/shared_families.h"
#include "puts/server_key.h"
#include "puts/totals/samples.h"

namespace ioc_exporter::puts {

// Values of the label `protocol`.
inline constexpr std::string_view kCa = "ca";
inline constexpr std::string_view kPva = "pva";
constexpr std::string_view protocol_of(bool by_pva) {
  return by_pva ? kPva : kCa;
}
constexpr std::string_view name_of(Protocol protocol) {
  return protocol_of(protocol == Protocol::pva);
}

// Values of the label `op` of puts by PV Access: PUT and PUT_GET, RPC.
inline constexpr std::string_view kPvaPutOp = "put";
inline constexpr std::string_view kPvaCallOp = "rpc";
// Of either protocol.
constexpr std::string_view op_name(PutOp op, bool by_pva) {
  if (by_pva) return op == PutOp::write ? kPvaPutOp : kPvaCallOp;
  return op == PutOp::write ? "write" : "write_notify";
}

// Puts, with the time of the last of each, those that failed, gateways, durations, and who is
// connected. Samples with the same labels are one series: their sum, or the latest time. `encoder`
// makes the labels.
// `put_edges`: of kPutScale.
void add_puts(const PutsSamples& samples, const exposition::HistogramEdges& put_edges,
              const exposition::Encoder& encoder, exposition::SharedFamilies& shared);

// All families of Channel Access, those of puts first. Samples of the same IOC, client or server
// are summed; series stand sorted by labels. The names that are searched are on the landing page
// only: they are bounded by nothing that this host's operators could change.
void encode_puts(const PutsSamples& samples, const exposition::HistogramEdges& put_edges,
                 exposition::Encoder& encoder, exposition::SharedFamilies& shared);

std::vector<prometheus::MetricFamily> source_families(const std::vector<PutSourceSample>& sources,
                                                      const std::vector<PutSwitchSample>& switches);

}  // namespace ioc_exporter::puts

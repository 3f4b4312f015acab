// The metric families of PV Access puts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ca/samples.h"
#include "exposition/encoder.h"

namespace ioc_exporter::pva {

// All of it, at one moment.
struct PvaSamples {
  std::vector<PutSample> puts;
  std::vector<PutFailureSample> failures;
};

inline constexpr std::string_view kPutsTotal = "epics_pva_puts_total";
inline constexpr std::string_view kPutOp = "put";  // the label `op` of them all

void encode_pva(const PvaSamples& samples, exposition::Encoder& encoder);

}  // namespace ioc_exporter::pva

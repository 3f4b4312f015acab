// The metric families of PV Access puts.
#pragma once

#include <string>
#include <vector>

#include "exposition/encoder.h"
#include "exposition/shared_families.h"
#include "puts/totals/samples.h"

namespace ioc_exporter::pva {

// All of it, at one moment.
struct PvaSamples {
  std::vector<PutSample> puts;
  std::vector<PutFailureSample> failures;
};

void encode_pva(const PvaSamples& samples, exposition::Encoder& encoder,
                exposition::SharedFamilies& shared);

}  // namespace ioc_exporter::pva

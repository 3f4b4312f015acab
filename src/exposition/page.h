// Page: one scrape in the making. Collectors encode their families into it one after the other.
#pragma once

#include "exposition/encoder.h"
#include "exposition/self_samples.h"
#include "exposition/shared_families.h"

namespace ioc_exporter::exposition {

struct Page {
  Encoder& encoder;
  SharedFamilies shared = {};  // encoded after the last collector
  SelfSamples self = {};       // of the collectors: probes, maps, drops, limits
  bool complete = true;  // set to false by a collector that could not give all; set anew for each
};

}  // namespace ioc_exporter::exposition

// Page: one scrape in the making. Collectors encode their families into it one after the other.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "exposition/encoder.h"
#include "exposition/self_samples.h"

namespace ioc_exporter::exposition {

// Who was answered, as far as its requests tell.
struct Reader {
  std::string identity;
  bool is_scraper = false;  // it said how long it waits, as Prometheus does
};

struct Page {
  Encoder& encoder;
  SelfSamples self = {};  // what collectors say of themselves: probes, maps, drops, limits
  bool complete = true;   // set to false by a collector that could not give all; set anew for each
  // To be called for each reader that got this page.
  std::vector<std::function<void(const Reader&)>> when_served = {};
};

}  // namespace ioc_exporter::exposition

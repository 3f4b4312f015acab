// Ring: bounded buffer of recent puts, for queries and followers.
#pragma once

#include <chrono>
#include <cstddef>

#include "delivery/ring.h"
#include "putlog/entry.h"
#include "putlog/filter.h"

namespace ioc_exporter::putlog {

using delivery::Since;

struct RingOfPuts {
  using Item = SharedEvent;
  using Filter = EventFilter;
  // The second is of usual writes inside the IOCs, which may be far more than clients' puts.
  static constexpr std::size_t kShares = 2;
  static std::size_t share(const PutEvent& event) { return is_usual_inside(event) ? 1 : 0; }
  static bool takes(const EventFilter& filter, std::size_t share) {
    return share == 0 || filter.inside;
  }
  static std::size_t bytes(const PutEvent& event) { return delivery::footprint(event); }
  static auto time(const PutEvent& event) { return event.time; }
};

using Ring = delivery::Ring<RingOfPuts>;

}  // namespace ioc_exporter::putlog

extern template class ioc_exporter::delivery::Ring<ioc_exporter::putlog::RingOfPuts>;

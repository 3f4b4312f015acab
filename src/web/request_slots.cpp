#include "web/request_slots.h"

#include <algorithm>

namespace ioc_exporter::web {
namespace {

std::size_t half_of(std::size_t number) {
  return std::max<std::size_t>(1, number / 2);
}

}  // namespace

RequestSlots::RequestSlots(std::size_t scrapes)
    : scrapes_{.most = scrapes, .most_of_one = half_of(scrapes)},
      pages_{.most = half_of(scrapes), .most_of_one = half_of(half_of(scrapes))} {}

RequestSlots::Slot::Slot(RequestSlots& slots, Kind kind, const std::string& holder)
    : slots_(slots), kind_(kind), holder_(holder) {
  const std::scoped_lock lock(slots_.mutex_);
  Places& places = slots_.places(kind_);
  const auto own = places.holders.find(holder_);
  has_place_ = places.taken < places.most &&
               (own == places.holders.end() || own->second < places.most_of_one);
  if (!has_place_) return;
  ++places.taken;
  ++places.holders[holder_];
}

RequestSlots::Slot::~Slot() {
  if (!has_place_) return;
  const std::scoped_lock lock(slots_.mutex_);
  Places& places = slots_.places(kind_);
  --places.taken;
  const auto own = places.holders.find(holder_);
  if (--own->second == 0) places.holders.erase(own);
}

}  // namespace ioc_exporter::web

#include "web/request_slots.h"

#include <algorithm>

namespace ioc_exporter::web {

RequestSlots::Slot::Slot(RequestSlots& slots, const std::string& address)
    : slots_(slots), address_(address) {
  const std::scoped_lock lock(slots_.mutex_);
  const auto own = slots_.addresses_.find(address_);
  has_place_ =
      slots_.taken_ < slots_.most_ &&
      (own == slots_.addresses_.end() || own->second < std::max<std::size_t>(1, slots_.most_ / 2));
  if (!has_place_) return;
  ++slots_.taken_;
  ++slots_.addresses_[address_];
}

RequestSlots::Slot::~Slot() {
  if (!has_place_) return;
  const std::scoped_lock lock(slots_.mutex_);
  --slots_.taken_;
  const auto own = slots_.addresses_.find(address_);
  if (--own->second == 0) slots_.addresses_.erase(own);
}

}  // namespace ioc_exporter::web

#include "functions/places.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace ioc_exporter::functions {
namespace {

bool is_same(const iocx_function_place& a, iocx_function_place b) {
  b.hits = a.hits;
  return std::memcmp(&a, &b, sizeof a) == 0;
}

}  // namespace

bool InstalledPlaces::add(Places& to, Places made, std::uint32_t holder) const {
  const kernel::Caps& caps = object_.maps().caps;
  const auto wanted = std::ranges::count_if(made, [&](const auto& one) {
    const auto old = installed_.find(one.first);
    return old == installed_.end() || old->second.value.holder != holder;
  });
  auto taken = 0 * wanted;
  while (taken < wanted && caps.take(IOCX_FUNCTION_HELD_PLACES, holder)) ++taken;
  if (taken == wanted) {
    to.merge(made);
    return true;
  }
  for (; taken > 0; --taken) caps.give(IOCX_FUNCTION_HELD_PLACES, holder);
  return false;
}

void InstalledPlaces::install(Places next) {
  const FunctionMaps& maps = object_.maps();
  Result<void> all;
  for (const auto& [key, old] : installed_) {
    const auto still = next.find(key);
    const std::uint32_t holder = old.value.holder;
    if (still == next.end() || still->second.value.holder != holder)
      maps.caps.give(IOCX_FUNCTION_HELD_PLACES, holder);
    if (still != next.end()) continue;
    if (const auto erased = maps.places.erase(key); !erased) all = erased.error();
  }
  for (auto& [key, one] : next) {
    const auto old = installed_.find(key);
    if (old != installed_.end() && is_same(old->second.value, one.value)) {
      one.hits = old->second.hits;
      continue;
    }
    if (auto done = maps.places.update(key, one.value); !done) all = std::move(done);
  }
  trouble_.report("note where functions are", all);
  installed_ = std::move(next);
}

InstalledPlaces::Hits InstalledPlaces::take_hits() {
  Hits hits;
  if (installed_.empty()) return hits;
  const auto read = object_.maps().places.for_each(
      [&](const iocx_function_place_key& key, const iocx_function_place& place) {
        const auto known = installed_.find(key);
        if (known == installed_.end()) return;
        const std::uint64_t before = std::exchange(known->second.hits, place.hits);
        // Each of several descriptions at one place counts the same trap.
        if (key.which > IOCX_FUNCTION_WHICH(0, 1) || place.hits <= before) return;
        Count& count = hits[static_cast<std::int32_t>(key.tgid)][known->second.place];
        count.hits += place.hits - before;
        if (known->second.stepped) count.stepped += place.hits - before;
      });
  trouble_.report("read what functions cost", read);
  return hits;
}

}  // namespace ioc_exporter::functions

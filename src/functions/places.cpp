#include "functions/places.h"

#include <algorithm>
#include <cstring>

namespace ioc_exporter::functions {
namespace {

bool is_same(const iocx_function_place& a, iocx_function_place b) {
  b.hits = a.hits;
  return std::memcmp(&a, &b, sizeof a) == 0;
}

}  // namespace

Result<void> InstalledPlaces::erase(const iocx_function_place_key& key) {
  const auto known = installed_.find(key);
  if (known == installed_.end()) return {};
  object_.maps().caps.give(IOCX_FUNCTION_HELD_PLACES, known->second.value.holder);
  installed_.erase(known);
  const auto erased = object_.maps().places.erase(key);
  return erased ? Result<void>() : erased.error();
}

Result<void> InstalledPlaces::remove(std::int32_t process, const Place& place) {
  Result<void> all;
  for (const auto& key : std::exchange(keys_[{process, place}], {}))
    if (auto done = erase(key); !done) all = std::move(done);
  keys_.erase({process, place});
  return all;
}

Result<void> InstalledPlaces::keep(const std::set<std::pair<std::int32_t, Place>>& wanted) {
  std::vector<std::pair<std::int32_t, Place>> over;
  for (const auto& [at, keys] : keys_)
    if (!wanted.contains(at)) over.push_back(at);
  Result<void> all;
  for (const auto& [process, place] : over)
    if (auto done = remove(process, place); !done) all = std::move(done);
  return all;
}

Result<InstalledPlaces::Outcome> InstalledPlaces::set(std::int32_t process, const Place& place,
                                                      const Places& made, std::uint32_t holder) {
  auto& keys = keys_[{process, place}];
  const auto is_over = [&](const iocx_function_place_key& key) {
    return !made.contains(key) || installed_.at(key).value.holder != holder;
  };
  for (const auto& key : keys)
    if (is_over(key))
      if (auto done = erase(key); !done) return done.error();
  std::erase_if(keys, [this](const auto& key) { return !installed_.contains(key); });
  for (const auto& [key, one] : made) {
    const auto old = installed_.find(key);
    if (old != installed_.end() && is_same(old->second.value, one.value)) continue;
    const bool is_new = old == installed_.end();
    if (is_new && !object_.maps().caps.take(IOCX_FUNCTION_HELD_PLACES, holder)) {
      auto none = remove(process, place);
      return none ? Result<Outcome>(Outcome::no_room) : none.error();
    }
    if (auto done = object_.maps().places.update(key, one.value); !done) {
      if (is_new) object_.maps().caps.give(IOCX_FUNCTION_HELD_PLACES, holder);
      return done.error();
    }
    if (is_new) keys.push_back(key);
    installed_[key] = {one, place};
  }
  return Outcome::installed;
}

Result<void> InstalledPlaces::take_hits(Hits& hits) {
  if (installed_.empty()) return {};
  return object_.maps().places.for_each(
      [&](const iocx_function_place_key& key, const iocx_function_place& place) {
        const auto known = installed_.find(key);
        if (known == installed_.end()) return;
        const std::uint64_t before = std::exchange(known->second.hits, place.hits);
        if (place.hits <= before) return;
        const std::uint64_t more = place.hits - before;
        Count& count = hits[static_cast<std::int32_t>(key.tgid)][known->second.place];
        count.calls += more;
        if (key.which > IOCX_FUNCTION_WHICH(0, 1)) return;
        count.traps += more;
        if (known->second.stepped) count.stepped += more;
      });
}

}  // namespace ioc_exporter::functions

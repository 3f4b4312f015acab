#include "functions/sweep.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "base/rooted_fs.h"

namespace ioc_exporter::functions {
namespace {

std::uint32_t holder_of(std::uint32_t holder) {
  return holder;
}
template <class Value>
std::uint32_t holder_of(const Value& value) {
  return value.holder;
}

template <class Map, class IsOver>
Result<void> erase(const FunctionMaps& maps, const Map& map, std::uint32_t table,
                   const IsOver& is_over) {
  using Key = typename Map::Key;
  std::vector<std::pair<Key, std::uint32_t>> over;
  auto read = map.for_each([&](const Key& key, const auto& value) {
    if (is_over(key, value)) over.emplace_back(key, holder_of(value));
  });
  for (const auto& [key, holder] : over)
    if (const auto erased = map.erase(key); erased && *erased) maps.caps.give(table, holder);
  return read;
}

}  // namespace

Result<void> sweep(const FunctionMaps& maps, const std::set<std::uint32_t>& processes,
                   const std::set<std::uint32_t>& epochs) {
  const bool crowded = maps.caps.is_crowded(IOCX_FUNCTION_HELD_THREADS);
  const RootedFs fs;
  auto done = erase(maps, maps.threads, IOCX_FUNCTION_HELD_THREADS,
                    [&](const iocx_function_thread_key& key, const iocx_function_thread&) {
                      const auto tgid = static_cast<std::uint32_t>(key.id >> 32);
                      const auto tid = static_cast<std::uint32_t>(key.id);
                      return !processes.contains(tgid) ||
                             (crowded && !fs.list("/proc/" + std::to_string(tgid) + "/task/" +
                                                  std::to_string(tid)));
                    });
  const std::uint64_t now = static_cast<std::uint64_t>(
      std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
  constexpr std::uint64_t kOldest = 1'024'000'000'000;
  auto starts = erase(maps, maps.starts, IOCX_FUNCTION_HELD_STARTS,
                      [&](const iocx_function_start_key& key, const iocx_function_start& start) {
                        return !epochs.contains(key.epoch) || start.start_ns + kOldest < now;
                      });
  auto pointers = erase(maps, maps.pointers, IOCX_FUNCTION_HELD_POINTERS,
                        [&](const iocx_function_pointer_key& key, std::uint32_t) {
                          return !processes.contains(key.tgid);
                        });
  for (Result<void>* const part : {&starts, &pointers})
    if (!*part) done = std::move(*part);
  return done;
}

}  // namespace ioc_exporter::functions

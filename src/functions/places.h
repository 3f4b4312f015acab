// InstalledPlaces: the map of places: addresses in processes where the programs of bpf/functions
// count, and how often they were hit.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "base/result.h"
#include "functions/functions_object.h"
#include "probes/row.h"

namespace ioc_exporter::functions {

using probes::Place;

// Not thread-safe.
class InstalledPlaces {
 public:
  // `object` must outlive it.
  explicit InstalledPlaces(const FunctionsObject& object) : object_(object) {}

  struct Made {
    iocx_function_place value{};
    bool stepped = false;  // the kernel steps the instruction there
  };
  struct KeyLess {
    bool operator()(const iocx_function_place_key& a, const iocx_function_place_key& b) const {
      return std::tie(a.tgid, a.address, a.which) < std::tie(b.tgid, b.address, b.which);
    }
  };
  using Places = std::map<iocx_function_place_key, Made, KeyLess>;

  // Where a function is in a process, counted for the holder. Where there is no room for all of it,
  // it has none: an entry without its end would time nothing.
  enum class Outcome { installed, no_room };
  Result<Outcome> set(std::int32_t process, const Place& place, const Places& made,
                      std::uint32_t holder);
  Result<void> remove(std::int32_t process, const Place& place);
  // Removes the others.
  Result<void> keep(const std::set<std::pair<std::int32_t, Place>>& wanted);
  bool has(std::int32_t process, const Place& place) const {
    return keys_.contains({process, place});
  }

  struct Count {
    std::uint64_t traps = 0;
    std::uint64_t stepped = 0;  // of them
    std::uint64_t calls = 0;    // counted there: a trap may be one of several descriptions
  };
  // Since the call before, by process.
  using Hits = std::map<std::int32_t, std::map<Place, Count>>;
  // On an error some are missing, and come with the next ones.
  Result<void> take_hits(Hits& hits);

 private:
  struct Installed : Made {
    Place place;
    std::uint64_t hits = 0;
  };
  Result<void> erase(const iocx_function_place_key& key);

  const FunctionsObject& object_;
  std::map<iocx_function_place_key, Installed, KeyLess> installed_;
  std::map<std::pair<std::int32_t, Place>, std::vector<iocx_function_place_key>> keys_;
};

}  // namespace ioc_exporter::functions

// InstalledPlaces: the map of places: addresses in processes where the programs of bpf/functions
// count, and how often they were hit.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>

#include "base/log.h"
#include "functions/attachments.h"
#include "functions/functions_object.h"

namespace ioc_exporter::functions {

// Not thread-safe.
class InstalledPlaces {
 public:
  // `object` must outlive it.
  explicit InstalledPlaces(const FunctionsObject& object) : object_(object) {}

  struct Installed {
    iocx_function_place value{};
    Place place;
    bool stepped = false;  // the kernel steps the instruction there
    std::uint64_t hits = 0;
  };
  struct KeyLess {
    bool operator()(const iocx_function_place_key& a, const iocx_function_place_key& b) const {
      return std::tie(a.tgid, a.address, a.which) < std::tie(b.tgid, b.address, b.which);
    }
  };
  using Places = std::map<iocx_function_place_key, Installed, KeyLess>;

  // Adds the places of a function, counted for the holder. False: there is no room for
  // all of them, and none was added; an entry without its end would time nothing.
  bool add(Places& to, Places made, std::uint32_t holder) const;
  // All that are to be there now. Those of `next` come from add().
  void install(Places next);

  struct Count {
    std::uint64_t hits = 0;
    std::uint64_t stepped = 0;  // of them
  };
  // Since the call before, by process.
  using Hits = std::map<std::int32_t, std::map<Place, Count>>;
  Hits take_hits();

 private:
  const FunctionsObject& object_;
  Places installed_;
  TroubleLog trouble_;
};

}  // namespace ioc_exporter::functions

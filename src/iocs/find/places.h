// Which of the IOCs that run are followed, when there are more of them than places. Pure.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <vector>

namespace ioc_exporter::iocs {

// At most: the kernel's tables have so many slots.
inline constexpr std::size_t kMostIocs = 1024;

struct PlaceWanted {
  uid_t user = 0;
  bool has_one = false;  // already
};

// For each IOC, oldest first, whether it gets a place. Each user gets as many as he wants while
// there are enough, else a fair share. Among the IOCs of a user, those that have one keep it, then
// the oldest come.
std::vector<bool> share_places(const std::vector<PlaceWanted>& wanted, std::size_t places);

}  // namespace ioc_exporter::iocs

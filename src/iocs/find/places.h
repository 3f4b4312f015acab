// Which of the IOCs that run are followed, when there are more of them than places. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "iocs/find/process_user.h"
#include "iocs/ioc_id.h"

namespace ioc_exporter::iocs {

// At most: the kernel's tables have so many slots.
inline constexpr std::size_t kMostIocs = 1024;
// Of all places, what those have together who are none of the users that were named.
inline constexpr std::size_t kShareOfOthers = 16;

struct PlaceWanted {
  IocId id;
  uid_t user = 0;
  bool goes_first = false;
  bool has_one = false;  // already
};

// For each, whether it gets a place. First those whose users go first, who take it from others but
// not from each other. Then the others, who get all that is left, or `most_others` of it: each user
// as many as he wants while there are enough, else fair shares. Of one user's those get one that
// had one before, then the oldest.
std::vector<bool> share_places(const std::vector<PlaceWanted>& wanted, std::size_t places,
                               std::size_t most_others);

}  // namespace ioc_exporter::iocs

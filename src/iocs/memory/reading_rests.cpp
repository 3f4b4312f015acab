#include "iocs/memory/reading_rests.h"

#include <algorithm>

namespace ioc_exporter::iocs {
namespace {

// Above it, those whose rest is over are forgotten.
constexpr std::size_t kMostRemembered = 4096;

}  // namespace

bool ReadingRests::is_resting(pid_t pid, Clock::time_point now) const {
  const auto rest = resting_.find(pid);
  return rest != resting_.end() && now < rest->second.until;
}

void ReadingRests::note_hang(pid_t pid, Clock::time_point now) {
  if (resting_.size() >= kMostRemembered)
    std::erase_if(resting_, [now](const auto& rest) { return now >= rest.second.until; });
  Rest& rest = resting_[pid];
  if (now - rest.until > std::max(kForgiven, rest.next)) rest.next = kFirstRest;
  rest.until = now + rest.next;
  rest.next = std::min<std::chrono::seconds>(kLongestRest, 2 * rest.next);
}

std::size_t ReadingRests::resting(Clock::time_point now) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(resting_, [now](const auto& rest) { return now < rest.second.until; }));
}

}  // namespace ioc_exporter::iocs

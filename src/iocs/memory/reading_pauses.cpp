#include "iocs/memory/reading_pauses.h"

#include <algorithm>

namespace ioc_exporter::iocs {
namespace {

// Above it, those whose pause is over are forgotten.
constexpr std::size_t kMostRemembered = 4096;

}  // namespace

bool ReadingPauses::is_paused(pid_t pid, Clock::time_point now) const {
  const auto pause = paused_.find(pid);
  return pause != paused_.end() && now < pause->second.until;
}

void ReadingPauses::note_hang(pid_t pid, Clock::time_point now) {
  if (paused_.size() >= kMostRemembered)
    std::erase_if(paused_, [now](const auto& pause) { return now >= pause.second.until; });
  Pause& pause = paused_[pid];
  if (now - pause.until > std::max(kForgiven, pause.next)) pause.next = kFirstPause;
  pause.until = now + pause.next;
  pause.next = std::min<std::chrono::seconds>(kLongestPause, 2 * pause.next);
}

std::size_t ReadingPauses::paused(Clock::time_point now) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      paused_, [now](const auto& pause) { return now < pause.second.until; }));
}

}  // namespace ioc_exporter::iocs

// The part of RecordProcess that looks for processings which do not come through dbProcess.
#include <algorithm>

#include "base/log.h"
#include "records/probe/process.h"

namespace ioc_exporter::records {
namespace {

constexpr std::chrono::seconds kLook{1}, kBetweenLooks{59};
// Of an asynchronous record only a second end is certain: a longer look sees it, too.
constexpr std::chrono::seconds kLongLook{60}, kBetweenLongLooks{3600};
constexpr int kMostLooks = 32;  // that begin, and end, at the same time: to attach takes a while

}  // namespace

void RecordProcess::look_for_direct(Clock::time_point now) {
  std::map<std::size_t, std::vector<WatchedIoc*>> units;
  for (auto& [slot, watched] : watched_) {
    if (watched.attach == 0) continue;
    let_stay(slot);
    const std::size_t unit = unit_of(slot);
    units[unit != 0 ? unit : IOCX_MAX_IOCS + 1 + slot].push_back(&watched);
  }
  int begun = 0;
  for (const auto& [number, unit] : units) {
    const auto looks = [](const WatchedIoc* one) { return one->direct.looking; };
    const auto is_due = [now](const WatchedIoc* one) { return now >= one->direct.look_due; };
    if (!std::ranges::any_of(unit, is_due)) continue;
    const bool begins = std::ranges::none_of(unit, looks);
    if (!begins && std::ranges::any_of(unit, [now](const WatchedIoc* one) {
          return one->direct.unsure && now >= one->direct.long_look_due;
        })) {
      for (WatchedIoc* const one : unit) {
        one->direct.look_due = now + kLongLook;
        one->direct.long_look_due = now + kBetweenLongLooks;
      }
      continue;
    }
    if (begins && begun >= kMostLooks) continue;
    for (WatchedIoc* const one : unit)
      one->direct.looking = begins && !sees_ends(*one) && one->target.completion;
    const bool looking = std::ranges::any_of(unit, looks);
    begun += looking;
    is_changed_ |= looking || !begins;
    for (WatchedIoc* const one : unit)
      one->direct.look_due = now + (looking ? kLook : kBetweenLooks);
  }
  apply();
}

void RecordProcess::let_stay(std::uint32_t slot) {
  WatchedIoc& watched = watched_.at(slot);
  DirectCounting& direct = watched.direct;
  const std::uint32_t seen = asynchronous(slot).direct;
  direct.unsure = seen & IOCX_DIRECT_UNSURE;
  // Beside asynchronous records, one that is not certain may be the end of a call before.
  if (direct.found ||
      !(seen & IOCX_DIRECT_COUNTED || (direct.looking && seen & IOCX_DIRECT_PERHAPS)))
    return;
  direct.found = true;
  direct.looking = false;
  add(slot, *watched.target.completion);
  if (auto ok = write_config(slot); !ok) log::warn("{}", ok.error().message());
}

}  // namespace ioc_exporter::records

// The part of RecordProcess that samples processings which do not come through dbProcess.
#include <algorithm>

#include "base/log.h"
#include "records/probe/process.h"

namespace ioc_exporter::records {
namespace {

constexpr std::chrono::seconds kSample{1}, kBetweenSamples{59};
// Of an asynchronous record only a second end is certain: a longer sample sees it, too.
constexpr std::chrono::seconds kLongSample{60}, kBetweenLongSamples{3600};
constexpr int kMostSamples = 32;  // that begin, and end, at the same time: to attach takes a while

}  // namespace

void RecordProcess::sample_direct(Clock::time_point now) {
  std::map<std::size_t, std::vector<WatchedIoc*>> units;
  for (auto& [slot, watched] : watched_) {
    if (watched.attach == 0) continue;
    let_stay(slot);
    const std::size_t unit = unit_of(slot);
    units[unit != 0 ? unit : IOCX_MAX_IOCS + 1 + slot].push_back(&watched);
  }
  int begun = 0;
  for (const auto& [number, unit] : units) {
    const auto is_sampled = [](const WatchedIoc* one) { return one->direct.sampled; };
    const auto is_due = [now](const WatchedIoc* one) { return now >= one->direct.sample_due; };
    if (!std::ranges::any_of(unit, is_due)) continue;
    const bool begins = std::ranges::none_of(unit, is_sampled);
    if (!begins && std::ranges::any_of(unit, [now](const WatchedIoc* one) {
          return one->direct.unsure && now >= one->direct.long_sample_due;
        })) {
      for (WatchedIoc* const one : unit) {
        one->direct.sample_due = now + kLongSample;
        one->direct.long_sample_due = now + kBetweenLongSamples;
      }
      continue;
    }
    if (begins && begun >= kMostSamples) continue;
    for (WatchedIoc* const one : unit)
      one->direct.sampled = begins && !sees_ends(*one) && one->target.completion;
    const bool sampled = std::ranges::any_of(unit, is_sampled);
    begun += sampled;
    is_changed_ |= sampled || !begins;
    for (WatchedIoc* const one : unit)
      one->direct.sample_due = now + (sampled ? kSample : kBetweenSamples);
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
      !(seen & IOCX_DIRECT_COUNTED || (direct.sampled && seen & IOCX_DIRECT_PERHAPS)))
    return;
  direct.found = true;
  direct.sampled = false;
  add(slot, *watched.target.completion);
  if (auto ok = write_config(slot); !ok) log::warn("{}", ok.error().message());
}

}  // namespace ioc_exporter::records

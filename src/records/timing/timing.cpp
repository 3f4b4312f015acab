// The part of RecordProcess that says which calls are timed: windows of time in which the probes
// for ends and completions are there.
#include <time.h>

#include <algorithm>

#include "base/wall_clock.h"
#include "records/probe/process.h"

namespace ioc_exporter::records {
namespace {

constexpr std::chrono::nanoseconds kAlways = std::chrono::nanoseconds::max();

}  // namespace

void RecordProcess::want_ends(std::uint32_t slot) {
  WatchedIoc& watched = watched_.at(slot);
  if (!watched.target.ending) return;
  is_changed_ |= !watched.timing.ends || !watched.timing.completions;
  watched.timing.ends = watched.timing.completions = true;
}

Result<bool> RecordProcess::write_timing(std::uint32_t slot, std::uint32_t weight,
                                         std::chrono::nanoseconds length) {
  WatchedIoc& watched = watched_.at(slot);
  want_ends(slot);
  if (is_changed_) apply();
  if (!watched.target.ending || watched.attach == 0) return false;
  if (!engine_->has(watched.target.ioc, static_cast<std::uint32_t>(RecordProgram::process))) {
    const auto error = error_of(slot);
    return error ? Result<bool>(*error) : false;
  }
  watched.timing.weight = weight;
  watched.timing.until_ns =
      length == kAlways ? UINT64_MAX
                        : clock_ns(CLOCK_MONOTONIC) + static_cast<std::uint64_t>(length.count());
  if (auto ok = write_config(slot); !ok) return ok.error();
  return true;
}

Result<bool> RecordProcess::time_all(std::uint32_t slot) {
  return write_timing(slot, 1, kAlways);
}

Result<bool> RecordProcess::time_window(std::uint32_t slot, std::uint32_t weight,
                                        std::chrono::nanoseconds length) {
  return write_timing(slot, weight, length);
}

Result<RecordProcess::UnderWay> RecordProcess::end_timing(std::uint32_t slot, bool anyhow) {
  WatchedIoc& watched = watched_.at(slot);
  if (watched.timing.ends) {
    const auto calls = end_window(slot);
    if (!calls) return calls.error();
    if (*calls && !anyhow) return UnderWay::calls;
    watched.timing.ends = false;
    is_changed_ = true;
    if (*calls) ++watched.epoch;  // their frames are not to wait for an end
    if (auto ok = write_config(slot); !ok) return ok.error();
  }
  if (!watched.timing.completions) return UnderWay::nothing;
  const std::int64_t pending = asynchronous(slot).pending;
  watched.timing.given_up = anyhow ? pending : std::min(watched.timing.given_up, pending);
  if (pending > watched.timing.given_up && pending > 0) return UnderWay::completions;
  watched.timing.completions = false;
  is_changed_ = true;
  return UnderWay::nothing;
}

// Whether timed calls are under way.
Result<bool> RecordProcess::end_window(std::uint32_t slot) {
  WatchedIoc& watched = watched_.at(slot);
  const std::uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
  if (now_ns < watched.timing.until_ns) {
    watched.timing.until_ns = now_ns;
    if (auto ok = write_config(slot); !ok) return ok.error();
  }
  bool under_way = false;
  if (watched.attach == 0) return under_way;
  auto read =
      for_each_thread(object_, thread_places_, ThreadPart::frames, [&](const iocx_thread& thread) {
        if (thread.slot != slot || watched_by(thread) != &watched || thread.epoch != watched.epoch)
          return;
        for (std::uint32_t i = 0; i < std::min<std::uint32_t>(thread.depth, IOCX_MAX_DEPTH); ++i)
          under_way |= thread.frames[i].state <= IOCX_FRAME_UNDECIDED;
      });
  if (!read) return read.error();
  return under_way;
}

}  // namespace ioc_exporter::records

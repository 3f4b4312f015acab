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

Result<bool> RecordProcess::end_window(std::uint32_t slot, bool anyhow) {
  WatchedIoc& watched = watched_.at(slot);
  if (!watched.timing.ends) return true;
  const std::uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
  if (now_ns < watched.timing.until_ns) {
    watched.timing.until_ns = now_ns;
    if (auto ok = write_config(slot); !ok) return ok.error();
  }
  bool under_way = false;  // timed calls
  const auto look = [&](const iocx_thread& thread) {
    if (thread.slot != slot || watched_by(thread) != &watched || thread.epoch != watched.epoch)
      return;
    for (std::uint32_t i = 0; i < std::min<std::uint32_t>(thread.depth, IOCX_MAX_DEPTH); ++i)
      under_way |= thread.frames[i].state <= IOCX_FRAME_UNDECIDED;
  };
  if (watched.attach != 0)
    if (auto read = for_each_thread(object_, thread_places_, ThreadPart::frames, look); !read)
      return read.error();
  if (under_way && !anyhow) return false;
  watched.timing.ends = false;
  is_changed_ = true;
  if (under_way) ++watched.epoch;  // their frames are not to wait for an end
  if (auto ok = write_config(slot); !ok) return ok.error();
  return true;
}

Result<bool> RecordProcess::end_completions(std::uint32_t slot, bool anyhow) {
  WatchedIoc& watched = watched_.at(slot);
  if (watched.timing.ends) return false;
  if (!watched.timing.completions) return true;
  const std::int64_t pending = asynchronous(slot).pending;
  watched.timing.given_up = anyhow ? pending : std::min(watched.timing.given_up, pending);
  if (pending > watched.timing.given_up && pending > 0) return false;
  watched.timing.completions = false;
  is_changed_ = true;
  return true;
}

}  // namespace ioc_exporter::records

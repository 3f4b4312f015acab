// The part of RecordProcess that says which calls are timed: windows of time in which the probes
// for ends and completions are there.
#include <time.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/wall_clock.h"
#include "kernel/uprobe.h"
#include "records/probe/process.h"

namespace ioc_exporter::records {
namespace {

std::uint64_t monotonic_ns() {
  return clock_ns(CLOCK_MONOTONIC);
}

}  // namespace

Attached* RecordProcess::attached_of(std::uint32_t slot) {
  Library& library = library_of(slot);
  if (library.mode == Attachment::all_processes) return &library.for_all;
  const auto own = library.by_slot.find(slot);
  return own == library.by_slot.end() ? nullptr : &own->second;
}

Result<bool> RecordProcess::write_timing(std::uint32_t slot, const CallTiming& timing) {
  WatchedIoc& watched = watched_.at(slot);
  if (!watched.target.ending) return false;
  const bool attach = !watched.timing.ends || !watched.timing.completions;
  const bool window = timing.until_ns != UINT64_MAX;
  if (watched.paused && window) return false;
  const std::int64_t given_up = watched.timing.given_up;
  watched.timing = timing;
  watched.timing.given_up = given_up;
  if (watched.paused) return false;
  Library& library = library_of(slot);
  if (attach)
    if (auto ok = attach_ioc(slot, library); !ok) {
      watched.timing.ends = false;
      return ok.error();
    }
  if (window) watched.timing.until_ns += monotonic_ns();
  if (auto ok = write_config(slot, attach_bit(library.mode)); !ok) return ok.error();
  return true;
}

Result<bool> RecordProcess::time_all(std::uint32_t slot) {
  return write_timing(slot, CallTiming());
}

Result<bool> RecordProcess::time_window(std::uint32_t slot, std::uint32_t weight,
                                        std::chrono::nanoseconds length) {
  CallTiming timing;
  timing.weight = weight;
  timing.until_ns = static_cast<std::uint64_t>(length.count());
  return write_timing(slot, timing);
}

Result<bool> RecordProcess::end_window(std::uint32_t slot, bool anyhow) {
  WatchedIoc& watched = watched_.at(slot);
  if (!watched.timing.ends) return true;
  Library& library = library_of(slot);
  const std::uint64_t now_ns = monotonic_ns();
  if (now_ns < watched.timing.until_ns && !watched.paused) {
    watched.timing.until_ns = now_ns;
    if (auto ok = write_config(slot, attach_bit(library.mode)); !ok) return ok.error();
  }
  bool under_way = false;  // timed calls
  const auto look = [&](const iocx_thread& thread) {
    if (thread.slot != slot || watched_by(thread) != &watched || thread.epoch != watched.epoch)
      return;
    for (std::uint32_t i = 0; i < std::min<std::uint32_t>(thread.depth, IOCX_MAX_DEPTH); ++i)
      under_way |= thread.frames[i].state <= IOCX_FRAME_UNDECIDED;
  };
  if (!watched.paused)
    if (auto read = for_each_thread(object_, thread_places_, ThreadPart::frames, look); !read)
      return read.error();
  if (under_way && !anyhow) return false;
  watched.timing.ends = false;
  if (under_way) ++watched.epoch;  // their frames are not to wait for an end
  if (!watched.paused)
    if (auto ok = write_config(slot, attach_bit(library.mode)); !ok) return ok.error();
  const auto needs_ends = [this](std::uint32_t other) { return watched_.at(other).timing.ends; };
  if (library.mode == Attachment::all_processes && std::ranges::any_of(active(library), needs_ends))
    return true;
  if (Attached* const attached = attached_of(slot))
    if (const auto process = attached->find(RecordProgram::process); process != attached->end())
      std::ranges::move(std::exchange(process->second.at_ends, {}), std::back_inserter(ended_));
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
  if (!watched.paused)
    if (auto ok = write_config(slot, attach_bit(library_of(slot).mode)); !ok) return ok.error();
  end_completion(slot);
  return true;
}

// Unless it, or with an attachment for all another IOC, needs it.
void RecordProcess::end_completion(std::uint32_t slot) {
  Library& library = library_of(slot);
  const auto needs_it = [this](std::uint32_t one) { return sees_ends(watched_.at(one)); };
  const bool all = library.mode == Attachment::all_processes;
  if (needs_it(slot) || (all && std::ranges::any_of(active(library), needs_it))) return;
  if (Attached* const attached = attached_of(slot))
    if (auto completion = attached->extract(RecordProgram::completion))
      ended_.push_back(std::move(completion.mapped().at_entry));
}

void RecordProcess::take_off_ended() {
  kernel::take_off_together(std::exchange(ended_, {}));
}

}  // namespace ioc_exporter::records

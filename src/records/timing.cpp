// The part of RecordProcess that says which calls are timed: windows of time in which the probes
// for ends and completions are there.
#include <time.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/wall_clock.h"
#include "kernel/take_off.h"
#include "records/process.h"

namespace ioc_exporter::records {
namespace {

constexpr int kPatienceMs = 100;

std::uint64_t monotonic_ns() {
  return clock_ns(CLOCK_MONOTONIC);
}

}  // namespace

Result<RecordProcess::TimedCalls> RecordProcess::timed_calls(
    const std::vector<std::uint32_t>& slots) const {
  TimedCalls calls;
  auto read =
      for_each_thread(object_, thread_places_, ThreadPart::frames, [&](const iocx_thread& thread) {
        const Watched* const watched = watched_by(thread);
        if (watched == nullptr || thread.epoch != watched->epoch) return;
        if (std::ranges::find(slots, thread.slot) == slots.end()) return;
        for (std::uint32_t i = 0; i < std::min<std::uint32_t>(thread.depth, IOCX_MAX_DEPTH); ++i)
          if (thread.frames[i].state <= IOCX_FRAME_UNDECIDED)
            calls.emplace(thread.owner, thread.frames[i].sp, thread.frames[i].start_ns);
      });
  if (!read) return read.error();
  return calls;
}

// Waits for the calls that are timed now: a session probe sees only the returns that it asked for,
// so the new attachment would miss theirs. One that takes longer is counted without a duration.
Result<void> RecordProcess::let_calls_return(const Library& library) const {
  const std::vector<std::uint32_t> slots = active(library);
  auto before = timed_calls(slots);
  for (int wait = 0; before && wait < kPatienceMs && !before->empty(); ++wait) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    auto now = timed_calls(slots);
    if (!now) return std::move(now).error();
    std::erase_if(*before, [&now](const auto& call) { return !now->contains(call); });
  }
  return before ? Result<void>() : before.error();
}

// Where the IOC's probes are.
RecordProcess::Attached* RecordProcess::attached_of(std::uint32_t slot) {
  Library& library = libraries_.at(watched_.at(slot).library);
  if (library.mode == Attachment::all_processes) return &library.for_all;
  const auto own = library.by_slot.find(slot);
  return own == library.by_slot.end() ? nullptr : &own->second;
}

Result<bool> RecordProcess::write_timing(std::uint32_t slot, const Timing& timing) {
  const auto found = watched_.find(slot);
  if (found == watched_.end()) return error_in_words("no IOC in slot " + std::to_string(slot));
  Watched& watched = found->second;
  if (durations() != Durations::by_ends || !watched.target.ending) return false;
  const bool attach = !watched.timing.ends || !watched.timing.completions;
  const bool window = timing.until_ns != UINT64_MAX;
  if (watched.paused && window) return false;
  const std::int64_t given_up = watched.timing.given_up;
  watched.timing = timing;
  watched.timing.given_up = given_up;
  if (watched.paused) return false;
  Library& library = libraries_.at(watched.library);
  if (attach)
    if (auto ok = attach_target(slot, library); !ok) {
      watched.timing.ends = false;
      return ok.error();
    }
  if (window) watched.timing.until_ns += monotonic_ns();
  if (auto ok = write_config(slot, watched, attach_bit(library.mode)); !ok) return ok.error();
  return true;
}

Result<bool> RecordProcess::time_all(std::uint32_t slot) {
  Timing timing;
  timing.rate = timed_rate_;
  return write_timing(slot, timing);
}

Result<bool> RecordProcess::time_window(std::uint32_t slot, std::uint32_t weight,
                                        std::chrono::nanoseconds length) {
  Timing timing;
  timing.rate = timed_rate_;
  timing.weight = weight;
  timing.until_ns = static_cast<std::uint64_t>(length.count());
  return write_timing(slot, timing);
}

Result<bool> RecordProcess::end_window(std::uint32_t slot, bool anyhow) {
  const auto found = watched_.find(slot);
  if (found == watched_.end()) return error_in_words("no IOC in slot " + std::to_string(slot));
  Watched& watched = found->second;
  if (!watched.timing.ends) return true;
  Library& library = libraries_.at(watched.library);
  const std::uint64_t now_ns = monotonic_ns();
  if (now_ns < watched.timing.until_ns && !watched.paused) {
    watched.timing.until_ns = now_ns;
    if (auto ok = write_config(slot, watched, attach_bit(library.mode)); !ok) return ok.error();
  }
  auto calls = watched.paused ? TimedCalls() : timed_calls({slot});
  if (!calls) return std::move(calls).error();
  if (!calls->empty() && !anyhow) return false;
  watched.timing.ends = false;
  if (!calls->empty()) ++watched.epoch;  // their frames are not to wait for an end
  if (!watched.paused)
    if (auto ok = write_config(slot, watched, attach_bit(library.mode)); !ok) return ok.error();
  const auto needs_ends = [this](std::uint32_t other) { return watched_.at(other).timing.ends; };
  if (library.mode == Attachment::all_processes && std::ranges::any_of(active(library), needs_ends))
    return true;
  if (Attached* const attached = attached_of(slot))
    if (const auto process = attached->find(RecordProgram::process); process != attached->end())
      kernel::take_off_together(process->second.take_ends());
  return true;
}

Result<bool> RecordProcess::end_completions(std::uint32_t slot, bool anyhow) {
  const auto found = watched_.find(slot);
  if (found == watched_.end()) return error_in_words("no IOC in slot " + std::to_string(slot));
  Watched& watched = found->second;
  if (watched.timing.ends) return false;
  if (!watched.timing.completions) return true;
  const std::int64_t pending = asynchronous(slot).pending;
  watched.timing.given_up = anyhow ? pending : std::min(watched.timing.given_up, pending);
  if (pending > watched.timing.given_up && pending > 0) return false;
  watched.timing.completions = false;
  Library& library = libraries_.at(watched.library);
  const auto needs_it = [this](std::uint32_t other) {
    return watched_.at(other).timing.completions;
  };
  if (library.mode == Attachment::all_processes && std::ranges::any_of(active(library), needs_it))
    return true;
  if (Attached* const attached = attached_of(slot))
    if (auto completion = attached->extract(RecordProgram::completion)) {
      std::vector<RecordAttachment> gone;
      gone.push_back(std::move(completion.mapped()));
      kernel::take_off_together(std::move(gone));
    }
  return true;
}

// A process's clock has its number in the id (CPUCLOCK_SCHED of
// include/linux/posix-timers_types.h): what clock_getcpuclockid() makes.
std::optional<double> RecordProcess::cpu_seconds(std::uint32_t slot) const {
  const auto found = watched_.find(slot);
  if (found == watched_.end()) return std::nullopt;
  clockid_t clock{};
  timespec time{};
  if (::clock_getcpuclockid(found->second.target.pid, &clock) != 0 ||
      ::clock_gettime(clock, &time) != 0)
    return std::nullopt;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

bool RecordProcess::is_timed(std::uint32_t slot) const {
  const auto found = watched_.find(slot);
  if (found == watched_.end() || durations() == Durations::off) return false;
  return durations() == Durations::by_returns || found->second.target.ending != nullptr;
}

Result<void> RecordProcess::set_timed_rate(std::uint32_t slot, std::uint32_t rate) {
  const auto found = watched_.find(slot);
  if (found == watched_.end()) return error_in_words("no IOC in slot " + std::to_string(slot));
  Watched& watched = found->second;
  watched.timing.rate = std::max(rate, 1u);
  if (watched.paused) return {};
  return write_config(slot, watched, attach_bit(libraries_.at(watched.library).mode));
}

}  // namespace ioc_exporter::records

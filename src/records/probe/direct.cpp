// The part of RecordProcess that looks for processings which do not come through dbProcess.
#include <utility>

#include "base/log.h"
#include "kernel/uprobe.h"
#include "records/probe/process.h"

namespace ioc_exporter::records {
namespace {

constexpr std::chrono::seconds kLook{1}, kBetweenLooks{59};
constexpr int kMostLooks = 32;  // that begin, and end, at the same time: to attach takes a while

void keep_trouble(Result<void>& problem, Result<void> result) {
  if (problem && !result && result.error().code != std::errc::no_such_process)
    problem = std::move(result);
}

}  // namespace

Result<void> RecordProcess::look_for_direct(std::chrono::steady_clock::time_point now) {
  Result<void> problem;
  for (auto& [slot, watched] : watched_) {
    if (watched.direct.found || watched.paused) continue;
    const std::uint32_t seen = asynchronous(slot).direct;
    // Beside asynchronous records, one that is not certain may be the end of a call before.
    if (seen & IOCX_DIRECT_COUNTED || (watched.direct.looking && seen != 0))
      keep_trouble(problem, let_stay(slot));
  }
  int begun = 0;
  for (auto& [file, library] : libraries_) {
    if (now < library.look_due) continue;
    if (library.looking) {
      end_look(library);
      library.look_due = now + kBetweenLooks;
    } else if (begun < kMostLooks) {
      keep_trouble(problem, begin_look(library));
      library.look_due = now + (library.looking ? kLook : kBetweenLooks);
      begun += library.looking;
    }
  }
  take_off_ended();
  return problem;
}

Result<void> RecordProcess::let_stay(std::uint32_t slot) {
  WatchedIoc& watched = watched_.at(slot);
  watched.direct.found = true;
  watched.direct.looking = false;
  if (auto ok = add(slot, *watched.target.completion); !ok) return ok;
  return write_config(slot, attach_bit(library_of(slot).mode));
}

Result<void> RecordProcess::begin_look(Library& library) {
  Result<void> problem;
  for (const std::uint32_t slot : active(library)) {
    WatchedIoc& watched = watched_.at(slot);
    if (sees_ends(watched) || !watched.target.completion) continue;
    auto done = attach_point(slot, library, *watched.target.completion);
    watched.direct.looking = done.ok();
    library.looking |= done.ok();
    if (done) done = write_config(slot, attach_bit(library.mode));
    keep_trouble(problem, std::move(done));
  }
  return problem;
}

void RecordProcess::end_look(Library& library) {
  forget_look(library);
  for (const std::uint32_t slot : active(library)) {
    end_completion(slot);
    if (library.mode == Attachment::all_processes) break;  // they have one together
  }
}

void RecordProcess::forget_look(Library& library) {
  library.looking = false;
  for (const std::uint32_t slot : library.slots) {
    WatchedIoc& watched = watched_.at(slot);
    if (!std::exchange(watched.direct.looking, false) || watched.paused) continue;
    if (auto ok = write_config(slot, attach_bit(library.mode)); !ok)
      log::warn("{}", ok.error().message());
  }
}

}  // namespace ioc_exporter::records

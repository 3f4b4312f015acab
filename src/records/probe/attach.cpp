// The part of RecordProcess that attaches: each IOC alone or all processes on a library at once,
// over and back, and an IOC's probes off and on.
#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "base/log.h"
#include "kernel/uprobe.h"
#include "records/probe/process.h"

namespace ioc_exporter::records {
namespace {

using Probes = std::vector<elf::FunctionProbe>;

// All of them are taken off together later.
void move_to(Probes& probes, Attached& attached) {
  for (auto& [program, probe] : attached) probes.push_back(std::move(probe));
  attached.clear();
}

void take_off(Attached& for_all, std::map<std::uint32_t, Attached>& by_slot) {
  Probes probes;
  move_to(probes, for_all);
  for (auto& [slot, attached] : by_slot) move_to(probes, attached);
  by_slot.clear();
  kernel::take_off_together(std::move(probes));
}

Result<void> attach_function(const elf::Attacher& attacher, Attached& to,
                             const RecordTarget& target, const ProbePoint& point,
                             std::int32_t pid) {
  const elf::ProbePlace place{target.code, target.path, point.offset, pid, point.ending};
  const auto number = static_cast<std::uint32_t>(point.program);
  if (const auto there = to.find(point.program); there != to.end())
    return attacher.attach_ends(there->second, number, place);
  auto probe = attacher.attach(number, place);
  if (!probe) return std::move(probe).error();
  to.emplace(point.program, std::move(*probe));
  return {};
}

Result<void> attach_all(const elf::Attacher& attacher, Attached& to, const WatchedIoc& watched,
                        std::int32_t pid) {
  const RecordTarget& target = watched.target;
  const ProbePoint process{RecordProgram::process, target.offset,
                           watched.timing.ends ? target.ending : nullptr};
  if (auto ok = attach_function(attacher, to, target, process, pid); !ok) return ok;
  for (const ProbePoint& point : target.extras) {
    if (point.program == RecordProgram::completion && !sees_ends(watched)) continue;
    auto ok = attach_function(attacher, to, target, point, pid);
    // Only traces want that one.
    if (!ok && point.program == RecordProgram::link_put &&
        ok.error().code != std::errc::no_such_process)
      log::warn("traces do not show puts through Channel Access links: {}", ok.error().message());
    else if (!ok)
      return ok;
  }
  return {};
}

}  // namespace

// As the library's other IOCs are attached.
Result<void> RecordProcess::attach_ioc(std::uint32_t slot, Library& library) {
  const WatchedIoc& watched = watched_.at(slot);
  if (library.mode == Attachment::all_processes)
    return attach_all(object_.attacher(), library.for_all, watched, kernel::kAllProcesses);
  if (watched.target.main_thread_ended) return rebalance(library);
  return attach_all(object_.attacher(), library.by_slot[slot], watched, watched.target.pid);
}

// Detaches the probes of the IOCs, and those of libraries on which no other IOC is watched.
void RecordProcess::take_off_of(const std::vector<std::uint32_t>& slots) {
  Probes probes;
  for (const std::uint32_t slot : slots) {
    const auto library = libraries_.find(watched_.at(slot).library);
    if (library == libraries_.end()) continue;
    if (auto own = library->second.by_slot.extract(slot)) move_to(probes, own.mapped());
    std::erase(library->second.slots, slot);
    if (!library->second.slots.empty()) continue;
    move_to(probes, library->second.for_all);
    libraries_.erase(library);
  }
  kernel::take_off_together(std::move(probes));
}

std::vector<std::uint32_t> RecordProcess::active(const Library& library) const {
  std::vector<std::uint32_t> slots;
  for (const std::uint32_t slot : library.slots)
    if (!watched_.at(slot).paused) slots.push_back(slot);
  return slots;
}

// For a while both kinds are attached. Each hit counts once, by the one that the IOC's configuration
// names; a call under way is timed by whichever ends are there (bpf/records/threads.bpf.h).
Result<void> RecordProcess::change_mode(Library& library, Attachment wanted) {
  forget_look(library);
  Attached for_all;
  AttachedBySlot by_slot;
  for (const std::uint32_t slot : active(library)) {
    const WatchedIoc& watched = watched_.at(slot);
    const bool all = wanted == Attachment::all_processes;
    auto attached =
        all ? attach_all(object_.attacher(), for_all, watched, kernel::kAllProcesses)
            : attach_all(object_.attacher(), by_slot[slot], watched, watched.target.pid);
    if (attached) continue;
    if (!all && attached.error().code == std::errc::no_such_process) {  // the finder will say so
      by_slot.erase(slot);
      continue;
    }
    take_off(for_all, by_slot);
    return attached;
  }
  std::swap(library.for_all, for_all);
  std::swap(library.by_slot, by_slot);
  library.mode = wanted;
  Result<void> written = set_attach(library, attach_bit(wanted));
  take_off(for_all, by_slot);
  return written;
}

Result<void> RecordProcess::rebalance(Library& library) {
  const std::vector<std::uint32_t> counted = active(library);
  const std::size_t paused = library.slots.size() - counted.size();
  const bool one_without_main_thread = std::ranges::any_of(
      counted, [this](std::uint32_t slot) { return watched_.at(slot).target.main_thread_ended; });
  const Attachment wanted = choose_attachment(library.mode, counted.size() + library.coming, paused,
                                              one_without_main_thread);
  return wanted == library.mode ? Result<void>() : change_mode(library, wanted);
}

Result<void> RecordProcess::note_main_thread_ended(std::uint32_t slot) {
  watched_.at(slot).target.main_thread_ended = true;
  return rebalance(library_of(slot));
}

Result<void> RecordProcess::set_attach(const Library& library, unsigned attach) {
  for (const std::uint32_t slot : active(library))
    if (auto ok = write_config(slot, attach); !ok) return ok;
  return {};
}

Result<void> RecordProcess::add(std::uint32_t slot, const ProbePoint& point) {
  WatchedIoc& watched = watched_.at(slot);
  for (const ProbePoint& known : watched.target.extras)
    if (known.program == point.program) return {};
  watched.target.extras.push_back(point);
  const bool ends = point.program == RecordProgram::completion;
  if (watched.paused || (ends && !sees_ends(watched))) return {};
  Library& library = library_of(slot);
  auto attached = attach_point(slot, library, point);
  return attached && ends ? write_config(slot, attach_bit(library.mode)) : attached;
}

Result<void> RecordProcess::attach_point(std::uint32_t slot, Library& library,
                                         const ProbePoint& point) {
  const RecordTarget& target = watched_.at(slot).target;
  const bool all = library.mode == Attachment::all_processes;
  return attach_function(object_.attacher(), all ? library.for_all : library.by_slot[slot], target,
                         point, all ? kernel::kAllProcesses : target.pid);
}

Result<bool> RecordProcess::pause(std::uint32_t slot) {
  watched_.at(slot).paused = true;
  watched_.at(slot).direct.looking = false;
  if (auto ok = write_config(slot, 0); !ok) return ok.error();
  Library& library = library_of(slot);
  if (auto own = library.by_slot.extract(slot)) {
    Probes probes;
    move_to(probes, own.mapped());
    kernel::take_off_together(std::move(probes));
  }
  if (auto ok = rebalance(library); !ok) return ok.error();
  return library.mode == Attachment::per_process;
}

Result<void> RecordProcess::resume(std::uint32_t slot) {
  WatchedIoc& watched = watched_.at(slot);
  if (!watched.paused) return {};
  Library& library = library_of(slot);
  // To be attached for all processes by rebalance().
  const bool waits = library.mode == Attachment::per_process && watched.target.main_thread_ended;
  if (auto attached = waits ? Result<void>() : attach_ioc(slot, library); !attached) {
    library.by_slot.erase(slot);
    return attached;
  }
  // Calls from before are over, or were: the programs must not take their frames for live ones.
  ++watched.epoch;
  watched.scans_since = std::chrono::steady_clock::now();
  watched.paused = false;
  if (auto ok = write_config(slot, attach_bit(library.mode)); !ok) return ok;
  auto balanced = rebalance(library);
  if (!waits) return balanced;
  watched.paused = !balanced;
  if (watched.paused)
    if (auto off = write_config(slot, 0); !off) return off;
  return balanced;
}

void RecordProcess::take_off_all() {
  Probes probes;
  for (auto& [file, library] : libraries_) {
    library.mode = Attachment::per_process;
    library.looking = false;
    move_to(probes, library.for_all);
    for (auto& [slot, attached] : library.by_slot) move_to(probes, attached);
    library.by_slot.clear();
  }
  kernel::take_off_together(std::move(probes));
}

Result<void> RecordProcess::pause_all() {
  Result<void> first;
  for (auto& [slot, watched] : watched_) {
    watched.paused = true;
    watched.direct.looking = false;
    if (auto ok = write_config(slot, 0); !ok && first) first = std::move(ok);
  }
  take_off_all();
  return first;
}

RecordProcess::~RecordProcess() {
  take_off_all();
}

}  // namespace ioc_exporter::records

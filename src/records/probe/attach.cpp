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

using Attached = std::map<RecordProgram, iocs::FunctionProbe>;

void take_off_together(const std::vector<Attached*>& of) {
  std::vector<iocs::FunctionProbe> all;
  for (Attached* attached : of)
    for (auto& [program, probe] : std::exchange(*attached, {})) all.push_back(std::move(probe));
  kernel::take_off_together(std::move(all));
}

void take_off(std::map<std::uint32_t, Attached>& by_slot) {
  std::vector<Attached*> all;
  for (auto& [slot, attached] : by_slot) all.push_back(&attached);
  take_off_together(all);
  by_slot.clear();
}

}  // namespace

Result<void> RecordProcess::attach_function(Attached& to, const RecordTarget& target,
                                            const ProbePoint& point, std::int32_t pid) const {
  const iocs::ProbePlace place{target.code, target.path, point.offset, pid, point.ending};
  const auto number = static_cast<std::uint32_t>(point.program);
  const iocs::Attacher& attacher = object_.attacher();
  if (const auto there = to.find(point.program); there != to.end())
    return attacher.attach_ends(there->second, number, place);
  auto probe = attacher.attach(number, place);
  if (!probe) return std::move(probe).error();
  to.emplace(point.program, std::move(*probe));
  return {};
}

Result<void> RecordProcess::attach_target(Attached& to, const Watched& watched,
                                          std::int32_t pid) const {
  const RecordTarget& target = watched.target;
  const ProbePoint process{RecordProgram::process, target.offset,
                           watched.timing.ends ? target.ending : nullptr};
  if (auto ok = attach_function(to, target, process, pid); !ok) return ok;
  for (const ProbePoint& point : target.extras) {
    if (point.program == RecordProgram::completion && !watched.timing.completions) continue;
    auto ok = attach_function(to, target, point, pid);
    // Only traces want that one.
    if (!ok && point.program == RecordProgram::link_put &&
        ok.error().code != std::errc::no_such_process)
      log::warn("traces do not show puts through Channel Access links: {}", ok.error().message());
    else if (!ok)
      return ok;
  }
  return {};
}

// As the library's other IOCs are attached.
Result<void> RecordProcess::attach_target(std::uint32_t slot, Library& library) {
  const Watched& watched = watched_.at(slot);
  if (library.mode == Attachment::all_processes)
    return attach_target(library.for_all, watched, kernel::kAllProcesses);
  if (watched.target.main_thread_ended) return rebalance(library);
  return attach_target(library.by_slot[slot], watched, watched.target.pid);
}

// Detaches the probes of the IOCs, and those of libraries on which no other IOC is watched.
void RecordProcess::take_off_of(const std::vector<std::uint32_t>& slots) {
  std::vector<Attached> all;
  for (const std::uint32_t slot : slots) {
    const auto library = libraries_.find(watched_.at(slot).library);
    if (library == libraries_.end()) continue;
    if (auto own = library->second.by_slot.extract(slot)) all.push_back(std::move(own.mapped()));
    std::erase(library->second.slots, slot);
    if (!library->second.slots.empty()) continue;
    all.push_back(std::move(library->second.for_all));
    libraries_.erase(library);
  }
  std::vector<Attached*> those;
  for (Attached& attached : all) those.push_back(&attached);
  take_off_together(those);
}

std::vector<std::uint32_t> RecordProcess::active(const Library& library) const {
  std::vector<std::uint32_t> slots;
  for (const std::uint32_t slot : library.slots)
    if (!watched_.at(slot).paused) slots.push_back(slot);
  return slots;
}

// For a while both kinds are attached: the program that comes second to a call finds its frame on
// the stack, so that no call is missed and none is counted twice, whenever it falls.
Result<void> RecordProcess::switch_to_all(Library& library) {
  if (auto ok = set_attach(library, IOCX_ATTACH_PROCESS | IOCX_ATTACH_SWITCHING); !ok) return ok;
  Attached for_all;
  for (const std::uint32_t slot : active(library)) {
    auto attached = attach_target(for_all, watched_.at(slot), kernel::kAllProcesses);
    if (attached) continue;
    take_off_together({&for_all});
    if (auto back = set_attach(library, IOCX_ATTACH_PROCESS); !back) return back;
    return attached;
  }
  library.for_all = std::move(for_all);
  library.mode = Attachment::all_processes;
  constexpr std::uint8_t kBoth = IOCX_ATTACH_PROCESS | IOCX_ATTACH_ALL;
  if (auto ok = set_attach(library, kBoth | IOCX_ATTACH_SWITCHING); !ok) return ok;
  if (auto ok = set_attach(library, IOCX_ATTACH_ALL | IOCX_ATTACH_SWITCHING); !ok) return ok;
  take_off(library.by_slot);
  return set_attach(library, IOCX_ATTACH_ALL);
}

Result<void> RecordProcess::switch_to_processes(Library& library) {
  if (auto ok = set_attach(library, IOCX_ATTACH_ALL | IOCX_ATTACH_SWITCHING); !ok) return ok;
  std::map<std::uint32_t, Attached> by_slot;
  for (const std::uint32_t slot : active(library)) {
    const Watched& watched = watched_.at(slot);
    auto attached = attach_target(by_slot[slot], watched, watched.target.pid);
    if (attached) continue;
    if (attached.error().code == std::errc::no_such_process) {  // the finder will say so
      by_slot.erase(slot);
      continue;
    }
    take_off(by_slot);
    if (auto back = set_attach(library, IOCX_ATTACH_ALL); !back) return back;
    return attached;
  }
  library.by_slot = std::move(by_slot);
  library.mode = Attachment::per_process;
  constexpr std::uint8_t kBoth = IOCX_ATTACH_PROCESS | IOCX_ATTACH_ALL;
  if (auto ok = set_attach(library, kBoth | IOCX_ATTACH_SWITCHING); !ok) return ok;
  if (auto ok = set_attach(library, IOCX_ATTACH_PROCESS | IOCX_ATTACH_SWITCHING); !ok) return ok;
  take_off_together({&library.for_all});
  return set_attach(library, IOCX_ATTACH_PROCESS);
}

Result<void> RecordProcess::rebalance(Library& library) {
  const std::vector<std::uint32_t> counted = active(library);
  const std::size_t paused = library.slots.size() - counted.size();
  const bool one_without_main_thread = std::ranges::any_of(
      counted, [this](std::uint32_t slot) { return watched_.at(slot).target.main_thread_ended; });
  const Attachment wanted = choose_attachment(library.mode, counted.size() + library.coming, paused,
                                              one_without_main_thread);
  if (wanted == library.mode) return {};
  return wanted == Attachment::all_processes ? switch_to_all(library)
                                             : switch_to_processes(library);
}

Result<void> RecordProcess::note_main_thread_ended(std::uint32_t slot) {
  const auto found = watched_.find(slot);
  if (found == watched_.end()) return error_in_words("no IOC in slot " + std::to_string(slot));
  found->second.target.main_thread_ended = true;
  return rebalance(libraries_.at(found->second.library));
}

Result<void> RecordProcess::set_attach(const Library& library, std::uint8_t attach) {
  for (const std::uint32_t slot : active(library))
    if (auto ok = write_config(slot, watched_.at(slot), attach); !ok) return ok;
  return {};
}

Result<void> RecordProcess::add(std::uint32_t slot, const ProbePoint& point) {
  const auto found = watched_.find(slot);
  if (found == watched_.end()) return error_in_words("no IOC in slot " + std::to_string(slot));
  Watched& watched = found->second;
  for (const ProbePoint& known : watched.target.extras)
    if (known.program == point.program) return {};
  watched.target.extras.push_back(point);
  const bool waits = point.program == RecordProgram::completion && !watched.timing.completions;
  if (watched.paused || waits) return {};
  Library& library = libraries_.at(watched.library);
  const bool all = library.mode == Attachment::all_processes;
  return attach_function(all ? library.for_all : library.by_slot[slot], watched.target, point,
                         all ? kernel::kAllProcesses : watched.target.pid);
}

Result<bool> RecordProcess::pause(std::uint32_t slot) {
  const auto found = watched_.find(slot);
  if (found == watched_.end()) return error_in_words("no IOC in slot " + std::to_string(slot));
  Watched& watched = found->second;
  watched.paused = true;
  if (auto ok = write_config(slot, watched, 0); !ok) return ok.error();
  Library& library = libraries_.at(watched.library);
  if (const auto own = library.by_slot.find(slot); own != library.by_slot.end()) {
    take_off_together({&own->second});
    library.by_slot.erase(own);
  }
  if (auto ok = rebalance(library); !ok) return ok.error();
  return library.mode == Attachment::per_process;
}

Result<void> RecordProcess::resume(std::uint32_t slot) {
  const auto found = watched_.find(slot);
  if (found == watched_.end()) return error_in_words("no IOC in slot " + std::to_string(slot));
  Watched& watched = found->second;
  if (!watched.paused) return {};
  Library& library = libraries_.at(watched.library);
  // To be attached for all processes by rebalance().
  const bool waits = library.mode == Attachment::per_process && watched.target.main_thread_ended;
  if (auto attached = waits ? Result<void>() : attach_target(slot, library); !attached) {
    library.by_slot.erase(slot);
    return attached;
  }
  // Calls from before are over, or were: the programs must not take their frames for live ones.
  ++watched.epoch;
  watched.scans_since = std::chrono::steady_clock::now();
  watched.paused = false;
  if (auto ok = write_config(slot, watched, attach_bit(library.mode)); !ok) return ok;
  auto balanced = rebalance(library);
  if (!waits) return balanced;
  watched.paused = !balanced;
  if (watched.paused)
    if (auto off = write_config(slot, watched, 0); !off) return off;
  return balanced;
}

bool RecordProcess::paused(std::uint32_t slot) const {
  const auto found = watched_.find(slot);
  return found != watched_.end() && found->second.paused;
}

void RecordProcess::take_off_all() {
  std::vector<Attached*> all;
  for (auto& [file, library] : libraries_) {
    library.mode = Attachment::per_process;
    all.push_back(&library.for_all);
    for (auto& [slot, attached] : library.by_slot) all.push_back(&attached);
  }
  take_off_together(all);
  for (auto& [file, library] : libraries_) library.by_slot.clear();
}

Result<void> RecordProcess::pause_all() {
  Result<void> first;
  for (auto& [slot, watched] : watched_) {
    watched.paused = true;
    if (auto ok = write_config(slot, watched, 0); !ok && first) first = std::move(ok);
  }
  take_off_all();
  return first;
}

RecordProcess::~RecordProcess() {
  take_off_all();
}

}  // namespace ioc_exporter::records

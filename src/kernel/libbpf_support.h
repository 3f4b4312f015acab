// Shared by all users of libbpf: words for its errors, settings of maps before they are made. Only
// included by .cpp files.
#pragma once

#include <bpf/libbpf.h>

#include <cerrno>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/result.h"
#include "kernel/caps.h"
#include "kernel/event_ring.h"
#include "kernel/map.h"
#include "kernel/program_stats.h"
#include "shared/putlog.h"

namespace ioc_exporter::kernel {

// libbpf's own messages go to our log at debug level from now on; its latest warnings are kept for
// the error that libbpf_error() makes. Call once before the first object is opened.
void capture_libbpf_messages();

// An error from libbpf: `err` is a negative errno. Adds the last line of libbpf's latest warning or
// of the verifier's log where there is one, since the errno alone rarely tells the cause.
Error libbpf_error(int err, std::string context);

// Whether entries of a hash that uprobes fill can be allocated when they are needed: Linux has an
// allocator for that since 6.1 (bpf_mem_alloc). PREEMPT_RT fills it up in a thread, which may come
// too late for an IOC's threads of higher priority.
bool allocates_entries_on_demand();

// Before the map is created.
Result<void> size_map(bpf_map* map, std::uint32_t entries);
// The map is the one of `fd`, another object's; before it is created. `object` is for the error.
Result<void> share_map(bpf_map* map, int fd, const char* object);

// Before an object is loaded that has a part in what may be off: its maps of that, which are the
// ones of `fds`, are not made then.
struct SharedMap {
  bpf_map* map;
  int fd;
};
Result<void> share_or_leave_out(std::span<const SharedMap> maps, bool on, const char* object);

// Before an object is loaded whose programs write to a ring as bpf/putlog/events.bpf.h does.
// Without a ring its maps are not made: nothing that uses them is left once cfg_putlog_bytes is 0.
template <class Skeleton>
Result<void> use_ring(Skeleton& skeleton, const RingUse& ring, const char* object) {
  const SharedMap shared[] = {{skeleton.maps.putlog_events, ring.fd},
                              {skeleton.maps.putlog_shares, ring.shares}};
  if (auto ok = share_or_leave_out(shared, ring.fd >= 0, object); !ok) return ok;
  skeleton.rodata->cfg_putlog_bytes = ring.value_bytes;
  skeleton.rodata->cfg_putlog_wake = ring.wake_at;
  skeleton.rodata->cfg_putlog_ring = ring.size;
  skeleton.rodata->cfg_putlog_seed = ring.seed;
  skeleton.rodata->cfg_putlog_after = ring.after;
  return {};
}

// Of the put log, so far.
template <class Skeleton>
LostEvents lost_events(const Skeleton& skeleton) {
  const auto& lost = skeleton.bss->putlog_lost;
  return {__atomic_load_n(&lost[IOCX_PUTLOG_NO_ROOM], __ATOMIC_RELAXED),
          __atomic_load_n(&lost[IOCX_PUTLOG_NO_SHARE], __ATOMIC_RELAXED),
          __atomic_load_n(&skeleton.bss->putlog_lost_answers, __ATOMIC_RELAXED)};
}

// A created map as `view`.
template <class K, class V>
Result<void> open_view(MapView<K, V>& view, const bpf_map* map) {
  auto opened = MapView<K, V>::from_fd(bpf_map__fd(map));
  if (!opened) return std::move(opened).error();
  view = std::move(*opened);
  return {};
}

// All of a created array map, to be written to.
Result<void> map_memory(MapMemory& memory, const bpf_map* map);
// The array of a loaded object whose programs have these caps.
Result<void> map_caps(Caps& caps, const bpf_map* held,
                      const __u32 (&of_programs)[IOCX_CAPPED_TABLES]);

// As program_stats(int).
std::optional<ProgramStats> program_stats(const bpf_program* program);
// Sum over the programs of a loaded object.
std::optional<ProgramStats> object_stats(const bpf_object* object);

}  // namespace ioc_exporter::kernel

// What every user of libbpf in this folder shares: owners for its handles and words for its errors.
// Only included by the .cpp files of src/bpf.
#pragma once

#include <bpf/libbpf.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/result.h"
#include "kernel/event_ring.h"
#include "kernel/map.h"
#include "kernel/program_stats.h"

namespace ioc_exporter::kernel {

struct LinkDeleter {
  void operator()(bpf_link* link) const { bpf_link__destroy(link); }
};
using LinkPtr = std::unique_ptr<bpf_link, LinkDeleter>;

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

// Before an object is loaded that has a part in traces: its maps of them, which are the ones of
// `fds`, are not made while traces are off.
struct SharedMap {
  bpf_map* map;
  int fd;
};
Result<void> share_or_leave_out(std::span<const SharedMap> maps, bool traces, const char* object);

// Before an object is loaded whose programs write to a ring as bpf/putlog/events.bpf.h does.
// Without a ring the map is not made: nothing that uses it is left once cfg_putlog_bytes is 0.
template <class Skeleton>
Result<void> use_ring(Skeleton& skeleton, const RingUse& ring, const char* object) {
  bpf_map* const map = skeleton.maps.putlog_events;
  if (ring.fd < 0) {
    const int err = bpf_map__set_autocreate(map, false);
    return err < 0 ? libbpf_error(err, "leave out a BPF map") : Result<void>();
  }
  skeleton.rodata->cfg_putlog_bytes = ring.value_bytes;
  skeleton.rodata->cfg_putlog_wake = ring.wake_at;
  return share_map(map, ring.fd, object);
}

// Events that had no room, so far.
template <class Skeleton>
std::uint64_t lost_events(const Skeleton& skeleton) {
  return __atomic_load_n(&skeleton.bss->putlog_lost, __ATOMIC_RELAXED);
}

// A created map as `view`.
template <class K, class V>
Result<void> open_view(MapView<K, V>& view, const bpf_map* map) {
  auto opened = MapView<K, V>::from_fd(bpf_map__fd(map));
  if (!opened) return std::move(opened).error();
  view = std::move(*opened);
  return {};
}

// As program_stats(int).
std::optional<ProgramStats> program_stats(const bpf_program* program);

}  // namespace ioc_exporter::kernel

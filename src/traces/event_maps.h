// TraceMaps: maps of traces that the programs of several objects share, made before any of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/unique_fd.h"
#include "kernel/event_ring.h"
#include "kernel/map.h"
#include "kernel/ring_shares.h"
#include "shared/traces.h"
#include "traces/options.h"

namespace ioc_exporter::traces {

class TraceMaps {
 public:
  explicit TraceMaps(const Options& options);
  // Parameters for loading objects.
  kernel::TraceUse use() const;
  // None: traces are off, or the maps could not be made.
  std::optional<kernel::EventRing>& ring() { return ring_; }
  const std::string& problem() const { return problem_; }
  // When the put with callback ended, ns; nothing: not yet.
  std::optional<std::uint64_t> put_end(const iocx_trace_put& put) const;
  bool is_enabled() const { return ring_ || !problem_.empty(); }
  // An event is not in the ring any more.
  void note_read(std::span<const std::byte> event) const;

 private:
  Result<void> make(const Options& options);

  kernel::RingShares shares_;
  std::optional<kernel::EventRing> ring_;
  UniqueFd puts_, pva_puts_;
  kernel::MapView<std::uint64_t, iocx_trace_put> puts_view_;
  std::string problem_;
};

}  // namespace ioc_exporter::traces

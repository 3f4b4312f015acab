// PutSource: what counts puts: the probe of a CA server, that of a PVA server, packets. It adds
// puts and their results to Totals, under the labels that all share; Totals::choice says which one
// counts those of a server.
#pragma once

#include <chrono>
#include <optional>

#include "base/result.h"
#include "kernel/event_ring.h"
#include "puts/totals/put_totals.h"
#include "shared/putlog.h"

namespace ioc_exporter::puts {

class PutSource {
 public:
  using Clock = std::chrono::steady_clock;

  virtual ~PutSource() = default;
  // For the log.
  virtual const char* probe_name() const = 0;
  // Adds what it has counted since the last call to the sums.
  virtual Result<void> collect(Clock::time_point now) = 0;
  // Frees what is not used any more. Every second or two.
  virtual Result<void> reap(Clock::time_point now) = 0;
  // From now on it counts nothing, until what follows IOCs attaches it again.
  virtual void detach_all(Clock::time_point now) = 0;
  // Owner of a put's event of this source; nothing: not known, or not any more. For the put log.
  virtual std::optional<PutIdentity> identify(const iocx_putlog_event& event) const = 0;
  // Events that were lost, so far; and answers to puts. In any thread.
  virtual kernel::LostEvents lost_events() const = 0;

 protected:
  PutSource() = default;
  PutSource(PutSource&&) = default;
  PutSource& operator=(PutSource&&) = default;
};

}  // namespace ioc_exporter::puts

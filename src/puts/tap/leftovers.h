// Leftovers: entries of circuits that are gone, which the kernel leaves behind beside channels:
// requests for channels that were never answered, and pages of early segments.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "base/result.h"
#include "puts/tap/circuits.h"
#include "puts/tap/overdue.h"
#include "puts/tap/tap_object.h"

namespace ioc_exporter::puts {

class Leftovers {
 public:
  using Clock = std::chrono::steady_clock;
  // How often requests are looked through; at each look while they are many.
  static constexpr std::chrono::seconds kSweep{30};

  // The object must outlive it.
  explicit Leftovers(const TapObject& object) : object_(object) {}

  // Notes requests when that is due. Before the circuits are looked at.
  Result<void> look(Clock::time_point now);
  // Frees what was noted of circuits that are not alive: the kernel may be using the others.
  Result<void> free(const Circuits::Seen& seen, Clock::time_point now);

  std::uint64_t pages() const { return pages_; }  // in use

 private:
  // Entry that leads from a CID to no channel, because it was not answered yet, or has ended.
  struct Request {
    iocx_ca_channel_key key;
    bool waits;
  };
  Result<void> free_requests(const Circuits::Seen& seen, Clock::time_point now);
  Result<void> free_pages(const Circuits::Seen& seen, Clock::time_point now);

  const TapObject& object_;
  std::optional<Clock::time_point> swept_;
  bool sweeps_ = false;                        // between look() and free()
  std::map<std::uint64_t, Request> requests_;  // by channel
  Overdue<std::uint64_t> gone_requests_;       // channels
  Overdue<std::uint32_t> gone_pages_;
  std::uint64_t pages_ = 0;
};

}  // namespace ioc_exporter::puts

// Channels: the slots of the kernel's that count the puts of a channel, and the labels under which
// they go into the sums.
//
// What a slot has counted goes into the sums while packets count, once its IOC is known. A slot
// whose channel has ended is freed at least kGrace after that was noticed: no program holds a
// segment that long (it is at most some 300 us).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "base/result.h"
#include "puts/source_choice.h"
#include "puts/tap/circuits.h"
#include "puts/tap/overdue.h"
#include "puts/tap/tap_object.h"
#include "puts/totals/put_totals.h"
#include "puts/totals/server_totals.h"
#include "shared/putlog.h"

namespace ioc_exporter::puts {

class Channels {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kGrace{1};
  // How long a channel that has ended waits for its IOC to be found.
  static constexpr std::chrono::seconds kPatience{15};

  // The others must outlive it.
  Channels(const TapObject& object, Circuits& circuits, const SourceChoice& choice, PutTotals& puts)
      : object_(object),
        circuits_(circuits),
        choice_(choice),
        puts_(puts),
        used_(object.max_channels()) {}

  // Adds what was counted since the last time to the sums.
  Result<void> observe();
  void add_open(OpenCounts& open) const;
  // Gives the channels of those circuits the labels that they have now. Counts that were shown keep
  // theirs.
  Result<void> relabel(const std::function<bool(std::uint64_t circuit)>& of);

  // Slots that can be freed. Also counts the unnamed channels.
  std::vector<std::uint32_t> due(const Circuits::Seen& seen, Clock::time_point now);
  Result<void> free(std::uint32_t slot);

  // Owner of a put's event; nothing: not known, or not any more.
  std::optional<PutIdentity> identify(const iocx_putlog_event& event) const;
  // Calls each(channel, labels) for those that are open and have a name.
  void for_each_named(
      const std::function<void(const iocx_ca_channel&, const PutLabels&)>& each) const;

  // Channels of Channel Access with puts whose names are not known, by IOC, as of the last due().
  const std::map<std::uint32_t, std::uint64_t>& unnamed() const { return unnamed_; }
  std::uint64_t count() const;
  // Puts to the place of an IOC that was not found again.
  std::uint64_t puts_lost() const { return puts_lost_; }

 private:
  Result<void> observe_slot(std::uint32_t slot);
  void count_unnamed(std::uint32_t slot);
  bool by_packets(std::uint32_t slot, std::uint64_t channel) const;
  PutLabels labels_of(const ServerKey& server, const iocx_ca_channel_info& info,
                      std::uint32_t sid) const;

  const TapObject& object_;
  Circuits& circuits_;
  const SourceChoice& choice_;
  PutTotals& puts_;
  std::vector<bool> used_;      // slots that hold a channel, as of the last look
  std::uint32_t used_end_ = 0;  // none of them from here on
  Overdue<std::uint32_t> gone_;
  Overdue<std::uint32_t> orphans_;  // whose IOC is not known yet
  std::map<std::uint32_t, std::uint64_t> unnamed_;
  std::uint64_t puts_lost_ = 0;
};

}  // namespace ioc_exporter::puts

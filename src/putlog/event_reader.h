// EventReader: makes PutEvents of the kernel programs' events (bpf/shared/putlog.h), in their
// order: gives them their numbers, the time of day and names. Results has what becomes of them,
// Verdicts what the policy says.
//
// A put may come before its names are known: it waits for them, and those behind it with it, for
// kNamePatience or kSettlePatience at most. So does a put-callback for its answer, as long as the
// options say. A put to a server that is not known by then is set aside, and reported late when the
// server turns out to be an IOC's.
//
// Not thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/wall_clock.h"
#include "putlog/results.h"
#include "putlog/verdicts.h"

namespace ioc_exporter::putlog {

// Where names come from: an answer for each put; nothing, it is not known, or not any more. What it
// says without a PV may be known later; `again`: it was asked before.
using PutDirectory = std::function<std::vector<std::optional<puts::PutIdentity>>(
    std::span<const iocx_putlog_event> puts, bool again)>;

class EventReader {
 public:
  static constexpr std::chrono::milliseconds kNamePatience{1000};
  // Of the server's: by then they are settled (ServerProbe::kNamePatience), for both the same way.
  static constexpr std::chrono::milliseconds kSettlePatience{8000};
  // Channels of such servers, and the memory for their puts.
  static constexpr std::size_t kMostUnknownServers = 8192, kMostUnknownBytes = 4u << 20;
  static constexpr std::size_t kMostWaiting = 65'536;
  static constexpr std::size_t kMostBytes = 64u << 20;  // that they may take, about
  // From half of either on nobody waits for an answer, from all of it on for a name.
  static constexpr std::size_t kMostWaitingBytes = 32u << 20;
  static constexpr std::size_t kMostKnown = 65'536;
  // A channel without puts for so long is asked for again.
  static constexpr std::chrono::minutes kKnownFor{1};
  using Losses = std::array<std::uint64_t, IOCX_PUTLOG_SOURCES>;

  explicit EventReader(PutDirectory directory, std::chrono::milliseconds answer_patience = {})
      : directory_(std::move(directory)), results_(answer_patience) {}

  // No more than that are to be taken now.
  std::size_t room() const {
    return waiting_bytes_ < kMostBytes ? kMostWaiting - waiting_.size() : 0;
  }
  // One event of the ring. False: it is none.
  bool take(std::span<const std::byte> raw);
  // Once nothing is left in the ring: events that had no room until now have their numbers, too.
  void note_losses(const Losses& lost);
  // Those that are done. `now`: at this moment; `last`: nobody waits for names any more.
  std::vector<PutEvent> finish(const WallClock::Reading& now, bool last = false);

  // As Verdicts::set_policy().
  void set_policy(std::shared_ptr<const policy::Policy> policy, puts::PutsOfSlots before = {},
                  std::uint64_t now_ns = 0);

  // Puts that were set aside for which there was no room. In any thread.
  std::uint64_t lost_of_unknown_servers() const { return lost_of_unknown_servers_; }
  // Fields of puts by PV Access that came when the put was reported, though it waited. In any
  // thread.
  std::uint64_t late_values() const { return late_values_; }
  bool is_idle() const { return waiting_.empty(); }

 private:
  using Known = WaitingPut::Known;
  // Puts that are set aside, of one channel.
  struct UnknownServer {
    iocx_putlog_event first;
    std::vector<WaitingPut> puts = {};
    std::uint64_t more = 0;  // that had no room
  };

  void note_lost(std::uint8_t source, std::uint64_t lost);
  bool take_field(const iocx_putlog_event& head, std::span<const std::byte> bytes);
  bool waits(const WaitingPut& put, std::uint64_t now_ns) const;
  void look_up(std::uint64_t now_ns);
  void ask(const std::vector<WaitingPut*>& those, bool again);
  void set_aside(WaitingPut put);
  void report_unknown_servers(const WallClock::Reading& now, std::vector<PutEvent>& done);
  PutEvent complete(WaitingPut& put, const WallClock::Reading& now);

  PutDirectory directory_;
  Results results_;
  Verdicts verdicts_;
  std::deque<WaitingPut> waiting_;
  std::size_t waiting_bytes_ = 0;
  // By channel: those that have put since known_since_ns_, and only before that.
  std::map<EventKey, std::shared_ptr<Known>> known_, known_before_;
  std::uint64_t known_since_ns_ = 0;  // CLOCK_MONOTONIC
  std::uint64_t asked_ns_ = 0;        // when names were looked for again
  Losses lost_{};
  std::uint64_t lost_before_ = 0;  // numbers of lost events since the last one in waiting_
  std::uint64_t seq_ = 0;
  std::map<EventKey, UnknownServer> unknown_servers_;  // by channel
  std::size_t unknown_bytes_ = 0;
  std::uint64_t asked_unknown_ns_ = 0;  // as asked_ns_
  std::atomic<std::uint64_t> lost_of_unknown_servers_ = 0, late_values_ = 0;
};

}  // namespace ioc_exporter::putlog

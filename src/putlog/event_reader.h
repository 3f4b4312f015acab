// EventReader: makes PutEvents of the kernel programs' events (bpf/shared/putlog.h), in their
// order: gives them their numbers, the time of day, names and the policy's verdict.
//
// A put may come before its names are known: it waits for them, and those behind it with it, for
// kNamePatience or kSettlePatience at most. So does a put-callback for its answer, as long as the
// options say. A put to a server that is not known by then is set aside, and told late when the
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
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/wall_clock.h"
#include "policy/policy.h"
#include "putlog/event.h"
#include "puts/source_choice.h"
#include "puts/totals/put_totals.h"
#include "shared/putlog.h"

namespace ioc_exporter::putlog {

// Client, PV and IOC of a put.
struct PutWho {
  std::string ioc, server, client, address, user, host, pv;  // `address`: client without its port
  std::string channel_of = {};                               // as PutEvent has it
  std::uint32_t ioc_number = 0;                              // of answers by packets
  bool inside = false;                                       // `address` is its writer
  bool settled = false;                                      // an unknown PV stays unknown
  puts::SourceChoice::Window by_packets = {};                // when they are told by packets
};

// Where names come from.
class PutDirectory {
 public:
  virtual ~PutDirectory() = default;
  // One answer each; nothing: that is not known, or not any more. What it says without a PV may be
  // told later; `again`: it was asked before.
  virtual std::vector<std::optional<PutWho>> find(std::span<const iocx_putlog_event> puts,
                                                  bool again) = 0;
};

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
  // Channels that put nothing for so long, or for twice as long, are asked for again.
  static constexpr std::chrono::minutes kKnownFor{1};
  using Losses = std::array<std::uint64_t, IOCX_PUTLOG_SOURCES>;

  explicit EventReader(PutDirectory& directory, std::chrono::milliseconds answer_patience = {})
      : directory_(directory), answer_patience_(answer_patience) {}

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

  // For puts from now on, but those that `before` counts: as in the metrics, a former policy judges
  // them.
  void set_policy(std::shared_ptr<const policy::Policy> policy, puts::PutsOfSlots before = {},
                  std::uint64_t now_ns = 0);

  std::uint64_t lost() const;
  // Puts that were set aside for which there was no room. In any thread.
  std::uint64_t lost_of_unknown_servers() const { return lost_of_unknown_servers_; }
  // Fields of puts by PV Access that came when the put was told, though it waited. In any thread.
  std::uint64_t late_values() const { return late_values_; }
  bool is_idle() const { return waiting_.empty(); }

 private:
  struct Key {
    std::uint64_t id;
    std::uint32_t slot;
    std::uint8_t source;
    std::uint32_t generation = 0, sid = 0, address = 0;  // these and the port: only without an id
    std::uint16_t port = 0;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept {
      const std::uint64_t place =
          std::uint64_t{key.address} << 32 ^ std::uint64_t{key.port} << 24 ^ key.sid;
      return ((key.id ^ place) * 0x9E3779B97F4A7C15u) ^ (std::uint64_t{key.slot} << 3) ^ key.source;
    }
  };
  struct Known {
    PutWho who;
    std::array<std::optional<std::uint32_t>, 2> rules = {};  // that decide, by operation
  };
  // Key that a put-callback and its answer share: of the server probe the time and the slot of the
  // put, of packets the client's address and port, the IOC and the IOID.
  struct AnswerKey {
    std::uint64_t time_or_client;
    std::uint32_t slot_or_ioc, ioid;
    std::uint8_t source;
    bool operator==(const AnswerKey&) const = default;
  };
  struct AnswerKeyHash {
    std::size_t operator()(const AnswerKey& key) const noexcept {
      return (key.time_or_client * 0x9E3779B97F4A7C15u) ^ key.ioid ^
             std::uint64_t{key.slot_or_ioc} << 20;
    }
  };
  struct Waiting {
    iocx_putlog_event head;
    PutEvent event;
    std::shared_ptr<Known> known = {};
    puts::SourceChoice::Window by_packets = {};  // as it was when `known` became so
    bool asked = false;
    bool stray = false;                    // to no channel: nobody's
    bool unanswered = false;               // its result may come, later
    std::optional<AnswerKey> answer = {};  // with this key
    std::size_t bytes = 0;
    std::uint64_t lost_before = 0;  // numbers of lost events before it
  };

  // Puts that are set aside, of one channel.
  struct UnknownServer {
    iocx_putlog_event first;
    std::vector<Waiting> puts = {};
    std::uint64_t more = 0;  // that had no room
  };
  // A policy that was replaced, the puts until then, and when.
  struct Former {
    std::shared_ptr<const policy::Policy> policy;
    puts::PutsOfSlots puts;
    std::uint64_t until_ns = 0;
  };

  static Key key_of(const iocx_putlog_event& head);
  std::shared_ptr<Known> known(const Key& key);
  static AnswerKey answer_key_of(const iocx_putlog_event& head, std::uint32_t ioc);
  void note_lost(std::uint8_t source, std::uint64_t lost);
  void wait_for(Waiting& put, const AnswerKey& key);
  void wait_for_result(Waiting& put);
  void wait_for_packets(Waiting& put);
  void settle(Waiting& put, std::string_view status);
  void leave_answer(Waiting& put);
  void end_write(const iocx_putlog_event& head, std::optional<Value> after = {});
  void take_result(const iocx_putlog_event& head, std::optional<Value> after);
  bool take_field(const iocx_putlog_event& head, std::span<const std::byte> bytes);
  void end_pva(Waiting& put, std::uint16_t options);
  static void show_fields(PutEvent& event, bool is_group);
  void answer(const AnswerKey& key, const iocx_putlog_event& head, std::string_view status,
              std::optional<Value> after = {});
  static bool is_to_tell(const Waiting& put);
  static bool is_nameless(const Waiting& put);
  bool is_crowded(std::size_t parts) const;
  bool waits(const Waiting& put, std::uint64_t now_ns) const;
  void look_up();
  void ask(const std::vector<Waiting*>& those, bool again);
  void set_aside(Waiting put);
  void report_unknown_servers(const WallClock::Reading& now, std::vector<PutEvent>& done);
  void complete(Waiting& put, const WallClock::Reading& now);
  const Former* former_policy(const iocx_putlog_event& head) const;
  void judge(Known& known, PutEvent& event, const iocx_putlog_event& head);
  void judge_members(const PutWho& who, PutEvent& event, const iocx_putlog_event& head);

  PutDirectory& directory_;
  std::chrono::nanoseconds answer_patience_;
  std::deque<Waiting> waiting_;
  // Of those in waiting_, in their order.
  std::unordered_map<AnswerKey, std::deque<Waiting*>, AnswerKeyHash> unanswered_;
  // Of the server's threads, by their ids.
  std::unordered_map<std::uint32_t, Waiting*> last_of_thread_;
  std::vector<iocx_putlog_event> answers_;  // of packets, since the last finish()
  // Those that have put since known_since_ns_ (CLOCK_MONOTONIC), and only before that.
  std::unordered_map<Key, std::shared_ptr<Known>, KeyHash> known_, known_before_;
  std::uint64_t known_since_ns_ = 0;
  std::shared_ptr<const policy::Policy> policy_;
  std::deque<Former> former_;  // of the last reloads: events may lie in the ring for seconds
  Losses lost_{};
  std::uint64_t seq_ = 0;
  std::size_t waiting_bytes_ = 0;
  std::uint64_t lost_before_ = 0;  // numbers of lost events since the last one in waiting_
  std::uint64_t asked_ns_ = 0;  // CLOCK_MONOTONIC, the last time that names were looked for again
  std::unordered_map<Key, UnknownServer, KeyHash> unknown_servers_;
  std::size_t unknown_bytes_ = 0;
  std::uint64_t asked_unknown_ns_ = 0;  // as asked_ns_
  std::atomic<std::uint64_t> lost_of_unknown_servers_ = 0, late_values_ = 0;
};

}  // namespace ioc_exporter::putlog

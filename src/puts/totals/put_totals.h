// Puts by label from counters of channels that come and go. Pure: no system calls.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/monotonic_totals.h"
#include "puts/source_choice.h"
#include "puts/totals/samples.h"
#include "shared/ca_servers.h"

namespace ioc_exporter::puts {

// Labels of puts. `ioc` is the number that the caller gave for the server.
struct PutLabels {
  std::uint32_t ioc = 0;
  std::string pv;  // "": the channel is not known
  std::string
      client;  // address without port; `inside`: the record whose CA link it is, or a thread
  std::string user;
  std::string host;
  bool inside = false;  // of a client in the IOC's own process, which no server has seen
  Protocol protocol = Protocol::ca;

  ServerKey server() const { return {ioc, protocol}; }
  auto operator<=>(const PutLabels&) const = default;
};

// One client's connection, and the SID that it writes to.
struct PutPlace {
  std::uint32_t ioc = 0;  // as PutLabels::ioc
  std::uint32_t sid = 0;
  iocx_ca_address address{};  // of the client
  std::uint16_t port = 0;
};

// Client and PV of a put, for the put log.
struct PutIdentity {
  PutLabels labels;
  PutPlace place;
  std::string channel_of = {};  // the channel's client, where that is not the sender
  bool settled = false;         // the sums count its puts by these labels, for good
  std::string ioc = {};         // name of labels.ioc
  std::string server = {};      // that its client is connected to, "10.0.0.1:5064"; "": not known
  SourceChoice::Window by_packets = {};  // when packets count its server's puts
};

struct PutCount {
  PutLabels labels;
  PutOp op = PutOp::write;
  std::uint64_t count = 0;
  std::uint64_t hidden = 0;  // more, over the limit of series; one of both is not 0
  // Of the labels, another one each time they come anew: both begin at 0 then.
  std::uint64_t serial = 0;
  // When the last one was seen, CLOCK_MONOTONIC; 0: not known. The kernel keeps the time of a
  // channel's last put of either kind, so that the other kind's may be up to a look later.
  std::uint64_t last_ns = 0;
  // Time of the last reading before the first put; the same clock. 0: there was none.
  std::uint64_t created_ns = 0;
};

// Counters of a channel: WRITE, WRITE_NOTIFY.
using PutsByOp = CounterValues<2>;
// Of the server probe's slots, by their ids.
using PutsOfSlots = std::unordered_map<std::uint64_t, PutsByOp>;

inline constexpr std::size_t kPutSeries = 100000;

// MonotonicTotals of channels, which have their place by slot, and series that last while a channel
// could add to them. A series takes room from its first put on: clients that only read take none.
class PutTotals {
 public:
  // Over `max_series` sets of labels of a protocol, puts are counted by overflowed(), and as hidden
  // while their channel is open and until the next reading: those of the policy's verdicts.
  explicit PutTotals(std::size_t max_series) : max_series_(max_series) {}

  // Slots of each source; or'ed to their numbers, which are below kSlots.
  static constexpr std::uint32_t kSlots = 1u << 30, kTapSlots = 0;
  static constexpr std::uint32_t server_slots(Protocol protocol) {
    return protocol == Protocol::ca ? kSlots : 2 * kSlots;
  }

  // A channel is identified by the slot of its counters and its id. The slot's earlier channel is
  // closed.
  void open(std::uint32_t slot, std::uint64_t channel, PutLabels labels);
  bool is_open(std::uint32_t slot, std::uint64_t channel) const;
  // Later counts of an open channel stand under these labels; earlier ones stay.
  void relabel(std::uint32_t slot, PutLabels labels);
  // `last_put` as in iocx_ca_channel.
  void observe(std::uint32_t slot, const PutsByOp& puts, std::uint64_t last_put = 0);
  // The channel's counts until now stand in no sum.
  void pass_over(std::uint32_t slot, const PutsByOp& puts);
  // Whether an open channel had counted as much when it was observed or passed over last.
  bool is_current(std::uint32_t slot, const PutsByOp& puts) const;
  // Puts of that source that are not counted in a channel.
  void add(std::uint32_t slots, const PutLabels& labels, const PutsByOp& puts,
           std::uint64_t last_ns);
  // Null: not this channel's slot, or forgotten. Until the next call that is not const.
  const PutLabels* labels(std::uint32_t slot, std::uint64_t channel) const;
  void close(std::uint32_t slot);
  // Something became of puts of an open channel: its series lasts as if it had put. False: there is
  // no room for that.
  bool note_outcome(std::uint32_t slot);
  // Drops the totals of an IOC; what its channels still count is in forgotten() only.
  void forget(std::uint32_t ioc);
  // Drops series without a channel whose last put was before `before_ns` (CLOCK_MONOTONIC), and
  // returns them. Puts whose time is not known stay.
  std::vector<PutLabels> expire(std::uint64_t before_ns);
  // Whether anybody's puts to the PV are known.
  bool knows(const ServerKey& server, const std::string& pv) const;

  std::vector<PutCount> counts() const;
  // The series are read now: a client without one gets its first later.
  void note_reading(std::uint64_t now_ns);
  // Of that source.
  std::uint64_t overflowed(std::uint32_t slots = kTapSlots) const {
    return overflowed_[slots / kSlots];
  }
  // Puts in slots of the CA server probe that were counted with pv "".
  std::uint64_t unnamed_by_server() const { return unnamed_by_server_; }
  // Puts of channels of that source whose IOC was forgotten.
  std::uint64_t forgotten(std::uint32_t slots = kTapSlots) const {
    return forgotten_[slots / kSlots];
  }
  std::size_t series() const { return shown_[0] + shown_[1]; }

 private:
  struct Series {
    PutsByOp puts{}, hidden{};
    std::uint64_t serial = 0;
    PutsByOp last_ns{}, created_ns{};
    std::uint64_t outcome_ns = 0;  // when somebody had read last before an outcome was noted
    bool has_outcome = false;
    std::size_t channels = 0;  // open ones that add to it
    bool shown = false;        // has its room
  };
  using SeriesMap = std::map<PutLabels, Series>;
  struct Channel {
    std::uint64_t id = 0;
    CounterGrowth<2> growth;
    SeriesMap::iterator series;
    enum class State { closed, counts, forgotten } state = State::closed;
  };

  // Null: closed.
  const Channel* find(std::uint32_t slot) const;
  Channel* find(std::uint32_t slot);
  SeriesMap::iterator series_of(PutLabels labels);
  bool show(SeriesMap::value_type& entry);
  void hide(const SeriesMap::value_type& entry);  // before it leaves series_
  bool add_fresh(SeriesMap::value_type& entry, std::uint32_t slots, const PutsByOp& fresh,
                 std::uint64_t last_ns);

  std::size_t max_series_;
  std::uint64_t read_ns_ = 0;
  std::uint64_t last_serial_ = 0;
  bool any_over_ = false;  // a hidden series has no channel any more
  std::array<std::uint64_t, 3> overflowed_{}, forgotten_{};  // by source, as channels_
  std::uint64_t unnamed_by_server_ = 0;
  SeriesMap series_;
  std::array<std::size_t, 2> shown_{};  // by protocol
  // By slot: looked through again and again.
  std::array<std::vector<Channel>, 3> channels_;
};

}  // namespace ioc_exporter::puts

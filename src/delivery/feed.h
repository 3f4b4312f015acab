// Feed: items of one kind on their way to the delivery process, over two pairs of sockets, and the
// account of each sink, in memory that both processes share. Neither waits for the other: what the
// sockets do not take waits in the exporter, and what has no room there is dropped and counted.
// Urgent items have sockets and room of their own, which a flood of others does not take.
//
// A batch of items that has left its socket is in the hands of a delivery process: what one that
// ended had not done with is dropped.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/shared_memory.h"
#include "base/unique_fd.h"
#include "delivery/sink_sample.h"

namespace ioc_exporter::delivery {

// Written by the delivery process.
struct SinkAccount {
  using Count = std::atomic<std::uint64_t>;

  Count delivered = 0, filtered = 0, queue_full = 0, refused = 0, restart = 0, failures = 0;
  // When the sink's thread last went on.
  std::atomic<std::chrono::steady_clock::time_point> alive_at = std::chrono::steady_clock::now();

  std::uint64_t done() const { return delivered + filtered + queue_full + refused + restart; }
};

class Feed {
 public:
  // Of the items that wait in the exporter, for each way.
  static constexpr std::size_t kBytes = 8u << 20;
  enum class Way : std::uint8_t { urgent, plain };
  static constexpr std::array kWays{Way::urgent, Way::plain};

  Feed();

  // Before the process is forked.
  SinkAccount& add_sink(std::string name);
  bool has_sinks() const { return !sinks_.empty(); }

  // The exporter gives, in one thread: an item without sinks goes nowhere.
  void give(std::string_view item, Way way = Way::plain);
  // Sends as much as the sockets take now. False: items still wait.
  bool send();
  void send_all(std::chrono::steady_clock::time_point until);
  // In any thread: each account is exact, whatever goes on.
  std::vector<SinkSample> samples() const;
  // The sinks that hold items and have not gone on for a while, in words; "" = none.
  std::string why_stands() const;

  // The delivery process takes, in one thread. First it looks at what the former one has left.
  void begin();
  std::optional<std::string> take(Way way);
  std::array<int, 2> events() const;  // to be waited for

 private:
  // A message has this and a part of a batch. Numbers of items are from 1 on.
  struct Head {
    std::uint64_t number, items, size, at;  // the first one's; bytes of the batch, and before these
  };
  struct Batch {
    Head head;
    std::string bytes;  // each item behind its size
  };
  struct Channel {
    UniqueFd own, its;
    // The exporter's.
    std::deque<Batch> waiting = {};
    std::size_t bytes = 0;     // of them
    std::uint64_t number = 0;  // of the last item
    // The delivery process'.
    Batch taken = {};
    std::size_t read = 0;  // of its bytes; all, unless it is whole
  };
  struct Shared {
    std::atomic<std::uint64_t> given = 0, no_room = 0;            // items
    std::array<std::atomic<std::uint64_t>, kWays.size()> sent{};  // numbers of the last ones
  };
  Channel& at(Way way) { return channels_[static_cast<std::size_t>(way)]; }
  bool receive(Channel& channel);

  const SharedMemory<Shared> shared_ = make_shared_memory<Shared>();
  std::array<Channel, kWays.size()> channels_;
  std::string message_;  // the last one
  std::vector<std::pair<std::string, SharedMemory<SinkAccount>>> sinks_;
};

}  // namespace ioc_exporter::delivery

// Feed: items of one kind on their way to the delivery process, and the account of each sink: in
// memory that both processes share. Neither waits for the other; what has no room is counted.
//
// An item that has left the ring is in the hands of a delivery process: what one that ended had
// not done with is dropped.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
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
  static constexpr std::size_t kBytes = 8u << 20;

  Feed();

  // Before the process is forked.
  SinkAccount& add_sink(std::string name);
  bool has_sinks() const { return !sinks_.empty(); }

  // The exporter gives, in one thread: an item without sinks goes nowhere.
  void give(std::string_view item);
  void wake() const;
  // In any thread: each account is exact, whatever goes on.
  std::vector<SinkSample> samples() const;
  // The sinks that hold items and have not gone on for a while, in words; "" = none.
  std::string why_stands() const;

  // The delivery process takes, in one thread. First it looks at what the former one has left.
  void begin();
  std::optional<std::string> take();
  int event() const { return event_.get(); }  // to be waited for
  void wait_no_more() const;                  // for what has been given so far

 private:
  struct Head {
    std::uint64_t size, number;  // from 1 on
  };
  struct Shared {
    std::atomic<std::uint64_t> given = 0, no_room = 0;  // items
    std::atomic<std::uint64_t> pushed = 0;              // items that have been in the ring
    std::atomic<std::uint64_t> end = 0, begin = 0;      // of what is in the ring, in bytes
    std::array<char, kBytes> ring;
  };
  void copy_in(std::uint64_t at, std::string_view bytes);
  void copy_out(std::uint64_t at, std::span<char> bytes) const;
  std::optional<Head> first() const;

  const SharedMemory<Shared> shared_ = make_shared_memory<Shared>();
  const UniqueFd event_;
  std::vector<std::pair<std::string, SharedMemory<SinkAccount>>> sinks_;
};

}  // namespace ioc_exporter::delivery

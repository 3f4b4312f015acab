// Sink: where events or traces go for good: a file, a server. Each has a thread of its own in the
// delivery process. A Kind says what goes there:
//
//   Item     a shared pointer to what is handed on, and never changed then
//   Entry    what a sink is given: an item, or what some came to
//   Filter   wants() what an item points to
//   Stage    what is between the queue and the sink, in the sink's thread, and is told the time:
//            take(Item, now, entries&), end_due(now, entries&), end_all(entries&) append entries
//            that are to be delivered now; next_due(). Made with the setup's window
//   bytes()  what an item takes in memory, about
//   owner()  whose it is: in a full queue each has a share
//   is_urgent() it goes to the delivery process beside the others, and may come there before them
//   weight() how many items an entry stands for
//   kLog     how messages begin; kItems: what items are called in them
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "delivery/queue.h"
#include "delivery/sink_sample.h"

namespace ioc_exporter::delivery {

// Why an item never comes to its sink.
inline constexpr const char* kQueueFull = "queue_full";
inline constexpr const char* kRefused = "refused";
inline constexpr const char* kRestart = "restart";  // of the delivery process, which had it

struct Delivered {
  std::size_t entries = 0;            // the first ones of those that were given
  std::optional<Error> problem = {};  // why not all; it is asked again, later each time
  std::size_t refused = 0;            // of those behind them: that will never be taken
  // When it is asked again after a problem, where the receiver says so; 0: at once, with those that
  // are left.
  std::optional<std::chrono::milliseconds> pause = {};
};

template <class Entry>
class Sink {
 public:
  using Delivered = delivery::Delivered;

  // All are called in the sink's thread, which also destroys it.
  virtual ~Sink() = default;

  // Before all else. The error: the exporter does not start; later it goes on, deliver() may help.
  virtual Result<void> open() { return {}; }
  // Again and again with those that are left. May wait for some seconds.
  virtual Delivered deliver(std::span<const Entry> entries) = 0;
};

template <class Kind>
struct SinkSetup {
  std::string name;  // the label `sink`
  typename Kind::Filter filter = {};
  QueueBounds queue = {};
  std::chrono::milliseconds window{};  // how long the stage may hold an item
  std::unique_ptr<Sink<typename Kind::Entry>> sink = {};
};

}  // namespace ioc_exporter::delivery

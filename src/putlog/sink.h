// Sink: where events go for good: a file, a log server. Each has a thread of its own.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "putlog/entry.h"
#include "putlog/filter.h"
#include "putlog/queue.h"

namespace ioc_exporter::putlog {

class Sink {
 public:
  struct Delivered {
    std::size_t entries = 0;            // the first ones of those that were given
    std::optional<Error> problem = {};  // why not all; it is asked again, later each time
    std::size_t refused = 0;  // of the first ones when `entries` is 0: that will never be taken
  };

  virtual ~Sink() = default;

  // Called in the sink's thread only, again and again with those that are left. May wait for a
  // second or so, not for ever.
  virtual Delivered deliver(std::span<const Entry> entries) = 0;
  // Called in the sink's thread from time to time, also while no put comes.
  virtual Result<void> tend() { return {}; }
};

struct SinkSetup {
  std::string name;  // the label `sink`
  EventFilter filter = {};
  std::chrono::milliseconds burst{5000};  // 0: each put is told
  QueueBounds queue = {};
  std::chrono::milliseconds tend_every{60'000};
  std::unique_ptr<Sink> sink = {};
};

// Puts. Of all that came: received = delivered + filtered + waiting + dropped.
struct SinkSample {
  std::string sink;
  std::uint64_t received = 0, delivered = 0, filtered = 0;
  std::uint64_t waiting = 0;                     // queued, in a burst or under way
  std::map<std::string, std::uint64_t> dropped;  // by reason
  std::uint64_t failures = 0;                    // of deliver()
  std::string problem;                           // of the last one; "" = it works
};

}  // namespace ioc_exporter::putlog

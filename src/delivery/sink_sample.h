// Metrics of one sink. Plain data.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace ioc_exporter::delivery {

// The newest items in memory, among the sinks: it takes all at once.
inline constexpr const char* kMemory = "memory";

// Items: received = delivered + filtered + dropped + waiting.
struct SinkSample {
  std::string sink = {};  // the label
  std::uint64_t received = 0, delivered = 0, filtered = 0;
  std::uint64_t waiting = 0;                          // given, queued, in a stage or under way
  std::map<std::string, std::uint64_t> dropped = {};  // by reason
  std::uint64_t failures = 0;                         // of deliver()
};

}  // namespace ioc_exporter::delivery

// Sinks of the put log: where events go for good.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "delivery/sink.h"
#include "delivery/sink_runner.h"
#include "putlog/bursts.h"
#include "putlog/entry.h"
#include "putlog/filter.h"

namespace ioc_exporter::putlog {

// As delivery::Sink has it.
struct PutKind {
  using Item = SharedEvent;
  using Entry = putlog::Entry;
  using Filter = EventFilter;
  using Stage = Bursts;
  static std::size_t bytes(const PutEvent& event) { return delivery::footprint(event); }
  static bool is_urgent(const PutEvent& event) { return event.is_bad(); }
  // What the policy does not expect has a share of its own, by its client: others may flood.
  static std::string owner(const PutEvent& event) {
    std::string owner = event.ioc;
    if (event.is_bad()) owner.append(1, '\0').append(address_of(event));
    return owner;
  }
  static std::uint64_t weight(const Entry& entry) { return entry.puts; }
  static constexpr const char* kLog = "put log";
  static constexpr const char* kItems = "puts";
};

using delivery::kQueueFull;
using delivery::kRefused;
using delivery::SinkSample;
using Sink = delivery::Sink<Entry>;

using SinkRunner = delivery::SinkRunner<PutKind>;
using SinkSetup = delivery::SinkSetup<PutKind>;  // its window: of bursts; 0: each put is reported

}  // namespace ioc_exporter::putlog

extern template class ioc_exporter::delivery::SinkRunner<ioc_exporter::putlog::PutKind>;

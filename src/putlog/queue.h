// Approximate memory of an event, by which queues and the ring are bounded.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "delivery/queue.h"
#include "putlog/event.h"

namespace ioc_exporter::putlog {

using delivery::QueueBounds;

std::size_t footprint(const PutEvent& event);
// Memory of a text, or a value, beside the object itself.
std::size_t footprint_of(const std::string& text);
std::size_t footprint_of(const std::optional<Value>& value);

}  // namespace ioc_exporter::putlog

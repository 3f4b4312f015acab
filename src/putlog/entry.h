// Entry for a sink: a put, or the summary of a burst of puts.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "putlog/event.h"

namespace ioc_exporter::putlog {

// Events are shared by all receivers, hence never changed.
using SharedEvent = std::shared_ptr<const PutEvent>;

// Of the puts that one entry stands for: only where they were single numbers.
struct Burst {
  std::optional<Element> least, most;
  bool operator==(const Burst&) const = default;
};

struct Entry {
  SharedEvent event;  // of a burst the last one, with the value before the first as the old one
  std::uint64_t puts = 1;
  std::optional<Burst> burst = {};
};

// The address without its port: "10.0.0.1:4711", "[fe80::1]:4711", or as it is.
inline std::string_view address_of(std::string_view with_port) {
  const std::size_t colon = with_port.rfind(':');
  if (colon == std::string_view::npos) return with_port;
  const std::string_view address = with_port.substr(0, colon);
  if (address.starts_with('[') && address.ends_with(']'))
    return address.substr(1, address.size() - 2);
  return address.find(':') == std::string_view::npos ? address : with_port;
}
// A record's name has no port.
inline std::string_view address_of(const PutEvent& put) {
  return put.inside ? std::string_view(put.client) : address_of(std::string_view(put.client));
}

}  // namespace ioc_exporter::putlog

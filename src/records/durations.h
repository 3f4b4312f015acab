// How the ends of an IOC's calls are seen, by which they are timed.
#pragma once

#include <cstdint>

namespace ioc_exporter::records {

enum class Durations : std::uint8_t {
  off,         // not at all
  by_ends,     // by breakpoints where the functions end: nothing that the IOC could notice
  by_returns,  // by return probes: cheaper, and they abort an IOC when an exception passes one
};

}  // namespace ioc_exporter::records

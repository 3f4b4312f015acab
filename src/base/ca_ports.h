// Port numbers of Channel Access (its specification, "Port numbers").
#pragma once

#include <cstdint>

namespace ioc_exporter {

// Default ports of a server, TCP and UDP; the first server on a host gets them.
inline constexpr std::uint16_t kCaServerPort = 5064;
// UDP: where beacons go to.
inline constexpr std::uint16_t kCaRepeaterPort = 5065;

}  // namespace ioc_exporter

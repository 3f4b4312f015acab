// Port numbers of Channel Access (its specification, "Port numbers").
#pragma once

#include <cstdint>

namespace ioc_exporter {

// Of a server that was told nothing else, TCP and UDP; the first one on a host gets it.
inline constexpr std::uint16_t kCaServerPort = 5064;
// UDP: where beacons go to.
inline constexpr std::uint16_t kCaRepeaterPort = 5065;

}  // namespace ioc_exporter

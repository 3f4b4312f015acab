// random_salt(): a secret random number.
#pragma once

#include <cstdint>
#include <random>

namespace ioc_exporter {

// From the kernel.
inline std::uint64_t random_salt() {
  std::random_device random;
  return std::uint64_t{random()} << 32 | random();
}

}  // namespace ioc_exporter

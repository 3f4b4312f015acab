// RingShares: the share of each holder in a ring buffer (bpf/shared/ring_shares.h). Programs of
// several objects write to the map, and so does the reader of the ring.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "base/unique_fd.h"
#include "kernel/map.h"

namespace ioc_exporter::kernel {

class RingShares {
 public:
  // `name`: of the map, 15 characters at most; `places`: how many may hold some.
  static Result<RingShares> create(const char* name, std::uint32_t places);

  int fd() const { return fd_.get(); }
  // An event of so many bytes is not in the ring any more. A place that there is not: nothing.
  void note_read(std::uint32_t place, std::size_t bytes) const;
  // Bytes that lie in the ring.
  std::uint64_t held(std::uint32_t place) const;

 private:
  std::uint64_t* at(std::uint32_t index) const {
    return static_cast<std::uint64_t*>(memory_.data()) + index;
  }

  UniqueFd fd_;
  MapMemory memory_;
  std::uint32_t places_ = 0;
};

}  // namespace ioc_exporter::kernel

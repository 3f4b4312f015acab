// A link between two network namespaces that loses, reorders and repeats IP packets: a TUN device
// in each, and a thread that carries packets from one to the other. Its choices are a function of
// the seed and of the number of the packet in its direction.
#pragma once

#include <cstdint>
#include <thread>

#include "base/result.h"
#include "base/unique_fd.h"

namespace ioc_exporter::testing {

// Of the packets of each direction, in percent.
struct LossyRates {
  double loss = 0;
  double reorder = 0;  // held back until one to eight others have passed, or for 3 ms
  double duplicate = 0;
};

struct LossyCounts {
  std::uint64_t seen = 0, lost = 0, reordered = 0, duplicated = 0;
};

// A TUN device in the network namespace of `ns_fd`, up, with that IPv4 address in a /24. Without
// offloads: every packet has its checksums and is no larger than the MTU of 1,500 bytes.
Result<UniqueFd> open_tun(int ns_fd, const std::string& name, const std::string& address);

class LossyLink {
 public:
  LossyLink(UniqueFd a, UniqueFd b, const LossyRates& rates, std::uint32_t seed);
  LossyLink(const LossyLink&) = delete;
  LossyLink& operator=(const LossyLink&) = delete;
  ~LossyLink() { stop(); }

  // Ends the thread. What it was holding back is dropped. Returns what it did, of both directions.
  LossyCounts stop();

 private:
  void run(LossyRates rates, std::uint32_t seed);

  UniqueFd ends_[2];
  UniqueFd wake_;
  LossyCounts counts_;  // the thread's until it has ended
  std::thread thread_;
};

}  // namespace ioc_exporter::testing

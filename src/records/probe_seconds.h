// ProbeSeconds: what the record probes took from IOCs' threads so far, from their hits and what a
// hit costs. An estimate that only grows.
#pragma once

#include <cstdint>
#include <map>

#include "records/hit_cost.h"
#include "records/threads.h"

namespace ioc_exporter::records {

class ProbeSeconds {
 public:
  // `hits`: of each slot since its IOC came. A slot that is not among them is free: what it counts
  // when it is there again is another IOC's.
  void add(const std::map<std::uint32_t, ProbeHits>& hits, const HitCost& cost);

  double total() const { return total_; }

 private:
  std::map<std::uint32_t, ProbeHits> seen_;
  double total_ = 0;
};

}  // namespace ioc_exporter::records

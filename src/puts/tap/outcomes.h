// Outcomes: answers to puts, which the kernel counts beside the channels: failures by status, and
// durations. An entry goes with its channel; one whose channel was freed before it goes at once.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/result.h"
#include "exposition/self_samples.h"
#include "puts/tap/tap_object.h"
#include "puts/totals/totals.h"

namespace ioc_exporter::puts {

class Outcomes {
 public:
  // The others must outlive it.
  Outcomes(const TapObject& object, Totals& totals) : object_(object), totals_(totals) {}

  // Adds answers to the sums. Those of a channel whose IOC is not known yet stay in the kernel's
  // tables.
  Result<void> observe();
  // Of channels that are gone, after observe().
  Result<void> free(const std::set<std::uint64_t>& channels);

  Result<void> add_maps(std::vector<MapSample>& maps) const;
  // Answers that came when their channel had been freed.
  std::uint64_t late_answers() const { return late_answers_; }

 private:
  // Channel and status; of durations, kDurations in its place.
  using Key = std::pair<std::uint64_t, std::uint32_t>;
  static constexpr std::uint32_t kDurations = IOCX_CA_NORMAL;

  template <class Entry, class Add, class PassOver>
  void take(const Key& key, const Entry& entry, std::uint64_t count, Add add, PassOver pass_over);
  Result<void> free(const Key& key);

  const TapObject& object_;
  Totals& totals_;
  std::map<Key, std::uint32_t> entries_;  // at the last look, with their holders
  std::map<Key, std::uint64_t> late_;     // of them, of channels that are not known
  std::uint64_t late_answers_ = 0;
};

}  // namespace ioc_exporter::puts

// Families about IOCs as a whole: epics_ioc_*.
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "exposition/encoder.h"
#include "iocs/samples.h"

namespace ioc_exporter::iocs {

// One a name, in their order: where one name stands there twice (an IOC that came again while its
// former self still shows as gone), the one that is up, else the first. `Ioc`: IocFacts, or more.
template <class Ioc>
std::vector<const Ioc*> distinct_iocs(const std::vector<Ioc>& iocs) {
  std::vector<const Ioc*> distinct;
  std::unordered_map<std::string_view, std::size_t> index;
  for (const Ioc& ioc : iocs) {
    const auto [at, is_new] = index.try_emplace(ioc.name, distinct.size());
    if (is_new)
      distinct.push_back(&ioc);
    else if (ioc.up && !distinct[at->second]->up)
      distinct[at->second] = &ioc;
  }
  return distinct;
}

// epics_ioc_up for all; most others only for those that are up.
void encode_iocs(const std::vector<const IocFacts*>& iocs, exposition::Encoder& encoder);
// epics_ioc_expected.
void encode_expected(const std::vector<std::string>& names, exposition::Encoder& encoder);
void encode_left_out(std::uint64_t left_out, exposition::Encoder& encoder);

}  // namespace ioc_exporter::iocs

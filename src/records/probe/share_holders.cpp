#include "records/probe/share_holders.h"

namespace ioc_exporter::records {

// One under which nothing is held, or else one that nobody has now: there are more than twice as
// many as IOCs can be watched.
std::uint16_t ShareHolders::take_number(const IsEmpty& is_empty) {
  const auto next = [](std::uint16_t number) {
    return static_cast<std::uint16_t>(number + 1u < IOCX_SHARE_BUCKETS ? number + 1u
                                                                       : IOCX_SHARE_FREE);
  };
  std::uint16_t found = 0;
  std::uint16_t number = last_;
  do {
    number = next(number);
    if (taken_[number]) continue;
    found = number;
    if (is_empty(number)) break;
  } while (number != last_);
  last_ = found;
  taken_[found] = true;
  return found;
}

iocx_holder ShareHolders::take(std::uint32_t user, const IsEmpty& is_empty) {
  std::erase_if(users_, [&](const auto& entry) {
    return entry.second.iocs == 0 && is_empty(entry.second.number);
  });
  const auto [known, is_new] = users_.try_emplace(user);
  if (is_new) known->second.number = take_number(is_empty);
  taken_[known->second.number] = true;
  ++known->second.iocs;
  iocx_holder holder{};
  holder.user = known->second.number;
  holder.ioc = take_number(is_empty);
  return holder;
}

void ShareHolders::release(std::uint32_t user, const iocx_holder& holder) {
  taken_[holder.ioc] = false;
  const auto known = users_.find(user);
  if (known != users_.end() && --known->second.iocs == 0) taken_[known->second.number] = false;
}

}  // namespace ioc_exporter::records

// ShareHolders: numbers for the IOCs that are watched, and for their users, by which the programs
// count what they hold of the tables that all share (bpf/shared/record_shares.h). No system calls.
#pragma once

#include <bitset>
#include <cstdint>
#include <functional>
#include <map>

#include "shared/record_shares.h"

namespace ioc_exporter::records {

class ShareHolders {
 public:
  // Whether nothing is held under a number.
  using IsEmpty = std::function<bool(std::uint32_t)>;

  // For an IOC that is watched from now on. IOCs of one user have one number for him. What an IOC
  // that is gone has left in the tables is not counted for another, but for its user.
  iocx_holder take(std::uint32_t user, const IsEmpty& is_empty);
  // The IOC is not watched any more.
  void release(std::uint32_t user, const iocx_holder& holder);

 private:
  struct User {
    std::uint16_t number = 0;
    std::uint32_t iocs = 0;  // that are watched
  };
  std::uint16_t take_number(const IsEmpty& is_empty);

  std::bitset<IOCX_SHARE_BUCKETS> taken_;
  std::map<std::uint32_t, User> users_;
  std::uint16_t last_ = IOCX_SHARE_FREE;
};

}  // namespace ioc_exporter::records

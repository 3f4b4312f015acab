// Crowds: for which processes a function is attached that several IOCs have. One attachment for all
// of them, where it must rest in none. Else one for each, as long as they are few; many hold the
// one for all, but for users in whose IOCs it must rest. Pure: it is told the time.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "functions/attachments.h"
#include "iocs/ioc_id.h"

namespace ioc_exporter::functions {

// An IOC in which a function is to be probed.
struct CrowdMember {
  iocs::IocId id;
  std::uint32_t user = 0;
  bool is_attached = false;
};

// Not thread-safe.
class Crowds {
 public:
  using Clock = std::chrono::steady_clock;
  // Processes with an attachment each at one place: the kernel passes all of them at each hit.
  static constexpr std::size_t kMostApart = 16;
  // After a rest, attachments stay apart.
  static constexpr std::chrono::seconds kApart{60};

  // In an IOC of this user it must not be probed now.
  void note_rest(const Place& place, std::uint32_t user, Clock::time_point now) {
    resting_[place][user] = now + kApart;
  }
  // Whether attachments of some come together again.
  bool come_together(Clock::time_point now);
  // `has_symbol`: else only pointers lead to it, and there is no attachment for all. Members that
  // are left out have no room.
  std::set<iocs::IocId> choose(const Place& place, bool has_symbol,
                               const std::vector<CrowdMember>& members) const;

 private:
  std::map<Place, std::map<std::uint32_t, Clock::time_point>> resting_;  // until when, by user
};

}  // namespace ioc_exporter::functions

// NameRegistry: one name for one running IOC at a time, and for a while after its end for IOCs of
// the same user only. Not thread-safe.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "iocs/ioc_id.h"

namespace ioc_exporter::iocs {

// Claimant of a name.
struct NameClaim {
  IocId id;
  uid_t user = 0;
  std::string user_name;

  bool operator==(const NameClaim&) const = default;
};

class NameRegistry {
 public:
  using Clock = std::chrono::steady_clock;
  struct Name {
    std::string name;
    // User that holds or held the wanted name; empty when the owner is certain.
    std::string contested_with;
  };

  // A name is kept for its user for so long.
  explicit NameRegistry(std::chrono::milliseconds keep = std::chrono::minutes(5)) : keep_(keep) {}

  // `name`, or while another has it, "name-USER" for another user and "name-PID" for the same. An
  // IOC that has a name may ask again.
  Name take(const std::string& name, const NameClaim& claim, Clock::time_point now);
  void release(const std::string& unique_name, Clock::time_point now);
  // Names of IOCs that do not run, and whose they are: nobody else has them, for however long.
  // Replaces the earlier ones.
  void reserve(std::map<std::string, NameClaim> names) { reserved_ = std::move(names); }

 private:
  struct Holder {
    NameClaim claim;
    std::optional<Clock::time_point> gone;  // none: it runs
  };

  bool is_kept(const Holder& holder, const NameClaim& from, Clock::time_point now) const;
  std::string told_apart(const std::string& name, const NameClaim& claim,
                         Clock::time_point now) const;
  void forget_some(uid_t user);

  std::chrono::milliseconds keep_;
  std::map<std::string, Holder> holders_;
  std::map<std::string, NameClaim> reserved_;
};

}  // namespace ioc_exporter::iocs

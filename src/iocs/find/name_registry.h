// NameRegistry: one name for one running IOC at a time, and after its end for IOCs of the same user
// only. Not thread-safe.
#pragma once

#include <sys/types.h>

#include <map>
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
  struct Name {
    std::string name;
    // User that holds or held the wanted name; empty when the owner is certain.
    std::string contested_with;
  };

  // `name`, or while another has it, "name-USER" for another user and "name-PID" for the same. An
  // IOC that has a name may ask again.
  Name take(const std::string& name, const NameClaim& claim);
  // Its user's until the next reserve().
  void release(const std::string& unique_name);
  // Names of IOCs that do not run, and whose they are: nobody else has them, for however long.
  // Replaces the earlier ones.
  void reserve(std::map<std::string, NameClaim> names) { reserved_ = std::move(names); }

 private:
  // Who else has the name; null: `from` may have it.
  const NameClaim* holder(const std::string& name, const NameClaim& from) const;

  std::map<std::string, NameClaim> running_, reserved_;
};

}  // namespace ioc_exporter::iocs

#include "iocs/find/name_registry.h"

namespace ioc_exporter::iocs {

const NameClaim* NameRegistry::holder(const std::string& name, const NameClaim& from) const {
  if (const auto runs = running_.find(name); runs != running_.end())
    return runs->second.id == from.id ? nullptr : &runs->second;
  const auto gone = reserved_.find(name);
  return gone == reserved_.end() || gone->second.user == from.user ? nullptr : &gone->second;
}

NameRegistry::Name NameRegistry::take(const std::string& name, const NameClaim& claim) {
  Name taken{name, ""};
  if (const NameClaim* const other = holder(name, claim)) {
    taken.contested_with = other->user_name;
    if (other->user != claim.user && !claim.user_name.empty()) taken.name += "-" + claim.user_name;
    // More than once only when an IOC calls itself what would be another one's "name-PID".
    while (holder(taken.name, claim) != nullptr) taken.name += "-" + std::to_string(claim.id.pid);
  }
  running_.insert_or_assign(taken.name, claim);
  return taken;
}

void NameRegistry::release(const std::string& unique_name) {
  if (auto gone = running_.extract(unique_name))
    reserved_.insert_or_assign(unique_name, std::move(gone.mapped()));
}

}  // namespace ioc_exporter::iocs

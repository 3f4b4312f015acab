#include "iocs/find/name_registry.h"

#include <algorithm>

namespace ioc_exporter::iocs {
namespace {

// Names of IOCs that are gone that are remembered: of one user, and of all.
constexpr std::size_t kMostOfUser = 256;
constexpr std::size_t kMost = 65'536;

}  // namespace

// Not to be had by `from`.
bool NameRegistry::is_kept(const Holder& holder, const NameClaim& from,
                           Clock::time_point now) const {
  if (!holder.gone) return holder.claim.id != from.id;
  if (holder.claim.user == from.user) return false;
  return now < *holder.gone + keep_;
}

NameRegistry::Name NameRegistry::take(const std::string& name, const NameClaim& claim,
                                      Clock::time_point now) {
  Name taken{name, ""};
  // As if its IOC had ended just now.
  if (const auto reserved = reserved_.find(name); reserved != reserved_.end()) {
    const auto known = holders_.find(name);
    if (known == holders_.end() || known->second.gone)
      holders_.insert_or_assign(name, Holder{reserved->second, now});
  }
  if (const auto known = holders_.find(name); known != holders_.end()) {
    const Holder& holder = known->second;
    const bool kept = is_kept(holder, claim, now);
    if (kept || holder.claim.user != claim.user) taken.contested_with = holder.claim.user_name;
    if (kept && holder.claim.user != claim.user && !claim.user_name.empty())
      taken.name += "-" + claim.user_name;
    if (kept) taken.name = told_apart(taken.name, claim, now);
  }
  holders_.insert_or_assign(taken.name, Holder{claim, std::nullopt});
  return taken;
}

// More than one round only when an IOC calls itself what would be another one's "name-PID".
std::string NameRegistry::told_apart(const std::string& name, const NameClaim& claim,
                                     Clock::time_point now) const {
  std::string unique = name;
  for (;;) {
    const auto known = holders_.find(unique);
    if (known == holders_.end() || !is_kept(known->second, claim, now)) return unique;
    unique.append(1, '-').append(std::to_string(claim.id.pid));
  }
}

void NameRegistry::release(const std::string& unique_name, Clock::time_point now) {
  const auto known = holders_.find(unique_name);
  if (known == holders_.end()) return;
  known->second.gone = now;
  forget_some(known->second.claim.user);
}

void NameRegistry::forget_some(uid_t user) {
  const auto forget_oldest = [this](auto&& is_meant, std::size_t most) {
    std::size_t count = 0;
    auto oldest = holders_.end();
    for (auto one = holders_.begin(); one != holders_.end(); ++one) {
      if (!one->second.gone || !is_meant(one->second)) continue;
      ++count;
      if (oldest == holders_.end() || one->second.gone < oldest->second.gone) oldest = one;
    }
    if (count > most) holders_.erase(oldest);
  };
  forget_oldest([user](const Holder& holder) { return holder.claim.user == user; }, kMostOfUser);
  if (holders_.size() > kMost) forget_oldest([](const Holder&) { return true; }, 0);
}

}  // namespace ioc_exporter::iocs

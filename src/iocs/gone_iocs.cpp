#include "iocs/gone_iocs.h"

#include <algorithm>
#include <iterator>

namespace ioc_exporter::iocs {

GoneIocs::GoneIocs(std::chrono::milliseconds keep, std::size_t most)
    : keep_(keep),
      keep_counts_(std::min<std::chrono::milliseconds>(keep, kKeepCounts)),
      most_(most) {}

GoneIocs::Life GoneIocs::begin(const std::string& name, uid_t user, const Supervisor& supervisor,
                               Clock::time_point now) {
  Life life{0, now};
  if (const auto gone = gone_.find(name); gone != gone_.end()) {
    life.restarted_by_supervisor =
        !supervisor.name.empty() && gone->second.facts.supervisor == supervisor;
    // Counts of another user's IOC of this name are not continued.
    if (gone->second.claim.user != user)
      forget(gone);
    else
      life.known_since = gone->second.known_since;
  }
  life.number = number_of(name);
  const auto [restarts, is_new] = restarts_.try_emplace(name, 0);
  if (!is_new) ++restarts->second;
  gone_.erase(name);
  return life;
}

void GoneIocs::end(IocFacts facts, uid_t user, const Life& life, bool keeps_name,
                   Clock::time_point now) {
  const std::string name = facts.name;
  const bool well_known = now - life.known_since >= kKnownWell && keeps_name;
  NameClaim claim{{}, user, facts.user};
  gone_.insert_or_assign(
      name, Gone{false, std::move(facts), life.number, std::move(claim), life.known_since,
                 now + keep_counts_, now + (well_known ? keep_ : keep_counts_)});
}

void GoneIocs::rename(const std::string& name, uid_t user, const std::string& user_name,
                      const Life& life, Clock::time_point now) {
  gone_.insert_or_assign(name, Gone{true,
                                    {},
                                    life.number,
                                    {{}, user, user_name},
                                    now,
                                    now + keep_counts_,
                                    now + keep_counts_});
}

void GoneIocs::forget_counts(const std::string& name, std::uint32_t number) {
  forgotten_.push_back(number);
  numbers_.erase(name);
  restarts_.erase(name);
}

GoneIocs::GoneByName::iterator GoneIocs::forget(GoneByName::iterator gone) {
  if (gone->second.number) forget_counts(gone->first, *gone->second.number);
  return gone_.erase(gone);
}

// The next IOC to leave, of the user with most of them.
void GoneIocs::forget_greediest() {
  std::map<uid_t, std::size_t> held;
  for (const auto& [name, gone] : gone_) ++held[gone.claim.user];
  const auto most =
      std::ranges::max_element(held, {}, [](const auto& user) { return user.second; })->first;
  auto first = gone_.end();
  for (auto gone = gone_.begin(); gone != gone_.end(); ++gone)
    if (gone->second.claim.user == most &&
        (first == gone_.end() || gone->second.until < first->second.until))
      first = gone;
  forget(first);
}

bool GoneIocs::tidy(Clock::time_point now) {
  const std::size_t held = gone_.size(), forgotten = forgotten_.size();
  for (auto gone = gone_.begin(); gone != gone_.end();) {
    Gone& one = gone->second;
    if (one.number && one.counts_until <= now) {
      forget_counts(gone->first, *one.number);
      one.number.reset();
      one.facts.only_up = true;
    }
    gone = one.until <= now ? forget(gone) : std::next(gone);
  }
  while (gone_.size() > most_) forget_greediest();
  return gone_.size() != held || forgotten_.size() != forgotten;
}

std::uint32_t GoneIocs::number_of(const std::string& name) {
  const auto [number, is_new] = numbers_.try_emplace(name, next_number_);
  if (is_new) ++next_number_;
  return number->second;
}

void GoneIocs::release(const std::string& name) {
  const auto number = numbers_.find(name);
  if (number == numbers_.end() || gone_.contains(name)) return;
  forgotten_.push_back(number->second);
  numbers_.erase(number);
}

std::vector<std::uint32_t> GoneIocs::take_forgotten() {
  return std::exchange(forgotten_, {});
}

std::map<std::string, NameClaim> GoneIocs::names() const {
  std::map<std::string, NameClaim> names;
  for (const auto& [name, gone] : gone_) names.emplace(name, gone.claim);
  return names;
}

void GoneIocs::add_facts(std::vector<IocFacts>& to) const {
  for (const auto& [name, gone] : gone_)
    if (!gone.is_renamed) to.push_back(gone.facts);
}

}  // namespace ioc_exporter::iocs

#include "traces/selectors.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "base/wall_clock.h"
#include "traces/causes.h"

namespace ioc_exporter::traces {
namespace {

constexpr std::uint32_t kAllCauses = (1u << IOCX_CAUSES) - 1;

// 0: no such cause.
std::uint32_t causes_of(const Demand& demand) {
  if (demand.cause.empty()) return kAllCauses;
  const auto cause = cause_number(demand.cause);
  return cause ? 1u << *cause : 0;
}

// Names that are matched between looks at the clock.
constexpr std::size_t kAtATime = 256;

// The records whose name, or an alias of it, matches the expression. Nothing: the time was over
// before it was done.
std::optional<std::vector<std::uint64_t>> matching(const Pattern& pattern, const Database& database,
                                                   TraceSelectors::Clock::time_point until) {
  std::vector<bool> matches(database.records.size());
  std::size_t names = 0;
  const auto late = [&] {
    return names++ % kAtATime == 0 && TraceSelectors::Clock::now() >= until;
  };
  for (std::size_t i = 0; i < matches.size(); ++i) {
    if (late()) return std::nullopt;
    matches[i] = pattern.matches(database.records[i].name);
  }
  for (const RecordAlias& alias : database.aliases) {
    if (late()) return std::nullopt;
    if (alias.record < matches.size() && pattern.matches(alias.name)) matches[alias.record] = true;
  }
  std::vector<std::uint64_t> addresses;
  for (std::size_t i = 0; i < matches.size(); ++i)
    if (matches[i]) addresses.push_back(database.records[i].address);
  return addresses;
}

Error too_long(const Demand& demand) {
  return error_in_words("trace " + demand.records.text() +
                        ": it takes too long to find these records: ask by a simpler pattern");
}

// Settings and demands may name the same record: it gets the most of both.
void add_demand(iocx_trace_wish& wish, const Demand& demand,
                TraceSelectors::Clock::time_point until) {
  const auto slower =
      static_cast<__u64>(demand.slower.value_or(std::chrono::nanoseconds{}).count());
  const bool first = (wish.flags & IOCX_TRACE_WISH_ASKED) == 0;
  wish.flags |= IOCX_TRACE_WISH_ASKED;
  wish.until_ns = std::max<__u64>(wish.until_ns, kernel_ns(until));
  wish.slower_ns = first ? slower : std::min(wish.slower_ns, slower);
  wish.causes |= causes_of(demand);
}

bool is_same(const iocx_trace_wish& one, const iocx_trace_wish& other) {
  return one.until_ns == other.until_ns && one.slower_ns == other.slower_ns &&
         one.causes == other.causes && one.flags == other.flags;
}

}  // namespace

const TraceSelectors::Matched* TraceSelectors::match_of(const Asked& one, std::uint32_t slot,
                                                        const Ioc& ioc) {
  const auto found = one.matches.find(slot);
  return found != one.matches.end() && found->second.database == ioc.database ? &found->second
                                                                              : nullptr;
}

std::unordered_map<std::uint64_t, iocx_trace_wish> TraceSelectors::wished(std::uint32_t slot,
                                                                          const Ioc& ioc,
                                                                          bool& asked) const {
  std::unordered_map<std::uint64_t, iocx_trace_wish> wishes;
  asked = false;
  if (!ioc.database) return wishes;
  for (const std::uint64_t address : ioc.named) wishes[address].flags |= IOCX_TRACE_WISH_NAMED;
  for (const Asked& one : demands_) {
    const Matched* const matched = match_of(one, slot, ioc);
    if (matched == nullptr) continue;
    wishes.reserve(matched->addresses.size());
    for (const std::uint64_t address : matched->addresses) {
      asked = true;
      add_demand(wishes[address], one.demand, one.until);
    }
  }
  return wishes;
}

Result<void> TraceSelectors::tell_settings(std::uint32_t slot, const Ioc& ioc) const {
  iocx_trace_config config{};
  config.generation = ioc.generation;
  config.causes = options_.causes != 0 ? options_.causes : kAllCauses;
  if (options_.alarms) config.settings |= IOCX_TRACE_BY_ALARM;
  if (options_.active) config.settings |= IOCX_TRACE_BY_ACTIVE;
  if (options_.slower.count() > 0) config.settings |= IOCX_TRACE_BY_TIME;
  if (options_.records) config.settings |= IOCX_TRACE_NAMED_ONLY;
  if (!ioc.told.empty()) config.settings |= IOCX_TRACE_HAS_WISHES;
  config.slower_ns = static_cast<std::uint64_t>(std::chrono::nanoseconds(options_.slower).count());
  if (options_.rate > 0) {
    constexpr double kMostNs = 1ULL << 47;  // the kernel's numbers have no room for more
    config.interval_ns =
        static_cast<std::uint64_t>(std::llround(std::min(1e9 / options_.rate, kMostNs)));
    config.at_once = static_cast<std::uint32_t>(std::ceil(options_.rate));
  }
  return maps_.config.update(slot, config);
}

// The records first: by the settings the kernel decides whether to look them up.
Result<void> TraceSelectors::tell(std::uint32_t slot, Ioc& ioc) {
  auto wishes = wished(slot, ioc, ioc.asked);
  if (maps_.config.fd() < 0) return {};
  Result<void> problem;
  const std::size_t others = told_ - ioc.told.size();
  const std::size_t room = IOCX_TRACE_WISHES - std::min<std::size_t>(others, IOCX_TRACE_WISHES);
  if (wishes.size() > room)
    return error_in_words("trace " + std::to_string(wishes.size()) + " records of ioc " + ioc.name +
                          ": there is room for " + std::to_string(room) + " more");
  for (const auto& [address, wish] : ioc.told) {
    if (wishes.contains(address)) continue;
    if (auto erased = maps_.wishes.erase({address, ioc.generation, 0}); !erased)
      problem = erased.error();
  }
  for (const auto& [address, wish] : wishes) {
    const auto before = ioc.told.find(address);
    if (before != ioc.told.end() && is_same(before->second, wish)) continue;
    if (auto ok = maps_.wishes.update({address, ioc.generation, 0}, wish); !ok) problem = ok;
  }
  told_ = others + wishes.size();
  ioc.told = std::move(wishes);
  if (auto ok = tell_settings(slot, ioc); !ok) problem = ok;
  return problem;
}

Result<void> TraceSelectors::add(std::uint32_t slot, std::uint32_t generation,
                                 const std::string& name, std::shared_ptr<const Database> database,
                                 Clock::time_point now) {
  if (const auto known = iocs_.find(slot);
      known != iocs_.end() && known->second.generation != generation)
    if (auto ok = remove(slot, known->second.generation); !ok) return ok;
  if (!iocs_.contains(slot) && maps_.lots.fd() >= 0)  // of the slot's former IOC
    if (auto ok = maps_.lots.update(slot, {}); !ok) return ok;
  Ioc& ioc = iocs_[slot];
  if (ioc.name != name)
    for (Asked& one : demands_) one.matches.erase(slot);
  ioc.generation = generation;
  ioc.name = name;
  const bool changed = ioc.database != database;
  ioc.database = std::move(database);
  if (changed && options_.records)
    ioc.named = ioc.database ? matching(*options_.records, *ioc.database, Clock::time_point::max())
                                   .value_or(std::vector<std::uint64_t>())
                             : std::vector<std::uint64_t>();
  Result<void> problem;
  const auto until = Clock::now() + kMatchNewFor;
  for (Asked& one : demands_)
    if (one.until > now)
      if (auto ok = match_new(one, slot, ioc, until); !ok) problem = ok;
  auto told = tell(slot, ioc);
  return told ? problem : told;
}

Result<void> TraceSelectors::match_new(Asked& one, std::uint32_t slot, const Ioc& ioc,
                                       Clock::time_point until) {
  if (match_of(one, slot, ioc) != nullptr) return {};
  auto matches = match(one.demand, {{slot, ioc.name, ioc.database}}, until);
  one.matches.erase(slot);
  if (!matches) return std::move(matches).error();
  one.matches.merge(*matches);
  return {};
}

Result<void> TraceSelectors::remove(std::uint32_t slot, std::uint32_t generation) {
  const auto known = iocs_.find(slot);
  if (known == iocs_.end() || known->second.generation != generation) return {};
  Ioc& ioc = known->second;
  ioc.database.reset();
  auto told = tell(slot, ioc);
  iocs_.erase(known);
  for (Asked& one : demands_) one.matches.erase(slot);
  if (maps_.config.fd() < 0) return {};
  if (auto ok = maps_.config.update(slot, {}); !ok) return ok;
  return told;
}

std::vector<TraceSelectors::Place> TraceSelectors::places() const {
  std::vector<Place> places;
  for (const auto& [slot, ioc] : iocs_) places.push_back({slot, ioc.name, ioc.database});
  return places;
}

Result<TraceSelectors::Matches> TraceSelectors::match(const Demand& demand,
                                                      const std::vector<Place>& places,
                                                      Clock::time_point until) {
  Matches matches;
  for (const Place& place : places) {
    if (!place.database) continue;
    Matched& matched = matches[place.slot];
    matched.database = place.database;
    if (demand.ioc && !demand.ioc->matches(place.ioc)) continue;
    auto addresses = matching(demand.records, *place.database, until);
    if (!addresses) return too_long(demand);
    matched.addresses = std::move(*addresses);
  }
  return matches;
}

Result<void> TraceSelectors::may_ask(const Demand& demand, Clock::time_point now) {
  if (causes_of(demand) == 0)
    return error_in_words("trace chains of cause " + demand.cause + ": there is no such cause");
  if (demand.lasts.count() <= 0 || demand.lasts > kLongest)
    return error_in_words("trace for " + std::to_string(demand.lasts.count()) +
                          " ms: from 1 ms to an hour is possible");
  const auto there = [now](const Asked& one) { return one.until > now; };
  const auto own = [&](const Asked& one) {
    return there(one) && one.demand.holder == demand.holder;
  };
  const auto full = [&](std::size_t most, const char* of_holder) {
    return error_in_words("trace " + demand.records.text() + ": " + std::to_string(most) +
                          " demands" + of_holder + " are active already");
  };
  if (std::ranges::count_if(demands_, there) >= static_cast<std::ptrdiff_t>(kMostDemands))
    return full(kMostDemands, "");
  if (std::ranges::count_if(demands_, own) >= static_cast<std::ptrdiff_t>(kMostOfOne))
    return full(kMostOfOne, " of this user or address");
  return {};
}

Result<std::size_t> TraceSelectors::ask(const Demand& demand, Matches matches,
                                        Clock::time_point now) {
  if (auto may = may_ask(demand, now); !may) return may.error();
  Asked asked{demand, now + demand.lasts, std::move(matches)};
  const auto until = Clock::now() + kMatchNewFor;
  std::size_t records = 0;
  for (const auto& [slot, ioc] : iocs_) {  // one that came meanwhile
    if (auto ok = match_new(asked, slot, ioc, until); !ok) return ok.error();
    if (const Matched* const matched = match_of(asked, slot, ioc))
      records += matched->addresses.size();
  }
  if (records == 0) return records;
  demands_.push_back(std::move(asked));
  for (auto& [slot, ioc] : iocs_) {
    const Matched* const matched = match_of(demands_.back(), slot, ioc);
    if (matched == nullptr || matched->addresses.empty()) continue;
    if (auto ok = tell(slot, ioc); !ok) {
      demands_.pop_back();
      for (auto& [again, other] : iocs_) static_cast<void>(tell(again, other));
      return ok.error();
    }
  }
  return records;
}

// Tells the kernel only about IOCs for which a demand has ended.
template <class Over>
Result<void> TraceSelectors::forget(const Over& over) {
  std::set<std::uint32_t> slots;
  for (const Asked& one : demands_) {
    if (!over(one)) continue;
    for (const auto& [slot, matched] : one.matches)
      if (!matched.addresses.empty()) slots.insert(slot);
  }
  std::erase_if(demands_, over);
  Result<void> problem;
  for (const std::uint32_t slot : slots)
    if (const auto ioc = iocs_.find(slot); ioc != iocs_.end())
      if (auto ok = tell(slot, ioc->second); !ok) problem = ok;
  return problem;
}

Result<void> TraceSelectors::end(const std::string& holder, const std::string& ticket) {
  if (ticket.empty()) return {};
  return forget(
      [&](const Asked& one) { return one.demand.holder == holder && one.demand.ticket == ticket; });
}

Result<void> TraceSelectors::look(Clock::time_point now) {
  return forget([now](const Asked& one) { return one.until <= now; });
}

bool TraceSelectors::wants_all(std::uint32_t slot) const {
  if (options_.slower.count() > 0 || options_.alarms || options_.active) return true;
  const auto ioc = iocs_.find(slot);
  return ioc != iocs_.end() && ioc->second.asked;
}

}  // namespace ioc_exporter::traces

#include "traces/wishes.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ioc_exporter::traces {
namespace {

constexpr std::uint32_t kAllCauses = (1u << IOCX_CAUSES) - 1;

std::uint64_t ns(Wishes::Clock::time_point time) {
  return static_cast<std::uint64_t>(
      std::chrono::nanoseconds(time.time_since_epoch()).count());  // CLOCK_MONOTONIC
}

// 0: no such cause.
std::uint32_t causes_of(const Demand& demand) {
  if (demand.cause.empty()) return kAllCauses;
  for (std::uint32_t cause = 0; cause < IOCX_CAUSES; ++cause)
    if (cause != IOCX_CAUSE_LINK && demand.cause == iocx_cause_labels[cause]) return 1u << cause;
  return 0;
}

// Of each record, whether the expression matches its name or an alias of it.
std::vector<bool> matching(const Pattern& pattern, const Database& database) {
  std::vector<bool> matches(database.records.size());
  for (std::size_t i = 0; i < matches.size(); ++i)
    matches[i] = pattern.matches(database.records[i].name);
  for (const RecordAlias& alias : database.aliases)
    if (alias.record < matches.size() && pattern.matches(alias.name)) matches[alias.record] = true;
  return matches;
}

// Both may be for the same record: then whoever wants more has it.
void add_demand(iocx_trace_wish& wish, const Demand& demand, Wishes::Clock::time_point until) {
  const auto slower =
      static_cast<__u64>(demand.slower.value_or(std::chrono::nanoseconds{}).count());
  const bool first = (wish.flags & IOCX_TRACE_WISH_ASKED) == 0;
  wish.flags |= IOCX_TRACE_WISH_ASKED;
  wish.until_ns = std::max<__u64>(wish.until_ns, ns(until));
  wish.slower_ns = first ? slower : std::min(wish.slower_ns, slower);
  wish.causes |= causes_of(demand);
}

bool is_same(const iocx_trace_wish& one, const iocx_trace_wish& other) {
  return one.until_ns == other.until_ns && one.slower_ns == other.slower_ns &&
         one.causes == other.causes && one.flags == other.flags;
}

}  // namespace

std::unordered_map<std::uint64_t, iocx_trace_wish> Wishes::wished(const Ioc& ioc,
                                                                  bool& asked) const {
  std::unordered_map<std::uint64_t, iocx_trace_wish> wishes;
  asked = false;
  if (!ioc.database) return wishes;
  const auto add = [&](const Pattern& pattern, const auto& to_wish) {
    const auto matches = matching(pattern, *ioc.database);
    for (std::size_t i = 0; i < matches.size(); ++i)
      if (matches[i]) to_wish(wishes[ioc.database->records[i].address]);
  };
  if (options_.records)
    add(*options_.records, [](iocx_trace_wish& wish) { wish.flags |= IOCX_TRACE_WISH_NAMED; });
  for (const Asked& one : demands_)
    if (!one.demand.ioc || one.demand.ioc->matches(ioc.name))
      add(one.demand.records, [&](iocx_trace_wish& wish) {
        asked = true;
        add_demand(wish, one.demand, one.until);
      });
  return wishes;
}

Result<void> Wishes::tell_settings(std::uint32_t slot, const Ioc& ioc) const {
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
    config.interval_ns = static_cast<std::uint64_t>(std::llround(1e9 / options_.rate));
    const auto at_once = static_cast<std::uint64_t>(std::ceil(options_.rate));
    config.burst_ns = config.interval_ns * (at_once - 1);
  }
  return maps_.config.update(slot, config);
}

// The records first: the settings say whether they are looked up.
Result<void> Wishes::tell(std::uint32_t slot, Ioc& ioc) {
  auto wishes = wished(ioc, ioc.asked);
  Result<void> problem;
  for (const auto& [address, wish] : ioc.told) {
    if (wishes.contains(address)) continue;
    if (auto erased = maps_.wishes.erase({address, ioc.generation, 0}); !erased)
      problem = erased.error();
  }
  told_ -= ioc.told.size();
  const std::size_t room = IOCX_TRACE_WISHES - std::min<std::size_t>(told_, IOCX_TRACE_WISHES);
  if (wishes.size() > room)
    return error_in_words("trace " + std::to_string(wishes.size()) + " records of ioc " + ioc.name +
                          ": there is room for " + std::to_string(room) + " more");
  for (const auto& [address, wish] : wishes) {
    const auto before = ioc.told.find(address);
    if (before != ioc.told.end() && is_same(before->second, wish)) continue;
    if (auto ok = maps_.wishes.update({address, ioc.generation, 0}, wish); !ok) problem = ok;
  }
  told_ += wishes.size();
  ioc.told = std::move(wishes);
  if (auto ok = tell_settings(slot, ioc); !ok) problem = ok;
  return problem;
}

Result<void> Wishes::add(std::uint32_t slot, std::uint32_t generation, const std::string& name,
                         std::shared_ptr<const Database> database, Clock::time_point now) {
  if (const auto known = iocs_.find(slot);
      known != iocs_.end() && known->second.generation != generation)
    if (auto ok = remove(slot, known->second.generation); !ok) return ok;
  if (!iocs_.contains(slot))  // what another IOC had of the rate there
    if (auto ok = maps_.tokens.update(slot, 0); !ok) return ok;
  Ioc& ioc = iocs_[slot];
  ioc.generation = generation;
  ioc.name = name;
  ioc.database = std::move(database);
  std::erase_if(demands_, [now](const Asked& one) { return one.until <= now; });
  return tell(slot, ioc);
}

Result<void> Wishes::remove(std::uint32_t slot, std::uint32_t generation) {
  const auto known = iocs_.find(slot);
  if (known == iocs_.end() || known->second.generation != generation) return {};
  Ioc& ioc = known->second;
  ioc.database.reset();
  auto told = tell(slot, ioc);
  iocs_.erase(known);
  if (auto ok = maps_.config.update(slot, {}); !ok) return ok;
  return told;
}

Result<std::size_t> Wishes::ask(const Demand& demand, Clock::time_point now) {
  if (causes_of(demand) == 0)
    return error_in_words("trace what " + demand.cause + " begins: there is no such cause");
  if (demand.lasts.count() <= 0 || demand.lasts > kLongest)
    return error_in_words("trace for " + std::to_string(demand.lasts.count()) +
                          " ms: from 1 ms to an hour is possible");
  std::erase_if(demands_, [now](const Asked& one) { return one.until <= now; });
  if (demands_.size() >= kMostDemands)
    return error_in_words("trace " + demand.records.text() + ": " + std::to_string(kMostDemands) +
                          " others are traced already");
  std::size_t records = 0;
  for (const auto& [slot, ioc] : iocs_) {
    if (!ioc.database || (demand.ioc && !demand.ioc->matches(ioc.name))) continue;
    records +=
        static_cast<std::size_t>(std::ranges::count(matching(demand.records, *ioc.database), true));
  }
  if (records == 0) return records;
  demands_.push_back({demand, now + demand.lasts});
  for (auto& [slot, ioc] : iocs_)
    if (auto ok = tell(slot, ioc); !ok) {
      demands_.pop_back();
      for (auto& [again, other] : iocs_) static_cast<void>(tell(again, other));
      return ok.error();
    }
  return records;
}

Result<void> Wishes::look(Clock::time_point now) {
  if (std::erase_if(demands_, [now](const Asked& one) { return one.until <= now; }) == 0) return {};
  Result<void> problem;
  for (auto& [slot, ioc] : iocs_)
    if (auto ok = tell(slot, ioc); !ok) problem = ok;
  return problem;
}

bool Wishes::wants_all(std::uint32_t slot) const {
  if (options_.slower.count() > 0 || options_.alarms || options_.active) return true;
  const auto ioc = iocs_.find(slot);
  return ioc != iocs_.end() && ioc->second.asked;
}

}  // namespace ioc_exporter::traces

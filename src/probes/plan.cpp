#include "probes/plan.h"

#include <algorithm>
#include <utility>

#include "probes/one_or_all.h"

namespace ioc_exporter::probes {
namespace {

using One = std::pair<const Member, Plan::Counted>;

// Members that have a file in common, or a place where each place is for itself: directly, or
// through others.
using Unit = std::vector<One*>;

std::vector<Unit> units_of(std::map<Member, Plan::Counted>& members, const Policy& policy) {
  std::vector<Unit> units;
  std::map<Place, std::size_t> unit_at;
  for (One& one : members) {
    std::set<Place> shared;
    for (const PlacedRow& row : one.second.rows)
      shared.insert({row.place.file, policy.whole_iocs ? 0 : row.place.offset});
    const std::size_t own = units.size();
    units.push_back({&one});
    for (const Place& place : shared) {
      const auto [known, is_new] = unit_at.try_emplace(place, own);
      const std::size_t other = known->second;
      if (is_new || other == own) continue;
      units[own].insert(units[own].begin(), units[other].begin(), units[other].end());
      units[other].clear();
      for (auto& [at, unit] : unit_at)
        if (unit == other) unit = own;
    }
  }
  std::erase_if(units, [](const Unit& unit) { return unit.empty(); });
  return units;
}

std::string why_off(const Plan::Counted& counted, const IocState& state) {
  if (!state.left_alone.empty()) return state.left_alone;
  for (const PlacedRow& row : counted.rows)
    if (!row.row->off.empty()) return row.row->off;
  return "";
}

unsigned attach_of(const Unit& unit, const Policy& policy,
                   const std::map<iocs::IocId, IocState>& states, const CountedBy& now) {
  UnitState all;
  unsigned current = 0;
  for (const One* one : unit) {
    const auto& [member, counted] = *one;
    if (const auto by = now.find(member); by != now.end()) current = std::max(current, by->second);
    ++(counted.off.empty() ? all.active : all.off);
    if (counted.off.empty() &&
        std::ranges::any_of(counted.rows, [](const PlacedRow& row) { return row.row->apart; }))
      ++all.off;
    all.only_in_processes |= std::ranges::any_of(
        counted.rows, [](const PlacedRow& row) { return row.row->only_in_process; });
    const auto state = states.find(member.ioc);
    all.one_without_main_thread |=
        counted.off.empty() && state != states.end() && state->second.main_thread_ended;
  }
  return one_or_all(policy, current, all);
}

std::set<Key> keys_of(const One& one, unsigned by) {
  std::set<Key> keys;
  for (const PlacedRow& row : one.second.rows)
    keys.insert(key_by(by, {row.row->program, row.place, {}}, one.first.ioc));
  return keys;
}

// Why there can be no attachment for all now; "": nothing is known, or it counts already.
std::string why_not_for_all(const Unit& unit, const CountedBy& now,
                            const std::map<Key, std::string>& failed) {
  std::string why;
  for (const One* one : unit) {
    if (const auto by = now.find(one->first); by != now.end() && by->second == IOCX_ATTACH_ALL)
      return "";
    for (const Key& key : keys_of(*one, IOCX_ATTACH_ALL))
      if (const auto known = failed.find(key); known != failed.end()) why = known->second;
  }
  return why;
}

// Those that have theirs come first.
void leave_out_most(const Unit& unit, const Policy& policy, const std::set<Key>& there,
                    const std::string& why) {
  std::size_t room = policy.most_in_processes;
  for (const bool attached : {true, false})
    for (One* const one : unit) {
      Plan::Counted& counted = one->second;
      const bool is_there =
          std::ranges::any_of(counted.keys, [&](const Key& key) { return there.contains(key); });
      if (!counted.off.empty() || is_there != attached) continue;
      if (room > 0)
        --room;
      else
        counted.off = why;
    }
}

}  // namespace

Key key_by(unsigned attach, Key key, const iocs::IocId& ioc) {
  key.process = attach == IOCX_ATTACH_ALL ? kAll : ioc;
  return key;
}

Plan make_plan(const std::vector<PlacedRow>& rows, const Policy& policy,
               const std::map<iocs::IocId, IocState>& states, const CountedBy& now,
               const std::set<Key>& there, const std::map<Key, std::string>& failed) {
  Plan plan;
  for (const PlacedRow& row : rows) {
    Member member{row.row->ioc};
    if (!policy.whole_iocs) member.place = row.place;
    plan.members[member].rows.push_back(row);
  }
  for (auto& [member, counted] : plan.members) {
    const auto state = states.find(member.ioc);
    counted.off = why_off(counted, state == states.end() ? IocState{} : state->second);
  }
  std::size_t number = 0;
  for (const Unit& unit : units_of(plan.members, policy)) {
    unsigned by = attach_of(unit, policy, states, now);
    std::string why;
    if (by == IOCX_ATTACH_ALL) why = why_not_for_all(unit, now, failed);
    if (!why.empty()) by = IOCX_ATTACH_PROCESS;
    for (One* const one : unit) {
      one->second.unit = number;
      one->second.keys = keys_of(*one, by);
    }
    ++number;
    if (!why.empty())
      leave_out_most(unit, policy, there, "off: there can be no attachment for all: " + why);
    else if (by == IOCX_ATTACH_PROCESS && !policy.whole_iocs)
      leave_out_most(unit, policy, there, kNoRoom);
    for (One* const one : unit)
      if (one->second.off.empty()) one->second.by = by;
  }
  for (const auto& [member, counted] : plan.members) {
    if (counted.by == 0) continue;
    for (const PlacedRow& row : counted.rows) {
      Plan::Wanted& wanted =
          plan.keys[key_by(counted.by, {row.row->program, row.place, {}}, member.ioc)];
      if (!wanted.row) wanted.row = row.row;
      if (!wanted.ending) wanted.ending = row.row->ending;
      wanted.is_optional &= row.row->is_optional;
    }
  }
  return plan;
}

}  // namespace ioc_exporter::probes

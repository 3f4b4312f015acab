#include "records/families/plan.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace ioc_exporter::records {
namespace {

// Places of a record before the database that is shown is made.
constexpr std::uint32_t kItself = UINT32_MAX - 2;
constexpr std::uint32_t kRest = UINT32_MAX - 3;  // the sum of the records that are over the limit
constexpr std::uint32_t kRestOfGroups = UINT32_MAX - 4;

std::optional<std::string> group_of(const std::string& name,
                                    const std::vector<exposition::RecordGroup>& groups) {
  for (const exposition::RecordGroup& group : groups)
    if (auto made = group.match.rewritten(name, group.group)) return made;
  return std::nullopt;
}

// Names that had series of their own, records and groups.
struct Names {
  std::unordered_set<std::string_view> records, groups;
};

Names own_names(const RecordPlan* before) {
  Names names;
  if (before == nullptr) return names;
  const Database& database = before->shown ? *before->shown : *before->original;
  for (const RecordIdentity& record : database.records) {
    if (record.name == exposition::kOther) continue;
    (record.group ? names.groups : names.records).insert(record.name);
  }
  return names;
}

// Gives each record a place; the numbers of groups are those in `groups`.
class Places {
 public:
  Places(const Database& database, const exposition::BoundsOptions& options, std::size_t room,
         const RecordPlan* before)
      : before_(own_names(before)), room_(room) {
    of_record.reserve(database.records.size());
    for (const RecordIdentity& record : database.records)
      of_record.push_back(first_place(record.name, options));
    for (std::size_t i = 0; i < of_record.size(); ++i)
      if (of_record[i] == kRest && own < room_ && database.records[i].name != exposition::kOther) {
        of_record[i] = kItself;
        ++own;
      }
  }

  std::vector<std::uint32_t> of_record;
  std::vector<std::string> groups;
  std::size_t own = 0;

 private:
  std::uint32_t first_place(const std::string& name, const exposition::BoundsOptions& options) {
    if (!options.records.wants(name)) return RecordPlan::kLeftOut;
    if (auto group = group_of(name, options.groups)) return place_of_group(std::move(*group));
    if (!before_.records.contains(name)) return kRest;  // after those that were there
    ++own;
    return kItself;
  }

  std::uint32_t place_of_group(std::string group) {
    if (const auto found = numbers_.find(group); found != numbers_.end()) return found->second;
    if (group == exposition::kOther || (own >= room_ && !before_.groups.contains(group)))
      return kRestOfGroups;
    ++own;
    const auto number = static_cast<std::uint32_t>(groups.size());
    groups.push_back(group);
    numbers_.emplace(std::move(group), number);
    return number;
  }

  Names before_;
  std::size_t room_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

RecordIdentity shared_identity(std::string name, bool group) {
  RecordIdentity identity;
  identity.name = std::move(name);
  identity.type = UINT32_MAX;  // several, or one of several
  identity.group = group;
  return identity;
}

void count_types(const Database& original, Database& shown) {
  shown.types = original.types;
  shown.type_totals.resize(original.types.size());
  for (const RecordIdentity& record : original.records)
    if (record.type < shown.type_totals.size()) ++shown.type_totals[record.type];
}

void make_shown(const Places& places, RecordPlan& plan) {
  auto shown = std::make_shared<Database>();
  count_types(*plan.original, *shown);
  plan.places.resize(places.of_record.size());
  for (std::size_t i = 0; i < plan.places.size(); ++i) {
    plan.places[i] = places.of_record[i];
    if (places.of_record[i] != kItself) continue;
    plan.places[i] = static_cast<std::uint32_t>(shown->records.size());
    shown->records.push_back(plan.original->records[i]);
  }
  plan.first_shared = static_cast<std::uint32_t>(shown->records.size());
  for (const std::string& group : places.groups)
    shown->records.push_back(shared_identity(group, true));
  std::uint32_t rests[2] = {RecordSample::kUnknown, RecordSample::kUnknown};
  const auto rest = [&](bool group) {
    std::uint32_t& place = rests[group ? 1 : 0];
    if (place == RecordSample::kUnknown) {
      place = static_cast<std::uint32_t>(shown->records.size());
      shown->records.push_back(shared_identity(std::string(exposition::kOther), group));
    }
    return place;
  };
  for (std::size_t i = 0; i < plan.places.size(); ++i) {
    const std::uint32_t place = places.of_record[i];
    if (place == kRest || place == kRestOfGroups) {
      plan.places[i] = rest(place == kRestOfGroups);
      ++plan.limited;
    } else if (place < places.groups.size()) {
      plan.places[i] = plan.first_shared + place;
    }
  }
  plan.shown = std::move(shown);
}

}  // namespace

RecordPlan make_record_plan(std::shared_ptr<const Database> database,
                            const exposition::BoundsOptions& options, std::size_t room,
                            const RecordPlan* before) {
  RecordPlan plan;
  plan.original = std::move(database);
  const std::size_t records = plan.original->records.size();
  plan.own = records;
  if (options.records.wants_all() && options.groups.empty() && records <= room) return plan;
  const Places places(*plan.original, options, room, before);
  plan.own = places.own;
  if (std::ranges::all_of(places.of_record, [](std::uint32_t place) { return place == kItself; }))
    return plan;
  make_shown(places, plan);
  return plan;
}

}  // namespace ioc_exporter::records

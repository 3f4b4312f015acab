#include "records/families/bounds.h"

#include <algorithm>

#include "records/families/record_families.h"

namespace ioc_exporter::records {

namespace {

// Places of a record before the database that is shown is made.
constexpr std::uint32_t kItself = UINT32_MAX - 2;
// Records over the limit, which are summed.
constexpr std::uint32_t kAmongOthers = UINT32_MAX - 3;
constexpr std::uint32_t kAmongOtherGroups = UINT32_MAX - 4;

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
  Places(const Database& database, const exposition::BoundsOptions& options, bool all_by_type,
         std::size_t room, const RecordPlan* before)
      : by_type(all_by_type), before_(own_names(before)), room_(room) {
    of_record.reserve(database.records.size());
    for (const RecordIdentity& record : database.records)
      of_record.push_back(first_place(database, record, options));
    for (std::size_t i = 0; i < of_record.size(); ++i)
      if (of_record[i] == kAmongOthers && own < room_ &&
          database.records[i].name != exposition::kOther) {
        of_record[i] = kItself;
        ++own;
      }
  }

  bool by_type;
  std::vector<std::uint32_t> of_record;
  std::vector<std::string> groups;
  std::size_t own = 0;

 private:
  std::uint32_t first_place(const Database& database, const RecordIdentity& record,
                            const exposition::BoundsOptions& options) {
    const std::string& name = record.name;
    if (!options.records.wants(name)) return RecordPlan::kLeftOut;
    if (by_type)
      return place_of_group(record.type < database.types.size() ? database.types[record.type] : "");
    if (auto group = group_of(name, options.groups)) return place_of_group(std::move(*group));
    if (!before_.records.contains(name)) return kAmongOthers;  // after those that were there
    ++own;
    return kItself;
  }

  std::uint32_t place_of_group(std::string group) {
    if (const auto found = numbers_.find(group); found != numbers_.end()) return found->second;
    if (group == exposition::kOther || (own >= room_ && !before_.groups.contains(group)))
      return kAmongOtherGroups;
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

RecordIdentity shared_identity(std::string name, bool group, bool all_of_type) {
  RecordIdentity identity;
  identity.name = std::move(name);
  identity.type = UINT32_MAX;  // several, or one of several
  identity.group = group;
  identity.all_of_type = all_of_type;
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
    shown->records.push_back(shared_identity(group, true, places.by_type));
  std::uint32_t others[2] = {RecordSample::kUnknown, RecordSample::kUnknown};
  const auto other = [&](bool group) {
    std::uint32_t& place = others[group ? 1 : 0];
    if (place == RecordSample::kUnknown) {
      place = static_cast<std::uint32_t>(shown->records.size());
      shown->records.push_back(
          shared_identity(std::string(exposition::kOther), group, places.by_type));
    }
    return place;
  };
  for (std::size_t i = 0; i < plan.places.size(); ++i) {
    const std::uint32_t place = places.of_record[i];
    if (place == kAmongOthers || place == kAmongOtherGroups) {
      plan.places[i] = other(place == kAmongOtherGroups);
      ++plan.limited;
    } else if (place < places.groups.size()) {
      plan.places[i] = plan.first_shared + place;
    }
  }
  plan.shown = std::move(shown);
}

// `room`: series that the IOC may have in all. Records and groups that `before` (may be null) shows
// by their names keep that, whatever the room.
RecordPlan make_record_plan(std::shared_ptr<const Database> database,
                            const exposition::BoundsOptions& options, bool by_type,
                            std::size_t room, const RecordPlan* before) {
  RecordPlan plan;
  plan.original = std::move(database);
  const std::size_t records = plan.original->records.size();
  plan.own = records;
  if (!by_type && options.records.wants_all() && options.groups.empty() && records <= room)
    return plan;
  const Places places(*plan.original, options, by_type, room, before);
  plan.own = places.own;
  if (std::ranges::all_of(places.of_record, [](std::uint32_t place) { return place == kItself; }))
    return plan;
  make_shown(places, plan);
  return plan;
}

void subtract(RecordSample& sum, const RecordSample& less) {
  for_each_counter(sum, less, [](std::uint64_t& to, std::uint64_t from) { to -= from; });
}

// Sums of records that share a place, by that place less the first shared one.
std::vector<RecordSample> sums_of(const RecordPlan& plan,
                                  const std::vector<RecordSample>& records) {
  if (!plan.shown) return {};
  std::vector<RecordSample> sums(plan.shown->records.size() - plan.first_shared);
  for (const RecordSample& sample : records) {
    const std::uint32_t place = plan.place_of(sample.record);
    if (place >= plan.first_shared && place < plan.shown->records.size())
      add_counts(sums[place - plan.first_shared], sample);
  }
  return sums;
}

// Gives the samples' records their new places; those that are not shown go.
template <class Sample>
void move_places(const RecordPlan& plan, std::vector<Sample>& samples) {
  for (Sample& sample : samples) sample.record = plan.place_of(sample.record);
  std::erase_if(samples,
                [](const Sample& sample) { return sample.record == RecordPlan::kLeftOut; });
}

}  // namespace

void RecordBounds::configure(const exposition::BoundsOptions& options) {
  options_ = options;
  ++configured_;
}

std::size_t RecordBounds::room_for(const Ioc& ioc) const {
  const std::size_t others = own_ - ioc.plan.own;
  const std::size_t left =
      options_.limits.records.series > others ? options_.limits.records.series - others : 0;
  return std::min(left, options_.limits.records.per_ioc);
}

bool RecordBounds::must_plan(const Ioc& ioc, const IocSample& sample) const {
  return ioc.plan.original != sample.database || ioc.configured != configured_ ||
         (room_was_freed_ && ioc.plan.limited > 0);
}

// A sum continues from what it has shown, whatever its members are now.
void RecordBounds::keep_sums(Ioc& ioc, const RecordPlan& before,
                             const std::vector<RecordSample>& records) {
  if (before.original != ioc.plan.original) return;
  const auto old_sums = sums_of(before, records), new_sums = sums_of(ioc.plan, records);
  for (std::size_t i = 0; i < old_sums.size(); ++i) {
    const RecordIdentity& shared = before.shown->records[before.first_shared + i];
    add_counts(ioc.sums[{shared.name, shared.group}].kept, old_sums[i]);
  }
  for (std::size_t i = 0; i < new_sums.size(); ++i) {
    const RecordIdentity& shared = ioc.plan.shown->records[ioc.plan.first_shared + i];
    Sums& sums = ioc.sums[{shared.name, shared.group}];
    if (sums.was_shown) subtract(sums.kept, new_sums[i]);
  }
}

void RecordBounds::plan(Ioc& ioc, const IocSample& sample) {
  const bool same = ioc.plan.original && ioc.pid == sample.pid &&
                    ioc.start_time_seconds == sample.start_time_seconds;
  if (!same) ioc.sums.clear();
  RecordPlan before = std::move(ioc.plan);
  ioc.plan = {};
  ioc.plan.own = before.own;  // the room that it has is its own
  ioc.plan = make_record_plan(sample.database, options_, by_type_, room_for(ioc),
                              same ? &before : nullptr);
  own_ = own_ - before.own + ioc.plan.own;
  ioc.pid = sample.pid;
  ioc.start_time_seconds = sample.start_time_seconds;
  ioc.configured = configured_;
  if (same) keep_sums(ioc, before, sample.records);
}

void RecordBounds::show_records(Ioc& ioc, std::vector<RecordSample>& records) {
  const RecordPlan& plan = ioc.plan;
  std::vector<RecordSample> sums = sums_of(plan, records);
  for (RecordSample& sample : records) sample.record = plan.place_of(sample.record);
  std::erase_if(records, [&plan](const RecordSample& sample) {
    return sample.record >= plan.first_shared && sample.record != RecordSample::kUnknown;
  });
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const auto place = static_cast<std::uint32_t>(plan.first_shared + i);
    const RecordIdentity& shared = plan.shown->records[place];
    Sums& known = ioc.sums[{shared.name, shared.group}];
    add_counts(sums[i], known.kept);
    // A record that could not be read for once must not make a counter shrink.
    for_each_counter(known.shown, sums[i],
                     [](std::uint64_t& shown, std::uint64_t now) { shown = std::max(shown, now); });
    known.was_shown = true;
    known.shown.record = place;
    records.push_back(known.shown);
  }
}

void RecordBounds::show(Ioc& ioc, IocSample& sample) {
  const RecordPlan& plan = ioc.plan;
  if (!plan.shown) return;
  show_records(ioc, sample.records);
  move_places(plan, sample.completions);
  move_places(plan, sample.record_causes);
  sample.database = plan.shown;
}

void RecordBounds::apply(std::vector<IocSample>& iocs) {
  const std::size_t before = own_;
  for (auto& [name, ioc] : iocs_) ioc.there = false;
  for (IocSample& sample : iocs) {
    const auto known = iocs_.find(sample.name);
    if (!sample.database) {
      if (known != iocs_.end()) known->second.there = true;
      continue;
    }
    Ioc& ioc = known != iocs_.end() ? known->second : iocs_[sample.name];
    ioc.there = true;
    if (must_plan(ioc, sample)) plan(ioc, sample);
    show(ioc, sample);
  }
  std::erase_if(iocs_, [this](const auto& entry) {
    if (entry.second.there) return false;
    own_ -= entry.second.plan.own;
    return true;
  });
  room_was_freed_ = own_ < before;
}

std::size_t RecordBounds::limited() const {
  std::size_t all = 0;
  for (const auto& [name, ioc] : iocs_) all += ioc.plan.limited;
  return all;
}

}  // namespace ioc_exporter::records

#include "iocs/memory/database_reader.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "iocs/memory/database_walk.h"

namespace ioc_exporter::iocs {
namespace {

constexpr std::int32_t kMostRecordTypes = 10'000;
constexpr std::size_t kLinksChecked = 16;
constexpr std::size_t kMostRecords = 2'000'000;  // no IOC comes near; a hostile process may

// The database at one address, a struct dbBase in the IOC.
class Reader {
 public:
  explicit Reader(Memory& memory) : memory_(memory) {}

  Result<DatabaseReading> run(std::uint64_t dbbase) {
    const auto root = memory_.value<layout::DbBase>(dbbase);
    if (!root) return root.error();
    auto done = read_types(root->record_type_list);
    if (!done) return std::move(done).error();
    if (!fields_) return DatabaseReading{};  // nothing registered yet

    auto database = std::make_shared<Database>();
    database->scan_periods = read_scan_periods(memory_, root->menu_list);
    std::vector<AliasNode> aliases;
    for (const RecordType& type : types_) {
      const auto index = static_cast<std::uint32_t>(database->types.size());
      database->types.push_back(type.name);
      auto links = read_link_fields(memory_, type);
      if (!links) return std::move(links).error();
      database->link_fields.push_back(std::move(*links));
      auto delays = read_delay_fields(memory_, type);
      if (!delays) return std::move(delays).error();
      database->delay_fields.push_back(std::move(*delays));
      if (type.raw.rec_list.first != 0 && !lists_.insert(type.raw.rec_list.first).second)
        return error_in_words("record list of type " + type.name + ": it is another type's");
      done = read_records(memory_, type, index, database->records, aliases);
      if (!done) return std::move(done).error();
      if (database->records.size() + aliases.size() > kMostRecords)
        return error_in_words("more than " + std::to_string(kMostRecords) + " records and aliases");
    }
    done = read_record_names(memory_, database->types, database->records);
    if (!done) return std::move(done).error();
    auto named = read_alias_names(memory_, std::move(aliases), database->records);
    if (!named) return std::move(named).error();
    database->aliases = std::move(*named);
    auto initialized = all_initialized(database->records);
    if (!initialized) return std::move(initialized).error();
    if (*initialized) {
      auto known = links_know_their_record(database->records);
      if (!known) return std::move(known).error();
      if (*known) fields_->offsets.sdis = fields_->sdis;
    }
    return DatabaseReading{std::move(database), fields_->offsets, *initialized};
  }

 private:
  // All types, and from the first that has registered the offsets of the common fields.
  Result<void> read_types(const layout::EllList& list) {
    return walk_list(memory_, list, kMostRecordTypes, "list of record types",
                     [&](std::uint64_t address) -> Result<void> {
                       auto type = read_record_type(memory_, address);
                       if (!type) return std::move(type).error();
                       types_.push_back(std::move(*type));
                       if (fields_) return {};
                       auto fields = read_common_fields(memory_, types_.back());
                       if (!fields) return std::move(fields).error();
                       fields_ = *fields;
                       return {};
                     });
  }

  // Whether iocInit has come by: it gives each record its type's support (doInitRecord0 in
  // iocInit.c). It passes over the records of a type that has none.
  Result<bool> all_initialized(const std::vector<RecordIdentity>& records) {
    for (const RecordIdentity& record : records) {
      if (types_[record.type].raw.prset == 0) continue;
      auto support = memory_.value<std::uint64_t>(record.address + fields_->rset);
      if (!support) return std::move(support).error();
      if (*support == 0) return false;
    }
    return !records.empty();
  }

  // Whether the link SDIS starts with its record's address, as dbInitRecordLinks sets it
  // (dbLink.c), in a handful of records from all over the database.
  Result<bool> links_know_their_record(const std::vector<RecordIdentity>& records) {
    const std::size_t step = records.size() / kLinksChecked + 1;
    for (std::size_t i = 0; i < records.size(); i += step) {
      if (types_[records[i].type].raw.prset == 0) continue;
      auto owner = memory_.value<std::uint64_t>(records[i].address + fields_->sdis);
      if (!owner) return std::move(owner).error();
      if (*owner != records[i].address) return false;
    }
    return true;
  }

  Memory& memory_;
  std::set<std::uint64_t> lists_;  // first nodes of the record lists that were read
  std::vector<RecordType> types_;
  std::optional<CommonFields> fields_;
};

}  // namespace

Result<DatabaseReading> read_database(Memory& memory, std::span<const std::uint64_t> pdbbase,
                                      std::string_view subject) {
  const std::string what = "read the database of " + std::string(subject);
  if (pdbbase.empty()) return error_in_words(what + ": no symbol pdbbase was found");
  std::optional<Error> failed;
  for (const std::uint64_t variable : pdbbase) {
    CachedMemory cache(memory);
    const auto base = cache.value<std::uint64_t>(variable);
    Result<DatabaseReading> reading = DatabaseReading{};
    if (!base)
      reading = base.error();
    else if (*base % alignof(void*) != 0)
      reading = error_in_words("pdbbase is " + hex_address(*base) + ", no pointer");
    else if (*base != 0)
      reading = Reader(cache).run(*base);
    if (reading && reading->ready()) return reading;
    if (!reading && !failed) failed = error_in_words(what + ": " + reading.error().message());
  }
  if (failed) return std::move(*failed);
  return DatabaseReading{};
}

namespace {

constexpr std::int32_t kMostMenus = 10'000;
constexpr std::int32_t kFirstPeriodic = 3;  // SCAN_1ST_PERIODIC: after Passive, Event, I/O Intr
constexpr std::size_t kLongestChoice = 64;

// Seconds in one of a choice's units; the number before "Hz" is divided by instead.
struct Unit {
  std::string_view name;
  double seconds;
};
constexpr std::array<Unit, 7> kUnits = {{{"", 1},
                                         {"second", 1},
                                         {"seconds", 1},
                                         {"minute", 60},
                                         {"minutes", 60},
                                         {"hour", 3600},
                                         {"hours", 3600}}};

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

std::vector<std::string> periods_of(Memory& memory, const layout::DbMenu& menu) {
  std::vector<std::string> periods;
  const auto periodic = static_cast<std::size_t>(std::max(menu.choices - kFirstPeriodic, 0));
  for (std::size_t i = 0; i < std::min(periodic, kMostScanPeriods); ++i) {
    const auto choice = memory.value<std::uint64_t>(menu.values + 8 * (kFirstPeriodic + i));
    if (!choice) break;
    const auto text = read_name(memory, *choice, kLongestChoice, "choice of menuScan");
    if (text) periods.push_back(scan_period_text(*text, i));
  }
  return periods;
}

}  // namespace

std::string scan_period_text(std::string_view choice, std::size_t number) {
  const std::string text(choice);
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  while (std::isspace(static_cast<unsigned char>(*end)) != 0) ++end;
  const std::string unit = lower_case(end);
  double seconds = static_cast<double>(number);
  if (end != text.c_str() && value > 0 && std::isfinite(value)) {
    const auto known = std::ranges::find(kUnits, unit, &Unit::name);
    if (known != kUnits.end())
      seconds = value * known->seconds;
    else if (unit == "hz" || unit == "hertz")
      seconds = 1 / value;
  }
  char name[32];
  std::snprintf(name, sizeof name, "%g", seconds);
  return name;
}

std::vector<std::string> read_scan_periods(Memory& memory, const layout::EllList& menus) {
  std::vector<std::string> periods;
  const auto walked = walk_list(
      memory, menus, kMostMenus, "list of menus", [&](std::uint64_t address) -> Result<void> {
        const auto menu = memory.value<layout::DbMenu>(address);
        if (!menu) return menu.error();
        const auto name = read_name(memory, menu->name, kLongestChoice, "name of a menu");
        if (name && *name == "menuScan") periods = periods_of(memory, *menu);
        return {};
      });
  return walked ? std::move(periods) : std::vector<std::string>();
}

}  // namespace ioc_exporter::iocs

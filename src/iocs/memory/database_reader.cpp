#include "iocs/memory/database_reader.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "iocs/memory/cached_memory.h"
#include "iocs/memory/database_walk.h"
#include "iocs/memory/scan_menu.h"

namespace ioc_exporter::iocs {
namespace {

constexpr std::int32_t kMostRecordTypes = 10'000;
constexpr std::size_t kLinksLookedAt = 16;
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
    const std::size_t step = records.size() / kLinksLookedAt + 1;
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

}  // namespace ioc_exporter::iocs

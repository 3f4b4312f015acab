// Names of PVs and of records.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "iocs/samples.h"

namespace ioc_exporter::iocs {

// The name of a PV, taken apart as the IOC does it: record, field, modifiers.
struct PvName {
  std::string_view record;  // a record's name or an alias: what stands before the first '.'
  std::string_view field;   // "VAL" where none is given
  std::string_view suffix;  // behind the field: modifiers, or what no IOC takes
  // Whether the channel takes and gives its characters as one text.
  bool is_long_string() const { return suffix.starts_with('$'); }
  // Whether an IOC takes what follows the field.
  bool is_valid() const {
    return suffix.empty() ||
           std::string_view("${[ ").find(suffix.front()) != std::string_view::npos;
  }
};

// REC, REC.VAL, REC.VAL$ (long string), REC.{...} and REC.VAL{...} (channel filter), REC.VAL[1:3]
// (part of an array). Source: dbFindRecordPart() and dbFindFieldPart() in dbStaticLib.c and
// dbChannelCreate() in dbChannel.c, the same from Base 3.14.12 to 7.0.10 but for the modifiers,
// which came with 3.14.11 ('$') and 3.15 (filters). Points into `pv`, or to a constant.
PvName parse_pv_name(std::string_view pv);

// RecordNames: finds the records of a database by name or alias.
class RecordNames {
 public:
  // Sorts the names once: 4 bytes a record. `database` may not be null.
  explicit RecordNames(std::shared_ptr<const Database> database);

  // `name` as it was on the wire; null when the IOC has no such record. Points into the database.
  const RecordIdentity* find(std::string_view name) const;

  const std::shared_ptr<const Database>& database() const { return database_; }

 private:
  std::shared_ptr<const Database> database_;
  std::vector<std::uint32_t> by_name_;  // indices into its records
};

}  // namespace ioc_exporter::iocs

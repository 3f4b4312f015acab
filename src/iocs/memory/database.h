// Database: the records of one IOC, by their addresses in its memory. Plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ioc_exporter {

struct RecordIdentity {
  std::uint64_t address = 0;  // struct dbCommon *, in the IOC
  std::string name;
  std::uint32_t type = 0;  // index into Database::types
  bool group =
      false;  // no record, but several that are shown as one; see records/families/bounds.h
};

struct RecordAlias {
  std::string name;
  std::uint32_t record = 0;  // index into Database::records
};

struct Database {
  std::vector<std::string> types;
  std::vector<RecordIdentity> records;
  std::vector<RecordAlias> aliases = {};
  // Of the IOC's periodic scans, "0.1", from its menuScan; empty: not known.
  std::vector<std::string> scan_periods = {};
  // Records of each type, where `records` are not all of them, or groups; else empty.
  std::vector<std::uint64_t> type_totals = {};
};

}  // namespace ioc_exporter

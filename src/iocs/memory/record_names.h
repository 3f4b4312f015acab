// RecordNames: finds the records of a database by name or alias.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "iocs/samples.h"

namespace ioc_exporter::iocs {

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

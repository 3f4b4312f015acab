#include "iocs/memory/record_names.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "base/utf8.h"

namespace ioc_exporter::iocs {

RecordNames::RecordNames(std::shared_ptr<const Database> database)
    : database_(std::move(database)), by_name_(database_->records.size()) {
  std::iota(by_name_.begin(), by_name_.end(), 0u);
  std::ranges::sort(by_name_, {}, [this](std::uint32_t index) -> const std::string& {
    return database_->records[index].name;
  });
}

const RecordIdentity* RecordNames::find(std::string_view wire_name) const {
  // The database's names went through the same when they were read.
  const std::string name = printable_utf8(wire_name, wire_name.size());
  const auto name_of = [this](std::uint32_t index) -> std::string_view {
    return database_->records[index].name;
  };
  const auto record = std::ranges::lower_bound(by_name_, std::string_view(name), {}, name_of);
  if (record != by_name_.end() && name_of(*record) == name) return &database_->records[*record];
  const auto& aliases = database_->aliases;
  const auto alias = std::ranges::lower_bound(aliases, name, {}, &RecordAlias::name);
  if (alias != aliases.end() && alias->name == name) return &database_->records[alias->record];
  return nullptr;
}

}  // namespace ioc_exporter::iocs

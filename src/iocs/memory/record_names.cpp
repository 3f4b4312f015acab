#include "iocs/memory/record_names.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/utf8.h"

namespace ioc_exporter::iocs {
namespace {

bool is_field_character(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace

PvName parse_pv_name(std::string_view pv) {
  const std::size_t dot = std::min(pv.find('.'), pv.size());
  std::string_view field = pv.substr(std::min(dot + 1, pv.size()));
  const auto end = std::find_if_not(field.begin(), field.end(), is_field_character);
  const auto length = static_cast<std::size_t>(end - field.begin());
  const std::string_view suffix = field.substr(length);
  field = field.substr(0, length);
  return {pv.substr(0, dot), field.empty() ? "VAL" : field, suffix};
}

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

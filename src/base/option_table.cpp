#include "base/option_table.h"

#include <algorithm>
#include <cassert>

#include "base/yaml_reader.h"

namespace ioc_exporter {
namespace {

Result<void> set(const OptionRow& row, const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i)
    if (auto good = row.value.set(words[i], i == 0); !good)
      return error_in_words("--" + row.flag + ": " + good.error().message());
  return {};
}

}  // namespace

std::string OptionRow::help_text() const {
  return has_no() ? help + "; off: --no-" + flag : help;
}

OptionTable::OptionTable(const std::vector<std::string>& titles) {
  for (const std::string& title : titles) groups_.push_back({title, {}});
}

void OptionTable::add(const std::string& title, std::vector<OptionRow> rows) {
  const auto group = std::ranges::find(groups_, title, &OptionGroup::title);
  assert(group != groups_.end());
  for (OptionRow& row : rows) group->rows.push_back(std::move(row));
}

void OptionTable::set_from_file(const std::string& section, Reader& reader) const {
  for (const OptionGroup& group : groups_)
    for (const OptionRow& row : group.rows) {
      if (!row.key.starts_with(section + ".")) continue;
      const std::string key = row.key.substr(section.size() + 1);
      std::vector<std::string> words;
      if (row.value.takes == OptionValue::Takes::several)
        words = reader.texts(key);
      else if (auto word = reader.text(key, row.value.expected))
        words.push_back(std::move(*word));
      for (std::size_t i = 0; i < words.size(); ++i)
        if (auto good = row.value.set(words[i], i == 0); !good)
          reader.complain(key, i, good.error().message());
    }
}

Result<void> OptionTable::set_from_flags(const FlagWords& flags) const {
  for (const OptionGroup& group : groups_)
    for (const OptionRow& row : group.rows) {
      const auto said = flags.find(row.flag);
      if (said != flags.end())
        if (auto good = set(row, said->second); !good) return good;
      if (said == flags.end() && flags.contains(row.taken_back_by))
        if (auto good = set(row, {""}); !good) return good;
    }
  return {};
}

}  // namespace ioc_exporter

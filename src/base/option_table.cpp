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

// `said`: keys that were set already.
Result<void> OptionTable::set_key(const std::string& word, std::set<std::string>& said) const {
  const std::size_t equals = word.find('=');
  const std::string key = word.substr(0, equals);
  if (equals == std::string::npos)
    return error_in_words("--set: " + shown(word) + " is not KEY=VALUE");
  for (const OptionGroup& group : groups_)
    for (const OptionRow& row : group.rows) {
      if (row.key.empty() || row.key != key) continue;
      const bool first = said.insert(key).second;
      auto good = row.value.set(word.substr(equals + 1), first);
      return good ? Result<void>() : error_in_words("--set=" + key + ": " + good.error().message());
    }
  return error_in_words("--set: the file has no key " + shown(key));
}

Result<void> OptionTable::set_from_flags(const FlagWords& flags) const {
  std::set<std::string> said_keys;
  if (const auto keys = flags.find("set"); keys != flags.end())
    for (const std::string& word : keys->second)
      if (auto good = set_key(word, said_keys); !good) return good;
  for (const OptionGroup& group : groups_)
    for (const OptionRow& row : group.rows) {
      if (row.flag.empty()) continue;
      const auto said = flags.find(row.flag);
      if (said != flags.end())
        if (auto good = set(row, said->second); !good) return good;
      if (said == flags.end() && flags.contains(row.taken_back_by))
        if (auto good = set(row, {""}); !good) return good;
    }
  return {};
}

}  // namespace ioc_exporter

#include "base/option_table.h"

#include <algorithm>
#include <cassert>
#include <sstream>

#include <absl/strings/str_join.h>

#include "base/time_text.h"
#include "base/yaml_reader.h"

namespace ioc_exporter {
namespace {

using std::chrono::milliseconds;

constexpr const char* kDuration = "a duration such as 90s";

Result<void> set(const OptionRow& row, const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i)
    if (auto good = row.value.set(words[i], i == 0); !good)
      return error_in_words("--" + row.flag + ": " + good.error().message());
  return {};
}

std::string gone_text(const GoneOption& option) {
  const std::string names(option.names), instead(option.instead);
  return names.substr(0, names.find_first_of("= ")) + " has no effect any more" +
         (instead.empty() ? "" : ": " + instead);
}

}  // namespace

OptionValue on_off(bool& into) {
  return {.takes = OptionValue::Takes::nothing,
          .default_text = into ? "on" : "",
          .expected = "true or false",
          .set = [&into](const std::string& word, bool) -> Result<void> {
            if (word != "true" && word != "false")
              return error_in_words(shown(word) + " is neither true nor false");
            into = word == "true";
            return {};
          }};
}

OptionValue number(double& into, double least, double most) {
  std::ostringstream text;
  text << into;
  return {.default_text = text.str(),
          .expected = "a number",
          .set = setter(into, [least, most](const std::string& word) {
            return parse_number(word, least, most);
          })};
}

OptionValue bytes(std::uint64_t& into) {
  return {.default_text = bytes_text(into),
          .expected = "a size such as 512MiB",
          .set = setter(into, parse_bytes)};
}

OptionValue duration(milliseconds& into, milliseconds least) {
  return {.default_text = duration_text(into),
          .expected = kDuration,
          .set = setter(into, [least](const std::string& word) -> Result<milliseconds> {
            auto duration = parse_duration(word);
            if (duration && *duration < least)
              return error_in_words("must be at least " + duration_text(least));
            return duration;
          })};
}

OptionValue duration(std::optional<milliseconds>& into) {
  return {.expected = kDuration, .set = setter(into, parse_duration)};
}

OptionValue text(std::string& into, TextCheck check) {
  return {.default_text = into,
          .set = [&into, check = std::move(check)](const std::string& word, bool) -> Result<void> {
            if (check)
              if (auto good = check(word); !good) return good;
            into = word;
            return {};
          }};
}

OptionValue texts(std::vector<std::string>& into, TextCheck check) {
  return {.takes = OptionValue::Takes::several,
          .default_text = absl::StrJoin(into, ","),
          .set = [&into, check = std::move(check)](const std::string& word,
                                                   bool first) -> Result<void> {
            if (check)
              if (auto good = check(word); !good) return good;
            if (first) into.clear();
            into.push_back(word);
            return {};
          }};
}

OptionValue pattern(std::optional<Pattern>& into) {
  return {.expected = "a regular expression",
          .set = [&into](const std::string& word, bool first) -> Result<void> {
            into.reset();
            const auto compile = [](const std::string& text) { return Pattern::compile(text); };
            return word.empty() ? Result<void>() : setter(into, compile)(word, first);
          }};
}

Error none_of(const std::string& word, const std::vector<std::string>& choices) {
  return error_in_words(shown(word) + " is none of " + absl::StrJoin(choices, ", "));
}

OptionRow::OptionRow(const std::string& names, std::string text, OptionValue of,
                     std::string other_flag)
    : help(std::move(text)), value(std::move(of)), taken_back_by(std::move(other_flag)) {
  std::istringstream words(names);
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    if (equals != std::string::npos) argument = word.substr(equals + 1);
    const std::string name = word.substr(0, equals);
    if (name.starts_with("--"))
      flag = name.substr(2);
    else if (name.starts_with('-'))
      letter = name.substr(1);
    else
      key = name;
  }
}

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

void OptionTable::add_gone(const std::vector<GoneOption>& gone,
                           std::vector<std::string>& reported) {
  for (const GoneOption& option : gone) {
    const auto report = [&reported, text = gone_text(option)](const std::string&, bool) {
      if (std::ranges::find(reported, text) == reported.end()) reported.push_back(text);
      return Result<void>();
    };
    OptionRow row(option.names, "", {.default_text = "on", .set = report});
    row.value.takes =
        row.argument.empty() ? OptionValue::Takes::nothing : OptionValue::Takes::several;
    gone_.push_back(std::move(row));
  }
}

std::vector<const OptionRow*> OptionTable::rows() const {
  std::vector<const OptionRow*> all;
  for (const OptionGroup& group : groups_)
    for (const OptionRow& row : group.rows) all.push_back(&row);
  for (const OptionRow& row : gone_) all.push_back(&row);
  return all;
}

void OptionTable::set_from_file(const std::string& section, Reader& reader) const {
  // Of the section's row: "" = it is another's.
  const auto key_of = [&section](const OptionRow& row) {
    const std::size_t dot = row.key.find('.');
    const bool has_section = dot != std::string::npos;
    if (row.key.substr(0, has_section ? dot : 0) != section) return std::string();
    return row.key.substr(has_section ? dot + 1 : 0);
  };
  for (const OptionGroup& group : groups_)
    for (const OptionRow& row : group.rows)
      if (const std::string key = key_of(row); !key.empty()) reader.set(key, row.value);
  for (const OptionRow& row : gone_)
    if (const std::string key = key_of(row); !key.empty() && reader.has(key))
      (void)row.value.set("", true);
}

// `said`: keys that were set already.
Result<void> OptionTable::set_key(const std::string& word, std::set<std::string>& said) const {
  const std::size_t equals = word.find('=');
  const std::string key = word.substr(0, equals);
  if (equals == std::string::npos)
    return error_in_words("--set: " + shown(word) + " is not KEY=VALUE");
  for (const OptionRow* const row : rows()) {
    if (row->key.empty() || row->key != key) continue;
    const bool first = said.insert(key).second;
    auto good = row->value.set(word.substr(equals + 1), first);
    return good ? Result<void>() : error_in_words("--set=" + key + ": " + good.error().message());
  }
  return error_in_words("--set: the file has no key " + shown(key));
}

Result<void> OptionTable::set_from_flags(const FlagWords& flags) const {
  std::set<std::string> said_keys;
  if (const auto keys = flags.find("set"); keys != flags.end())
    for (const std::string& word : keys->second)
      if (auto good = set_key(word, said_keys); !good) return good;
  for (const OptionRow* const row : rows()) {
    if (row->flag.empty()) continue;
    const auto said = flags.find(row->flag);
    if (said != flags.end())
      if (auto good = set(*row, said->second); !good) return good;
    if (said == flags.end() && flags.contains(row->taken_back_by))
      if (auto good = set(*row, {""}); !good) return good;
  }
  return {};
}

}  // namespace ioc_exporter

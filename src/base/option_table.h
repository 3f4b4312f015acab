// OptionTable: all that an operator may set, a row each. --help, docs/config.example.yml
// and the reading of flags and file are made from these rows alone.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/pattern.h"
#include "base/result.h"
#include "base/value_text.h"

namespace ioc_exporter {

// OptionValue: an option's possible values, its default, and its destination.
//
// Each function below makes one for a member of a plain struct. The member's initial value is the
// default. The member must outlive the OptionValue.
struct OptionValue {
  // several: words with commas between them; lines: whole words, one each time that it is given.
  enum class Takes { nothing, one, several, lines };

  Takes takes = Takes::one;
  std::string default_text = {};          // as an operator would write it; "" = nothing
  std::vector<std::string> choices = {};  // all that it may be, where that is few words
  const char* expected = "a text";
  // Takes one word; of several the first replaces the default. The error says what is wrong with
  // the word. An option that takes nothing is given "true" or "false".
  std::function<Result<void>(const std::string& word, bool first)> set;
};

// OptionValue::set of a value that `parse` makes of a word.
template <class Value, class Parse>
auto setter(Value& into, Parse parse) {
  return [&into, parse](const std::string& word, bool) -> Result<void> {
    auto parsed = parse(word);
    if (!parsed) return std::move(parsed).error();
    into = static_cast<Value>(*std::move(parsed));
    return {};
  };
}

using TextCheck = std::function<Result<void>(const std::string&)>;

// A flag that is on by default is turned off with --no-FLAG.
OptionValue on_off(bool& into);
OptionValue number(double& into, double least, double most);
OptionValue bytes(std::uint64_t& into);
OptionValue duration(std::chrono::milliseconds& into, std::chrono::milliseconds least = {});
OptionValue duration(std::optional<std::chrono::milliseconds>& into);
OptionValue text(std::string& into, TextCheck check = {});
OptionValue texts(std::vector<std::string>& into, TextCheck check = {});
// An empty expression takes back what was there.
OptionValue pattern(std::optional<Pattern>& into);

template <std::unsigned_integral Number>
OptionValue whole_number(Number& into, std::uint64_t least, std::uint64_t most) {
  return {.default_text = std::to_string(into),
          .expected = "a number",
          .set = setter(into, [least, most](const std::string& word) {
            return parse_whole_number(word, least, most);
          })};
}

template <std::unsigned_integral Number>
OptionValue whole_numbers(std::vector<Number>& into, std::uint64_t least) {
  return {.takes = OptionValue::Takes::several,
          .set = [&into, least](const std::string& word, bool first) -> Result<void> {
            auto number = parse_whole_number(word, least, std::numeric_limits<Number>::max());
            if (!number) return number.error();
            if (first) into.clear();
            into.push_back(static_cast<Number>(*number));
            return {};
          }};
}

// "LEVEL is none of a, b, c".
Error none_of(const std::string& word, const std::vector<std::string>& choices);

template <class Value>
OptionValue one_of(Value& into, std::vector<std::pair<std::string, Value>> values) {
  OptionValue option;
  for (const auto& [word, value] : values) {
    option.choices.push_back(word);
    if (value == into) option.default_text = word;
  }
  option.set = [&into, values = std::move(values), choices = option.choices](
                   const std::string& given, bool) -> Result<void> {
    for (const auto& [word, value] : values)
      if (word == given) {
        into = value;
        return {};
      }
    return none_of(given, choices);
  };
  return option;
}

class Reader;

// A row of the table.
struct OptionRow {
  // `names`: the flag with its dashes, the key in the configuration file, or both; with "=N" behind
  // one that takes a value, which --help calls N: "--traces.rate=N traces.rate", "-h --help".
  // `help`: without a full stop at its end. `taken_back_by`: another flag that sets aside what the
  // file says of this one.
  OptionRow(const std::string& names, std::string help, OptionValue value,
            std::string taken_back_by = {});

  std::string flag, key, letter, argument;  // "" = none; of the flag without dashes
  std::string help;
  OptionValue value;
  std::string taken_back_by;

  bool takes_argument() const { return value.takes != OptionValue::Takes::nothing; }
  // An option that is on by default is turned off by the flag `no-` + flag.
  bool has_no() const { return !flag.empty() && !takes_argument() && !value.default_text.empty(); }
  std::string help_text() const;  // the help, with how to turn it off
};

struct OptionGroup {
  std::string title;
  std::vector<OptionRow> rows;
};

// Words of the command line by flag. "set" has words KEY=VALUE, for any key of the file.
using FlagWords = std::map<std::string, std::vector<std::string>>;

// An option that no longer exists. `names`: as of an OptionRow. `instead`: what to use, "" =
// nothing.
struct GoneOption {
  const char* names;
  const char* instead;
};

class OptionTable {
 public:
  // The titles of the groups, in the order of --help.
  explicit OptionTable(const std::vector<std::string>& titles);

  void add(const std::string& title, std::vector<OptionRow> rows);
  const std::vector<OptionGroup>& groups() const { return groups_; }
  // Options of the release before: accepted, in no text, without effect but a line in `reported`.
  void add_gone(const std::vector<GoneOption>& gone, std::vector<std::string>& reported);
  const std::vector<OptionRow>& gone() const { return gone_; }
  std::vector<const OptionRow*> rows() const;  // of all groups, and those that are gone

  // A flag stands above the file, and the file above the default: so first one, then the other.
  //
  // Sets what has a key in this section of the file; in "": one outside of all sections.
  void set_from_file(const std::string& section, Reader& reader) const;
  // The error names the first flag whose value is wrong.
  Result<void> set_from_flags(const FlagWords& flags) const;

 private:
  Result<void> set_key(const std::string& word, std::set<std::string>& said) const;

  std::vector<OptionGroup> groups_;
  std::vector<OptionRow> gone_;
};

}  // namespace ioc_exporter

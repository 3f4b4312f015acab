// OptionTable: all that an operator may set, a row each. --help, the manual, the completion, the
// reference in docs/configuration.md and the reading of flags and file are made from these rows
// alone.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/option_value.h"

namespace ioc_exporter {

class Reader;

struct OptionRow {
  std::string flag = {};      // without dashes: "records.links"; "" = none, only a key
  std::string argument = {};  // how --help calls the value: "N"; "" = it takes none
  std::string key = {};       // in the configuration file: "records.include"; "" = none
  std::string help;           // without a full stop at its end
  OptionValue value;
  std::string letter = {};         // "h" for -h
  std::string taken_back_by = {};  // another flag that sets aside what the file says of this

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

class OptionTable {
 public:
  // The titles of the groups, in the order of --help.
  explicit OptionTable(const std::vector<std::string>& titles);

  void add(const std::string& title, std::vector<OptionRow> rows);
  const std::vector<OptionGroup>& groups() const { return groups_; }

  // A flag stands above the file, and the file above the default: so first one, then the other.
  //
  // Sets what has a key in this section of the file.
  void set_from_file(const std::string& section, Reader& reader) const;
  // The error names the first flag whose value is wrong.
  Result<void> set_from_flags(const FlagWords& flags) const;

 private:
  Result<void> set_key(const std::string& word, std::set<std::string>& said) const;

  std::vector<OptionGroup> groups_;
};

}  // namespace ioc_exporter

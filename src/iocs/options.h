// Options of finding IOCs.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/option_table.h"
#include "base/pattern.h"
#include "base/result.h"
#include "iocs/find/ioc_name.h"

namespace ioc_exporter::iocs {

// The IOCs that a site expects on this host, by their names.
struct ExpectedOptions {
  std::vector<std::string> names;
  std::string file;              // more of them, one a line; "" = none
  std::optional<Pattern> match;  // of those in the file, the ones that are expected here
};

inline constexpr std::size_t kMostExpected = 4096;

// Each once, in order. The error names the file and the line.
Result<std::vector<std::string>> read_expected(const ExpectedOptions& options);
// The part that reads a file's text: a name a line; what follows a '#', and empty lines, are
// comments.
Result<std::vector<std::string>> expected_from_text(const std::string& text);

struct Options {
  NameFilter filter;  // of whole names, before a pid is added to make one unique
  std::vector<NameSource> name_sources = default_name_sources();
  std::chrono::milliseconds keep_gone = std::chrono::hours(24);
  ExpectedOptions expected;
  std::optional<std::string> state_folder;  // of names of open channels; "" = nowhere
  std::chrono::milliseconds interval = std::chrono::seconds(1);  // between two scans of the host
};

// Its rows; they refer to `options`.
void add_options(OptionTable& table, Options& options);

}  // namespace ioc_exporter::iocs

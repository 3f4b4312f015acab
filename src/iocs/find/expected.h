// The IOCs that a site expects on this host, by their names.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/pattern.h"
#include "base/result.h"

namespace ioc_exporter::iocs {

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

}  // namespace ioc_exporter::iocs

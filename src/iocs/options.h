// Options of finding IOCs.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/option_table.h"
#include "base/pattern.h"
#include "iocs/find/expected.h"
#include "iocs/find/ioc_name.h"

namespace ioc_exporter::iocs {

struct Options {
  NameFilter filter;  // of whole names, before a pid is added to make one unique
  std::vector<NameSource> name_sources = default_name_sources();
  std::chrono::milliseconds keep_gone = std::chrono::hours(24);
  ExpectedOptions expected;
  std::optional<std::string> state_folder;  // where state files are kept; "" = nowhere
  std::chrono::milliseconds interval = std::chrono::seconds(1);  // between two looks at the host
};

// Its rows; they refer to `options`.
void add_options(OptionTable& table, Options& options);

}  // namespace ioc_exporter::iocs

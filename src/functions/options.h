// Options of described functions. What the site's file describes is counted.
#pragma once

#include <string>
#include <vector>

#include "base/option_table.h"
#include "functions/description.h"
#include "functions/walk.h"

namespace ioc_exporter::functions {

struct Options {
  // In the file only.
  Descriptions described;
  std::vector<Walk> walks;
  std::vector<std::string> presets{"auto"};
};

// Its rows; they refer to `options`.
void add_options(OptionTable& table, Options& options);

}  // namespace ioc_exporter::functions

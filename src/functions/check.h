// Problems between described functions, walks and presets.
#pragma once

#include <string>
#include <vector>

#include "functions/options.h"

namespace ioc_exporter::functions {

// Problems of the site's own, besides those of take_out_unusable().
std::vector<ListProblem> problems_together(const Options& options);

}  // namespace ioc_exporter::functions

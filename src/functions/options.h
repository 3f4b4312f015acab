// Options of described functions. They have no flags: what is described is counted.
#pragma once

#include "functions/description.h"

namespace ioc_exporter::functions {

struct Options {
  Descriptions described;       // in the file only
  double overhead_budget = 25;  // percent of one core for each IOC; 0 = no bound
};

}  // namespace ioc_exporter::functions

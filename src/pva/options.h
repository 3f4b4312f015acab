// What an operator may set about counting PV Access puts.
#pragma once

#include "base/option_table.h"

namespace ioc_exporter::pva {

struct Options {
  bool witness = true;  // ask the IOC's own server
};

// Its rows; they refer to `options`.
void add_options(OptionTable& table, Options& options);

}  // namespace ioc_exporter::pva

// Where a variable of an IOC lives.
#pragma once

#include <string>

#include "discovery/ioc.h"
#include "util/result.h"

namespace ioc_exporter::ioc {

// The likeliest place; an error that names the symbol when the IOC's files do not define it.
Result<discovery::VariablePlace> place_of(const discovery::VariablePlaces& variables,
                                          const std::string& name);

}  // namespace ioc_exporter::ioc

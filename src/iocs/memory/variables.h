// Where a variable of an IOC lives.
#pragma once

#include <string>

#include "base/result.h"
#include "iocs/ioc.h"

namespace ioc_exporter::iocs {

// The likeliest place; an error that names the symbol when the IOC's files do not define it.
Result<VariablePlace> place_of(const VariablePlaces& variables, const std::string& name);

}  // namespace ioc_exporter::iocs

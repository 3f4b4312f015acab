// Which threads of a running IOC are suspended (epicsThreadSuspendSelf: a failed assertion,
// cantProceed, the watchdog's victims), from its memory. Nothing that is read is trusted.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "iocs/ioc.h"
#include "iocs/memory/memory.h"

namespace ioc_exporter::iocs {

// Their names, from the variable pthreadList of libCom, sorted; of all copies of libCom that the
// process has loaded. An error when there is no such symbol, or what it leads to makes no sense.
Result<std::vector<std::string>> read_suspended_threads(Memory& memory,
                                                        const VariablePlaces& variables);

}  // namespace ioc_exporter::iocs

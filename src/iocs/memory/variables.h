// Where a variable of an IOC lives.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "iocs/ioc.h"
#include "iocs/memory/memory.h"
#include "iocs/samples.h"

namespace ioc_exporter::iocs {

// The likeliest place; an error that names the symbol when the IOC's files do not define it.
Result<VariablePlace> place_of(const VariablePlaces& variables, const std::string& name);

// The queues of a running IOC's callback threads and of scanOnce, from its memory. Layout:
// iocs/memory/base_layout.h. Nothing that is read is trusted.

// From the variables callbackQueue (callbackQ before Base 3.15), onceQ, onceQueueSize and
// onceQOverruns: low, medium, high, once. Empty before iocInit. An error when there are no such
// symbols, or what they lead to makes no sense.
Result<std::vector<QueueSample>> read_callback_queues(Memory& memory,
                                                      const VariablePlaces& variables);

// Which threads of a running IOC are suspended (epicsThreadSuspendSelf: a failed assertion,
// cantProceed, the watchdog's victims), from its memory. Nothing that is read is trusted.

// Their names, from the variable pthreadList of libCom, sorted; of all copies of libCom that the
// process has loaded. An error when there is no such symbol, or what it leads to makes no sense.
Result<std::vector<std::string>> read_suspended_threads(Memory& memory,
                                                        const VariablePlaces& variables);

}  // namespace ioc_exporter::iocs

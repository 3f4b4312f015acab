// The queues of a running IOC's callback threads and of scanOnce, from its memory. Layout:
// iocs/memory/scan_layout.h. Nothing that is read is trusted.
#pragma once

#include <vector>

#include "base/result.h"
#include "iocs/ioc.h"
#include "iocs/memory/memory.h"
#include "iocs/memory/memory_samples.h"

namespace ioc_exporter::iocs {

// From the variables callbackQueue (callbackQ before Base 3.15), onceQ, onceQueueSize and
// onceQOverruns: low, medium, high, once. Empty before iocInit. An error when there are no such
// symbols, or what they lead to makes no sense.
Result<std::vector<QueueSample>> read_callback_queues(Memory& memory,
                                                      const VariablePlaces& variables);

}  // namespace ioc_exporter::iocs

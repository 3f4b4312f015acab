// Holders of a process: a debugger, a tracer, a checkpoint, a stop signal.
#pragma once

#include <string>

#include "base/result.h"
#include "base/rooted_fs.h"
#include "iocs/find/process_signs.h"

namespace ioc_exporter::iocs {

// Why a process must be left alone now, from State and TracerPid of /proc/PID/status (proc(5)):
// "traced by gdb (pid 4711)", "stopped by a signal"; "" when nobody holds it. The same text as long
// as the same one holds it. CRIU traces what it checkpoints. Only the thread whose folder of /proc
// that is, is asked: whoever traces another one alone is not seen. An error: that thread has ended,
// or the file is no status. `kept` is that file when it is open already.
Result<std::string> why_traced_or_stopped(const RootedFs& fs, const std::string& folder,
                                          const KeptFile& kept = {});

}  // namespace ioc_exporter::iocs

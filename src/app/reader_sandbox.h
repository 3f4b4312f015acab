// What is left to the process that forks readers, and so to them (iocs/memory/reader_forker.h):
// they look at what hostile processes and files hold.
#pragma once

#include "app/privileges.h"
#include "base/result.h"

namespace ioc_exporter::app {

// To be called by the process itself. It becomes the user that the exporter will be, and keeps of
// that one's capabilities those that reading takes; `filter`: and an allow-list of system calls.
Result<void> confine_readers(const Privileges& keep, bool filter);

}  // namespace ioc_exporter::app

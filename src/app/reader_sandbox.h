// The rights of readers (iocs/memory/reader_child.h), which look at what hostile processes and
// files hold.
#pragma once

#include "app/privileges.h"
#include "base/result.h"

namespace ioc_exporter::app {

// Of the exporter's rights those that reading takes.
Privileges readers_privileges(const Privileges& keep);

// To be called by the reader itself, which keeps no others; `filter`: and an allow-list of system
// calls.
Result<void> confine_readers(const Privileges& keep, bool filter);

}  // namespace ioc_exporter::app

// Confinement: what the exporter gives up once all is opened: docs/security.md.
#pragma once

#include "app/options.h"
#include "base/result.h"

namespace ioc_exporter::app {

// Descriptors that whoever started this left open, a shell's for example. To be called before any
// is opened that is to stay.
void close_inherited_files();

// Root's rights, and the system calls that an exporter which runs does not make, for what
// start_helpers() left to others to do. To be called before the first thread is started: they all
// inherit what is left.
Result<void> confine(const Options& options);

}  // namespace ioc_exporter::app

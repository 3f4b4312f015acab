// Confinement: gives up rights once all is opened: docs/security.md.
#pragma once

#include "app/options.h"
#include "app/privileges.h"
#include "base/result.h"

namespace ioc_exporter::app {

// The exporter's rights that readers need (iocs/memory/reader_wire.h), which read memory and files
// of processes that may be hostile.
Privileges readers_privileges(const Privileges& keep);

// Called by the reader itself: it keeps no other rights. `filter`: it gets an allow-list of system
// calls, too.
Result<void> confine_readers(const Privileges& keep, bool filter);

// Closes inherited descriptors, a shell's for example. To be called before any
// is opened that is to stay.
void close_inherited_files();

// This process, and each that it forks, gets at most so much more than it has: what readers read
// was written by others, and may ask for any amount (the demangler of C++ names does). What needs
// more fails by itself. Before enter_sandbox(), which refuses it.
Result<void> limit_memory(std::size_t bytes);
inline constexpr std::size_t kMostMemoryOfReader = std::size_t{512} << 20;

// As many as the host allows, where less was only the default: 1,024 in a shell, and each IOC takes
// some. Where these are too few for all probes, some IOCs and scrapes it must not start.
inline constexpr std::size_t kLeastDescriptors = 512;
Result<void> take_all_descriptors();

// Root's rights, and the system calls that an exporter which runs does not make, for what
// start_attach_helper() left to others to do. To be called before the first thread is started: they
// all inherit what is left.
Result<void> confine(const Options& options);

}  // namespace ioc_exporter::app

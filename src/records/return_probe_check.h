// Whether return probes may be used on this kernel at all.
#pragma once

#include "base/result.h"

namespace ioc_exporter::records {

// From Linux 6.11 on, a process under a return probe makes a system call, uretprobe, at each return
// (x86_64). Until 6.14 (commit cf6cb56ef244, later also in 6.13 and 6.12) the seccomp filter of the
// process was asked, and one that does not know that call, as Docker's and systemd's did not, kills
// the process for it.
//
// Tried on a child process whose filter forbids just that. False: it did not survive. Forks: to be
// called while the process has one thread.
Result<bool> return_probes_pass_filters();

}  // namespace ioc_exporter::records

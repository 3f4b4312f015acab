#include "kernel/load_error.h"

#include <linux/capability.h>
#include <unistd.h>

#include "base/process_stats.h"
#include "base/rooted_fs.h"

namespace ioc_exporter::kernel {
namespace {

bool is_locked_down(const RootedFs& fs) {
  const auto mode = fs.read("/sys/kernel/security/lockdown", 128);
  return mode && mode->find("[confidentiality]") != std::string::npos;
}

}  // namespace

bool is_refused(const Error& error) {
  return error.code == std::errc::operation_not_permitted ||
         error.code == std::errc::permission_denied;
}

std::string explain_load_error(const Error& error, const RootedFs& fs) {
  // With CAP_BPF and CAP_PERFMON alone programs are loaded, but kernels since the middle of 2025
  // refuse the uprobes.
  if (is_refused(error) && !has_capability(fs, CAP_SYS_ADMIN))
    return error.message() +
           ": a capability is missing (CAP_BPF, CAP_PERFMON, CAP_NET_RAW; CAP_SYS_ADMIN where "
           "probes are perf events)";
  // libbpf takes such a kernel for an old one, and asks for a function that is refused, too.
  if (error.code == std::errc::invalid_argument && is_locked_down(fs))
    return error.message() +
           ": the kernel is locked down (confidentiality) and lets no BPF program read memory";
  return error.message();
}

bool has_btf() {
  return ::access("/sys/kernel/btf/vmlinux", F_OK) == 0;
}

}  // namespace ioc_exporter::kernel

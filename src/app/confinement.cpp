#include "app/confinement.h"

#include <sys/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "app/privileges.h"
#include "app/sandbox.h"
#include "base/log.h"
#include "web/listen_address.h"

namespace ioc_exporter::app {
namespace {

// By name, as libseccomp knows which of them this processor has; including those of the C library.
constexpr const char* kReaderCalls[] = {
    // its reads, and the socket
    "process_vm_readv", "read", "pread64", "readlink", "readlinkat", "stat", "lstat", "fstat",
    "newfstatat", "statx", "fstatfs", "getdents", "getdents64", "lseek", "fcntl", "close",
    "recvmsg", "sendmsg",
    // memory, locks and clocks
    "mmap", "munmap", "mremap", "mprotect", "madvise", "brk", "futex", "clock_gettime",
    "gettimeofday", "getrandom", "sched_yield", "getpid", "gettid", "getpriority",
    "set_robust_list", "rseq", "rt_sigprocmask", "rt_sigaction", "rt_sigreturn", "restart_syscall",
    "sigaltstack", "exit", "exit_group",
    // a build with sanitizers: whether memory is there to be read
    "pipe", "pipe2", "write"};

Result<void> load_filter() {
  SyscallFilter filter;
  for (const char* const call : kReaderCalls) filter.allow(call);
  filter.allow_reading();
  return filter.load();
}

// The ports that only root may listen on, unless the host says otherwise.
bool is_privileged_port(const std::string& text) {
  const auto address = web::ListenAddress::parse(text);
  return address && address->port > 0 && address->port < 1024;
}

}  // namespace

// To read memory, maps and environments; to reach files that are not the exporter's to read; and
// for /proc/PID/map_files, the least that gives it. Of what the exporter itself may keep.
Privileges readers_privileges(const Privileges& keep) {
  Privileges readers;
  readers.user = keep.user;
  for (const cap_value_t each : {CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_CHECKPOINT_RESTORE})
    if (keep.keeps(each)) readers.capabilities.push_back(each);
  return readers;
}

Result<void> limit_memory(std::size_t bytes) {
  const std::string action = "limit the memory of a process";
  std::size_t pages = 0;  // of data; the sixth number
  std::ifstream statm("/proc/self/statm");
  for (int i = 0; i < 6; ++i) statm >> pages;
  if (!statm) return error_in_words(action + ": /proc/self/statm cannot be read");
  rlimit limit{};
  if (::getrlimit(RLIMIT_DATA, &limit) != 0) return last_error(action);
  const rlim_t most = pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) + bytes;
  limit.rlim_cur = limit.rlim_max = std::min(most, limit.rlim_max);
  if (::setrlimit(RLIMIT_DATA, &limit) != 0) return last_error(action);
  return {};
}

Result<void> confine_readers(const Privileges& keep, bool filter) {
  if (auto dropped = drop_privileges(readers_privileges(keep)); !dropped) return dropped.error();
  return filter ? load_filter() : Result<void>();
}

void close_inherited_files() {
  ::syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, 0);
}

Result<void> take_all_descriptors() {
  rlimit limit{};
  const bool known = ::getrlimit(RLIMIT_NOFILE, &limit) == 0;
  limit.rlim_cur = limit.rlim_max;
  const std::string action = "open as many files as the host allows";
  if (!known || ::setrlimit(RLIMIT_NOFILE, &limit) != 0) return last_error(action);
  if (limit.rlim_cur >= kLeastDescriptors) return {};
  return error_in_words(action + ": " + std::to_string(limit.rlim_cur) + ", and it needs " +
                        std::to_string(kLeastDescriptors) +
                        ": raise LimitNOFILE= of its unit, or the limit of `ulimit -Hn`");
}

Result<void> confine(const Options& options) {
  Privileges keep = options.privileges;
  if (std::ranges::any_of(options.web.listen, is_privileged_port))
    keep.capabilities.push_back(CAP_NET_BIND_SERVICE);
  auto left = drop_privileges(keep);
  if (!left) return std::move(left).error();
  if (options.sandbox)
    if (auto ok = enter_sandbox({.probes = false, .packets = false, .listening = true}); !ok)
      return ok;
  log::info("{}{}", *left, options.sandbox ? ", in a sandbox" : "");
  return {};
}

}  // namespace ioc_exporter::app

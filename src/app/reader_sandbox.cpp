#include "app/reader_sandbox.h"

#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/capability.h>

#include <cerrno>
#include <memory>
#include <utility>

namespace ioc_exporter::app {
namespace {

// By their names: libseccomp knows which of them this processor has. All of the forker and of its
// readers, with what the C library calls for them.
constexpr const char* kCalls[] = {
    // a reader: what it reads, and the socket
    "process_vm_readv", "read", "pread64", "readlink", "readlinkat", "stat", "lstat", "fstat",
    "newfstatat", "statx", "fstatfs", "lseek", "fcntl", "close", "recvmsg", "sendmsg",
    // memory, locks and clocks
    "mmap", "munmap", "mremap", "mprotect", "madvise", "brk", "futex", "clock_gettime",
    "gettimeofday", "getrandom", "sched_yield", "getpid", "gettid", "getpriority",
    // the forker
    "clone", "clone3", "fork", "kill", "wait4", "poll", "ppoll", "setpriority", "prctl",
    "set_robust_list", "rseq", "rt_sigprocmask", "rt_sigaction", "rt_sigreturn", "restart_syscall",
    "sigaltstack", "exit", "exit_group",
    // a build with sanitizers: whether memory is there to be read
    "pipe", "pipe2", "write"};

struct FilterDeleter {
  void operator()(void* filter) const { seccomp_release(filter); }
};
bool is_permitted(cap_value_t capability) {
  cap_flag_value_t is_set = CAP_CLEAR;
  const cap_t now = cap_get_proc();
  const bool permitted = now != nullptr &&
                         cap_get_flag(now, capability, CAP_PERMITTED, &is_set) == 0 &&
                         is_set == CAP_SET;
  cap_free(now);
  return permitted;
}

// To read memory, maps and environments; to reach files that are not the exporter's to read; and
// for /proc/PID/map_files, the least that gives it. Of what the exporter itself may keep.
Privileges readers_privileges(const Privileges& keep) {
  Privileges readers;
  readers.user = keep.user;
  for (const cap_value_t each : {CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH})
    if (keep.keeps(each)) readers.capabilities.push_back(each);
  if (keep.keeps(CAP_CHECKPOINT_RESTORE) || keep.keeps(CAP_SYS_ADMIN))
    readers.capabilities.push_back(is_permitted(CAP_CHECKPOINT_RESTORE) ? CAP_CHECKPOINT_RESTORE
                                                                        : CAP_SYS_ADMIN);
  return readers;
}

Result<void> load_filter() {
  const std::string action = "make a filter of system calls for readers";
  const std::unique_ptr<void, FilterDeleter> filter(seccomp_init(SCMP_ACT_ERRNO(EPERM)));
  if (!filter) return error_in_words(action + ": no memory");
  for (const char* const call : kCalls) {
    const int number = seccomp_syscall_resolve_name(call);
    if (number == __NR_SCMP_ERROR) continue;
    const int result = seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, number, 0);
    if (result < 0 && result != -EDOM) return error_from_errno(-result, action + ": " + call);
  }
  // For reading only.
  for (const auto& [call, flags] : {std::pair{"open", 1u}, std::pair{"openat", 2u}}) {
    const int number = seccomp_syscall_resolve_name(call);
    if (number == __NR_SCMP_ERROR) continue;
    const scmp_arg_cmp reads{flags, SCMP_CMP_MASKED_EQ, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY};
    const int result = seccomp_rule_add_array(filter.get(), SCMP_ACT_ALLOW, number, 1, &reads);
    if (result < 0 && result != -EDOM) return error_from_errno(-result, action + ": " + call);
  }
  if (const int result = seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2); result < 0)
    return error_from_errno(-result, action);
  if (const int result = seccomp_load(filter.get()); result < 0)
    return error_from_errno(-result, action);
  return {};
}

}  // namespace

Result<void> confine_readers(const Privileges& keep, bool filter) {
  if (auto dropped = drop_privileges(readers_privileges(keep)); !dropped) return dropped.error();
  return filter ? load_filter() : Result<void>();
}

}  // namespace ioc_exporter::app

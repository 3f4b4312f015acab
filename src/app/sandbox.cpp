#include "app/sandbox.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/landlock.h>
#include <linux/netlink.h>
#include <linux/perf_event.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

#include "base/unique_fd.h"

namespace ioc_exporter::app {
namespace {

// By their names: libseccomp knows which of them this processor has. With any arguments.
constexpr const char* kAlways[] = {
    // descriptors that are open; files are opened to be read only, see allow_files()
    "read", "readv", "pread64", "preadv", "preadv2", "write", "writev", "lseek", "_llseek", "close",
    "ftruncate", "ftruncate64", "close_range", "dup", "dup2", "dup3", "pipe", "pipe2",
    // look at files
    "stat", "stat64", "fstat", "fstat64", "lstat", "lstat64", "newfstatat", "fstatat64", "statx",
    "statfs", "statfs64", "fstatfs", "fstatfs64", "access", "faccessat", "faccessat2", "readlink",
    "readlinkat", "getdents", "getdents64", "getcwd",
    // memory
    "munmap", "mremap", "madvise", "brk", "membarrier", "process_vm_readv",
    // threads, own ids
    "futex", "futex_waitv", "set_robust_list", "get_robust_list", "rseq", "set_tid_address",
    "arch_prctl", "sched_yield", "sched_getaffinity", "sched_getparam", "sched_getscheduler",
    "getcpu", "getpriority", "gettid", "getpid", "getppid", "getuid", "geteuid", "getgid",
    "getegid", "getresuid", "getresgid", "getgroups", "getpgrp", "getsid", "capget", "exit",
    "exit_group", "wait4", "waitid", "getrlimit", "ugetrlimit", "getrusage",
    // time, and the machine
    "clock_gettime", "clock_gettime64", "clock_getres", "clock_getres_time64", "clock_nanosleep",
    "clock_nanosleep_time64", "nanosleep", "gettimeofday", "time", "times", "sysinfo", "uname",
    "getrandom", "timerfd_create", "timerfd_settime", "timerfd_gettime",
    // signals that come here
    "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigtimedwait", "rt_sigsuspend",
    "rt_sigpending", "sigaltstack", "sigreturn", "restart_syscall",
    // waiting
    "poll", "ppoll", "select", "_newselect", "pselect6", "epoll_create", "epoll_create1",
    "epoll_ctl", "epoll_wait", "epoll_pwait", "epoll_pwait2", "eventfd2",
    // sockets; which kinds, see allow_sockets()
    "accept", "accept4", "connect", "getsockname", "getpeername", "sendto", "sendmsg", "sendmmsg",
    "recvfrom", "recvmsg", "recvmmsg", "shutdown", "getsockopt", "send", "recv"};

// Their arguments are in memory, where no filter sees them: libraries do without these calls when
// they get ENOSYS.
constexpr const char* kNoSuchCall[] = {"clone3", "openat2"};

// Reading and writing maps that are there, and making maps.
constexpr std::uint32_t kBpfMaps[] = {
    BPF_MAP_CREATE,       BPF_MAP_LOOKUP_ELEM,  BPF_MAP_UPDATE_ELEM,
    BPF_MAP_DELETE_ELEM,  BPF_MAP_GET_NEXT_KEY, BPF_MAP_LOOKUP_AND_DELETE_ELEM,
    BPF_MAP_LOOKUP_BATCH, BPF_MAP_UPDATE_BATCH, BPF_MAP_LOOKUP_AND_DELETE_BATCH,
    BPF_MAP_DELETE_BATCH, BPF_MAP_FREEZE,       BPF_OBJ_GET_INFO_BY_FD};
constexpr std::uint32_t kBpfLoading[] = {BPF_PROG_LOAD, BPF_BTF_LOAD, BPF_PROG_BIND_MAP};

constexpr unsigned long kPerfRequests[] = {PERF_EVENT_IOC_ENABLE, PERF_EVENT_IOC_DISABLE,
                                           PERF_EVENT_IOC_SET_BPF};

constexpr scmp_datum_t kNewNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS |
                                        CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

void allow_files(SyscallFilter& filter) {
  filter.allow_reading();
  for (const int command : {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL})
    for (const char* call : {"fcntl", "fcntl64"})
      filter.allow(call, {is(1, static_cast<unsigned>(command))});
  // For isatty(3), and for the number of bytes in a socket.
  for (const int request : {TCGETS, FIONREAD, FIONBIO})
    filter.allow("ioctl", {is(1, static_cast<unsigned>(request))});
}

// Calls of the delivery process.
void allow_log_files(SyscallFilter& filter) {
  for (const char* call : {"open", "openat", "mkdir", "mkdirat", "rename", "renameat", "renameat2",
                           "unlink", "unlinkat", "fchmod", "flock"})
    filter.allow(call);
}

Result<void> write_only_below(const std::vector<std::string>& folders) {
  // From writing to a file to making a symbolic link, but for reading and running.
  constexpr std::uint64_t kWriting = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1 -
                                     LANDLOCK_ACCESS_FS_EXECUTE - LANDLOCK_ACCESS_FS_READ_FILE -
                                     LANDLOCK_ACCESS_FS_READ_DIR;
  landlock_ruleset_attr rules{};
  rules.handled_access_fs = kWriting;
  const UniqueFd ruleset(static_cast<int>(
      ::syscall(SYS_landlock_create_ruleset, &rules, sizeof rules.handled_access_fs, 0)));
  if (!ruleset) return {};  // the kernel has none, or this process has one already
  for (const std::string& folder : folders) {
    const UniqueFd below(::open(folder.c_str(), O_PATH | O_CLOEXEC));
    const landlock_path_beneath_attr rule{kWriting, below.get()};
    if (!below ||
        ::syscall(SYS_landlock_add_rule, ruleset.get(), LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0)
      return last_error("allow writing below " + folder);
  }
  if (::syscall(SYS_landlock_restrict_self, ruleset.get(), 0) != 0)
    return last_error("refuse writing elsewhere");
  return {};
}

// No new code.
void allow_memory(SyscallFilter& filter) {
  for (const char* call : {"mmap", "mmap2", "mprotect"})
    filter.allow(call, {has_none_of(2, PROT_EXEC)});
}

// Threads, but no processes; of limits and priorities one's own, the former to be read.
void allow_threads(SyscallFilter& filter) {
  filter.allow("clone",
               {scmp_arg_cmp{0, SCMP_CMP_MASKED_EQ, CLONE_THREAD | kNewNamespaces, CLONE_THREAD}});
  filter.allow("tgkill", {is(0, static_cast<scmp_datum_t>(::getpid()))});  // abort()
  filter.allow("prlimit64", {is(0, 0), is(2, 0)});
  for (const char* call : {"setpriority", "ioprio_set"}) filter.allow(call, {is(1, 0)});
  for (const char* call : {"sched_setscheduler", "sched_setparam", "sched_setattr",
                           "sched_setaffinity", "sched_getattr"})
    filter.allow(call, {is(0, 0)});
  constexpr int kPrSetVma = 0x53564d41;  // linux/prctl.h, since 5.17: names for memory
  for (const int option :
       {PR_SET_NAME, PR_GET_NAME, PR_GET_NO_NEW_PRIVS, PR_GET_SECCOMP, kPrSetVma})
    filter.allow("prctl", {is(0, static_cast<unsigned>(option))});
}

// Children, and calls of confine_readers().
void allow_readers(SyscallFilter& filter) {
  filter.allow("clone", {has_none_of(0, CLONE_THREAD | CLONE_VM | kNewNamespaces)});
  for (const char* call : {"fork", "pidfd_open", "pidfd_send_signal", "capset", "seccomp"})
    filter.allow(call);
  for (const int option :
       {PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, PR_CAPBSET_READ, PR_CAP_AMBIENT})
    filter.allow("prctl", {is(0, static_cast<unsigned>(option))});
}

void allow_sockets(SyscallFilter& filter, bool packets) {
  for (const int family : {AF_UNIX, AF_INET, AF_INET6}) {
    const auto of = is(0, static_cast<unsigned>(family));
    filter.allow("socketpair", {of});
    constexpr auto kKind = ~static_cast<scmp_datum_t>(SOCK_CLOEXEC | SOCK_NONBLOCK);
    for (const int kind : {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET})
      filter.allow("socket",
                   {of, scmp_arg_cmp{1, SCMP_CMP_MASKED_EQ, kKind, static_cast<unsigned>(kind)}});
  }
  for (const int protocol : {NETLINK_ROUTE, NETLINK_SOCK_DIAG})
    filter.allow("socket", {is(0, AF_NETLINK), is(2, static_cast<unsigned>(protocol))});
  if (packets) filter.allow("socket", {is(0, AF_PACKET)});
  if (packets) filter.allow("bind");
  for (const int option : {SO_REUSEADDR, SO_RCVTIMEO, SO_SNDTIMEO, SO_KEEPALIVE, SO_LINGER,
                           SO_SNDBUF, SO_RCVBUF, SO_REUSEPORT, SO_PASSCRED})
    filter.allow("setsockopt", {is(1, SOL_SOCKET), is(2, static_cast<unsigned>(option))});
  if (packets) filter.allow("setsockopt", {is(1, SOL_SOCKET), is(2, SO_ATTACH_BPF)});
  filter.allow("setsockopt", {is(1, IPPROTO_IP), is(2, IP_RECVERR)});  // to look up names
  for (const int level : {IPPROTO_TCP, IPPROTO_IPV6})
    filter.allow("setsockopt", {is(1, static_cast<unsigned>(level))});
}

// And the filter of refuse_listening().
void allow_listening(SyscallFilter& filter) {
  for (const char* call : {"bind", "listen", "seccomp"}) filter.allow(call);
  filter.allow("prctl", {is(0, PR_SET_NO_NEW_PRIVS)});
}

void allow_bpf(SyscallFilter& filter, const SandboxOptions& options) {
  for (const std::uint32_t command : kBpfMaps) filter.allow("bpf", {is(0, command)});
  if (!options.probes) return;
  for (const std::uint32_t command : kBpfLoading) filter.allow("bpf", {is(0, command)});
  // The helper loads: libbpf 1.4 holds the number of a map by such a file until it is made.
  if (options.readers) filter.allow("memfd_create");
  for (const std::uint32_t command : {BPF_LINK_CREATE, BPF_RAW_TRACEPOINT_OPEN})
    filter.allow("bpf", {is(0, command)});
  filter.allow("perf_event_open");
  for (const unsigned long request : kPerfRequests) filter.allow("ioctl", {is(1, request)});
}

}  // namespace

void SyscallFilter::allow_reading() {
  constexpr auto kWriting = static_cast<unsigned>(O_ACCMODE | O_CREAT | O_TRUNC);
  allow("open", {has_none_of(1, kWriting)});
  allow("openat", {has_none_of(2, kWriting)});
}

void SyscallFilter::add(std::uint32_t action, const char* call,
                        const std::vector<scmp_arg_cmp>& when) {
  if (!filter_ || problem_ != 0) return;
  const int number = seccomp_syscall_resolve_name(call);
  if (number == __NR_SCMP_ERROR) return;
  const int result = seccomp_rule_add_array(filter_.get(), action, number,
                                            static_cast<unsigned>(when.size()), when.data());
  if (result < 0 && result != -EDOM) problem_ = -result;
  if (problem_ != 0) problem_call_ = call;
}

Result<void> SyscallFilter::load() {
  const std::string action = "make a filter of system calls";
  if (!filter_) return error_in_words(action + ": no memory");
  if (problem_ != 0) return error_from_errno(problem_, action + ": " + problem_call_);
  // All threads, those of libraries included; a tree instead of a list; and none of the slowness
  // that older kernels give to every filtered process (spec_store_bypass_disable=seccomp).
  for (const auto& [attribute, value] :
       {std::pair{SCMP_FLTATR_CTL_TSYNC, 1u}, std::pair{SCMP_FLTATR_CTL_SSB, 1u},
        std::pair{SCMP_FLTATR_CTL_OPTIMIZE, 2u}})
    if (const int result = seccomp_attr_set(filter_.get(), attribute, value); result < 0)
      return error_from_errno(-result, action);
  if (const int result = seccomp_load(filter_.get()); result < 0)
    return error_from_errno(-result, "load the filter of system calls");
  return {};
}

Result<void> enter_sandbox(const SandboxOptions& options) {
  SyscallFilter filter;
  for (const char* call : kAlways) filter.allow(call);
  for (const char* call : kNoSuchCall) filter.say_no_such_call(call);
  allow_files(filter);
  allow_memory(filter);
  allow_threads(filter);
  allow_sockets(filter, options.packets);
  allow_bpf(filter, options);
  if (!options.folders.empty()) {
    allow_log_files(filter);
    if (auto below = write_only_below(options.folders); !below) return below;
  }
  if (options.readers) allow_readers(filter);
  if (options.listening) allow_listening(filter);
  return filter.load();
}

Result<void> refuse_listening() {
  SyscallFilter filter(SCMP_ACT_ALLOW);
  for (const char* call : {"bind", "listen", "seccomp"}) filter.refuse(call);
  return filter.load();
}

}  // namespace ioc_exporter::app

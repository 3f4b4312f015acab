#include "app/sandbox.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace ioc_exporter::app {
namespace {

// By their names: libseccomp knows which of them this processor has.
constexpr const char* kNever[] = {
    // programs and processes
    "execve", "execveat", "fork", "vfork", "ptrace", "process_vm_writev", "process_madvise",
    "pidfd_getfd", "kcmp", "kill", "tkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo",
    "pidfd_send_signal", "unshare", "personality", "userfaultfd",
    // files
    "creat", "truncate", "ftruncate", "mkdir", "mkdirat", "rmdir", "unlink", "unlinkat", "rename",
    "renameat", "renameat2", "link", "linkat", "symlink", "symlinkat", "mknod", "mknodat", "chmod",
    "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat", "setxattr",
    "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr", "utime", "utimes",
    "utimensat", "futimesat", "open_by_handle_at", "fallocate",
    // mounts and disks
    "mount", "umount", "umount2", "mount_setattr", "move_mount", "open_tree", "fsopen", "fsconfig",
    "fsmount", "fspick", "pivot_root", "chroot", "swapon", "swapoff", "quotactl", "quotactl_fd",
    // the kernel and the machine
    "init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot",
    "iopl", "ioperm", "acct", "syslog", "sethostname", "setdomainname", "settimeofday",
    "clock_settime", "clock_settime64", "clock_adjtime", "clock_adjtime64", "adjtimex", "vhangup",
    "add_key", "request_key", "keyctl", "nfsservctl", "lookup_dcookie",
    // identity
    "setuid", "setuid32", "setgid", "setgid32", "setreuid", "setreuid32", "setregid", "setregid32",
    "setresuid", "setresuid32", "setresgid", "setresgid32", "setgroups", "setgroups32", "setfsuid",
    "setfsuid32", "setfsgid", "setfsgid32", "capset",
    // ways around a filter of system calls
    "io_uring_setup", "io_uring_enter", "io_uring_register"};

// Attaching, and reading and writing maps; a map is made for each IOC's records.
constexpr std::uint32_t kBpfAlways[] = {BPF_MAP_CREATE,       BPF_MAP_LOOKUP_ELEM,
                                        BPF_MAP_UPDATE_ELEM,  BPF_MAP_DELETE_ELEM,
                                        BPF_MAP_GET_NEXT_KEY, BPF_MAP_LOOKUP_AND_DELETE_ELEM,
                                        BPF_MAP_LOOKUP_BATCH, BPF_MAP_LOOKUP_AND_DELETE_BATCH,
                                        BPF_MAP_UPDATE_BATCH, BPF_MAP_DELETE_BATCH,
                                        BPF_MAP_FREEZE,       BPF_OBJ_GET_INFO_BY_FD,
                                        BPF_LINK_CREATE,      BPF_LINK_UPDATE,
                                        BPF_LINK_DETACH};
constexpr std::uint32_t kBpfForNamespaces[] = {BPF_PROG_LOAD, BPF_BTF_LOAD, BPF_PROG_BIND_MAP};
constexpr std::uint32_t kBpfCommands = 64;  // as many as there may ever be, and more

constexpr int kFamilies[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_PACKET};
constexpr std::uint64_t kFamilyCount = 64;

struct FilterDeleter {
  void operator()(void* filter) const { seccomp_release(filter); }
};

class Filter {
 public:
  Filter() : filter_(seccomp_init(SCMP_ACT_ALLOW)) {}
  bool made() const { return filter_ != nullptr; }

  // Refuses the call when all conditions hold. Of what this processor or this libseccomp does not
  // have there is nothing to refuse.
  void refuse(const char* call, std::vector<scmp_arg_cmp> when = {}, int as = EPERM) {
    const int number = seccomp_syscall_resolve_name(call);
    if (number == __NR_SCMP_ERROR || problem_ != 0) return;
    const int result =
        seccomp_rule_add_array(filter_.get(), SCMP_ACT_ERRNO(static_cast<unsigned>(as)), number,
                               static_cast<unsigned>(when.size()), when.data());
    if (result < 0 && result != -EDOM) problem_ = -result;
    if (problem_ != 0) problem_call_ = call;
  }

  Result<void> load() {
    const std::string action = "make a filter of system calls";
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

 private:
  std::unique_ptr<void, FilterDeleter> filter_;
  int problem_ = 0;
  std::string problem_call_;
};

scmp_arg_cmp argument(unsigned number, scmp_compare compare, scmp_datum_t a, scmp_datum_t b = 0) {
  return scmp_arg_cmp{number, compare, a, b};
}

void refuse_writing(Filter& filter) {
  for (const auto& [call, flags] : {std::pair{"open", 1u}, std::pair{"openat", 2u}}) {
    for (const int mode : {O_WRONLY, O_RDWR, O_ACCMODE})
      filter.refuse(call,
                    {argument(flags, SCMP_CMP_MASKED_EQ, O_ACCMODE, static_cast<unsigned>(mode))});
    for (const auto flag : {static_cast<unsigned>(O_CREAT), static_cast<unsigned>(O_TRUNC)})
      filter.refuse(call, {argument(flags, SCMP_CMP_MASKED_EQ, flag, flag)});
  }
  filter.refuse("openat2", {}, ENOSYS);  // its flags are in memory, where no filter sees them
}

// Threads, but no processes. What clone3 asks for is in memory; glibc goes back to clone.
void refuse_processes(Filter& filter) {
  filter.refuse("clone", {argument(0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0)});
  filter.refuse("clone3", {}, ENOSYS);
  const auto own = static_cast<scmp_datum_t>(::getpid());
  filter.refuse("tgkill", {argument(0, SCMP_CMP_NE, own)});  // abort() sends one to itself
}

void refuse_bpf(Filter& filter, bool loading) {
  for (std::uint32_t command = 0; command < kBpfCommands; ++command) {
    const bool needed =
        std::ranges::find(kBpfAlways, command) != std::end(kBpfAlways) ||
        (loading && std::ranges::find(kBpfForNamespaces, command) != std::end(kBpfForNamespaces));
    if (!needed) filter.refuse("bpf", {argument(0, SCMP_CMP_EQ, command)});
  }
  filter.refuse("bpf", {argument(0, SCMP_CMP_GE, kBpfCommands)});
}

void refuse_sockets(Filter& filter) {
  for (std::uint64_t family = 0; family < kFamilyCount; ++family)
    if (std::ranges::find(kFamilies, static_cast<int>(family)) == std::end(kFamilies))
      filter.refuse("socket", {argument(0, SCMP_CMP_EQ, family)});
  filter.refuse("socket", {argument(0, SCMP_CMP_GE, kFamilyCount)});
}

}  // namespace

Result<void> enter_sandbox(const SandboxOptions& options) {
  Filter filter;
  if (!filter.made()) return error_in_words("make a filter of system calls: no memory");
  for (const char* call : kNever) filter.refuse(call);
  refuse_writing(filter);
  refuse_processes(filter);
  refuse_bpf(filter, options.net_namespaces);
  refuse_sockets(filter);
  if (options.net_namespaces)
    filter.refuse("setns", {argument(1, SCMP_CMP_NE, CLONE_NEWNET)});
  else
    filter.refuse("setns");
  return filter.load();
}

}  // namespace ioc_exporter::app

// System calls that the sandbox refuses and allows, in child processes: it cannot be left.
#include "app/sandbox.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/bpf.h>
#include <linux/landlock.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <thread>

namespace ioc_exporter::app {
namespace {

constexpr int kNoSandbox = 255;

// errno of `call` in the sandbox, 0 when it succeeded.
int in_sandbox(const std::function<long()>& call, SandboxOptions options = {}) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (!enter_sandbox(options)) ::_exit(kNoSandbox);
    errno = 0;
    ::_exit(call() < 0 ? errno : 0);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_NE(WEXITSTATUS(status), kNoSandbox);
  return WEXITSTATUS(status);
}

// Calls that are not listed, with arguments that let nothing happen when the sandbox does
// not work: calls that would fail otherwise too, with another errno than EPERM, also as root.
TEST(Sandbox, RefusesUnneededCalls) {
  char byte = 0;
  iovec here{&byte, 1};
  EXPECT_EQ(in_sandbox([] { return ::execl("/nowhere", "nowhere", nullptr); }), EPERM);
  EXPECT_EQ(in_sandbox([] { return ::ptrace(PTRACE_ATTACH, -1, nullptr, nullptr); }), EPERM);
  EXPECT_EQ(in_sandbox([&] { return ::process_vm_writev(-1, &here, 1, &here, 1, 0); }), EPERM);
  EXPECT_EQ(in_sandbox([] { return ::mount("", "/nowhere", "none", 0, nullptr); }), EPERM);
  EXPECT_EQ(in_sandbox([] { return ::umount2("/nowhere", 0); }), EPERM);
  EXPECT_EQ(in_sandbox([] { return ::chroot("/nowhere"); }), EPERM);
  EXPECT_EQ(in_sandbox([] { return ::syscall(SYS_finit_module, -1, "", 0); }), EPERM);
  EXPECT_EQ(in_sandbox([] { return ::syscall(SYS_init_module, nullptr, 0, ""); }), EPERM);
  EXPECT_EQ(in_sandbox([] { return ::syscall(SYS_clock_settime, 0, nullptr); }), EPERM);
  EXPECT_EQ(in_sandbox([] { return ::syscall(SYS_sethostname, nullptr, 1); }), EPERM);
  EXPECT_EQ(in_sandbox([] { return ::syscall(SYS_kexec_load, 0, 0, nullptr, -1ul); }), EPERM);
  EXPECT_EQ(in_sandbox([] { return ::syscall(SYS_reboot, 0, 0, 0, nullptr); }), EPERM);
  EXPECT_EQ(in_sandbox([] { return ::syscall(SYS_io_uring_setup, 0, nullptr); }), EPERM);
  EXPECT_EQ(in_sandbox([] { return ::kill(-1 - 0x7ffffff0, 0); }), EPERM);
  EXPECT_EQ(in_sandbox([] { return ::syscall(SYS_tgkill, 1, 0x7ffffff0, 0); }), EPERM);
  EXPECT_EQ(in_sandbox([] { return ::unlink("/nowhere/file"); }), EPERM);
  EXPECT_EQ(in_sandbox([] { return ::mkdir("/nowhere/folder", 0700); }), EPERM);
  EXPECT_EQ(in_sandbox([] { return ::unshare(-1); }), EPERM);
  for (const int kind : {CLONE_NEWNS, CLONE_NEWNET})
    EXPECT_EQ(in_sandbox([kind] { return ::setns(-1, kind); }), EPERM);
  EXPECT_EQ(in_sandbox([] { return ::fork(); }), EPERM);
  EXPECT_EQ(in_sandbox([] { return ::socket(AF_ALG, 0, 0); }), EPERM);
  EXPECT_EQ(in_sandbox([] { return ::socket(AF_INET, SOCK_RAW, IPPROTO_RAW); }), EPERM);
  EXPECT_EQ(in_sandbox([] { return ::socket(AF_NETLINK, SOCK_RAW, NETLINK_GENERIC); }), EPERM);
  EXPECT_EQ(in_sandbox([] { return ::syscall(SYS_setxattr, "/nowhere", "", "", 0, 0); }), EPERM);
  const auto memory_file = [] { return ::syscall(SYS_memfd_create, "x", 0); };
  EXPECT_EQ(in_sandbox(memory_file), EPERM);
  EXPECT_EQ(in_sandbox(memory_file, {.probes = false, .readers = true}), EPERM);
  EXPECT_EQ(in_sandbox(memory_file, {.probes = true, .readers = true}), 0);  // libbpf's
  EXPECT_EQ(in_sandbox([] { return ::syscall(SYS_prctl, PR_SET_MM, 0, 0, 0, 0); }), EPERM);
  EXPECT_EQ(in_sandbox([] { return ::fcntl(-1, F_SETOWN, 1); }), EPERM);
  EXPECT_EQ(in_sandbox([] { return ::syscall(1023); }), EPERM);  // none of today's
}

// A number whose lower half is one that is let through.
TEST(Sandbox, SeesAllOfAnArgument) {
  constexpr std::uint64_t kAbove = std::uint64_t{1} << 32;
  EXPECT_EQ(in_sandbox([] { return ::syscall(SYS_ioctl, 2, kAbove | TIOCSTI, "x"); }), EPERM);
  EXPECT_EQ(in_sandbox([] { return ::syscall(SYS_bpf, kAbove | BPF_OBJ_PIN, nullptr, 0); }), EPERM);
  EXPECT_EQ(in_sandbox([] { return ::syscall(SYS_socket, kAbove | AF_ALG, SOCK_STREAM, 0); }),
            EPERM);
}

TEST(Sandbox, NothingBecomesCode) {
  const auto map = [](int protection) {
    return [protection] {
      return ::mmap(nullptr, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED
                 ? -1l
                 : 0l;
    };
  };
  EXPECT_EQ(in_sandbox(map(PROT_READ | PROT_WRITE)), 0);
  EXPECT_EQ(in_sandbox(map(PROT_READ | PROT_EXEC)), EPERM);
  alignas(4096) static char page[4096];
  EXPECT_EQ(in_sandbox([] { return ::mprotect(page, sizeof page, PROT_READ | PROT_EXEC); }), EPERM);
}

TEST(Sandbox, FilesAreOpenedToReadOnly) {
  const auto open = [](int flags) { return [flags] { return ::open("/dev/null", flags); }; };
  EXPECT_EQ(in_sandbox(open(O_RDONLY)), 0);
  EXPECT_EQ(in_sandbox(open(O_RDONLY | O_CLOEXEC | O_NONBLOCK)), 0);
  for (const int flags : {O_WRONLY, O_RDWR, O_RDONLY | O_CREAT, O_RDONLY | O_TRUNC, O_ACCMODE})
    EXPECT_EQ(in_sandbox(open(flags)), EPERM) << flags;
  EXPECT_EQ(in_sandbox([] { return ::syscall(SYS_openat2, AT_FDCWD, "/dev/null", nullptr, 0); }),
            ENOSYS);
}

TEST(Sandbox, FilesAreWrittenBelowAFolderOnly) {
  if (::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION) < 1)
    GTEST_SKIP() << "the kernel has no Landlock";
  std::string folder = testing::TempDir() + "below.XXXXXX", other = testing::TempDir() + "other";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::string file = folder + "/a", renamed = folder + "/b";
  const auto create = [](const std::string& path) {
    return [path] { return ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND, 0600); };
  };
  const SandboxOptions options{.folders = {folder}};
  EXPECT_EQ(in_sandbox(create(file), options), 0);
  EXPECT_EQ(in_sandbox([&] { return ::rename(file.c_str(), renamed.c_str()); }, options), 0);
  EXPECT_EQ(in_sandbox(create(other), options), EACCES);
  EXPECT_EQ(in_sandbox([] { return ::open("/dev/null", O_WRONLY); }, options), EACCES);
  EXPECT_EQ(in_sandbox([] { return ::open("/etc/passwd", O_RDONLY); }, options), 0);
  EXPECT_EQ(in_sandbox([&] { return ::unlink(renamed.c_str()); }, options), 0);
  ::rmdir(folder.c_str());
}

TEST(Sandbox, ThreadsSocketsAndOtherMemoryAreThere) {
  EXPECT_EQ(in_sandbox([] {
              long sum = 0;
              std::thread([&sum] { sum = 7; }).join();
              return sum == 7 ? 0l : -1l;
            }),
            0);
  for (const int family : {AF_INET, AF_UNIX, AF_NETLINK})
    EXPECT_EQ(in_sandbox([family] { return ::socket(family, SOCK_DGRAM, 0); }), 0) << family;
  char from = 7, to = 0;
  EXPECT_EQ(in_sandbox([&] {
              iovec source{&from, 1}, target{&to, 1};
              return ::process_vm_readv(::getpid(), &target, 1, &source, 1, 0) == 1 ? 0 : -1;
            }),
            0);
  EXPECT_EQ(in_sandbox([] { return ::syscall(SYS_tgkill, ::getpid(), ::gettid(), 0); }), 0);
}

// A size that no kernel takes: EINVAL or E2BIG where the command is let through, or EPERM from the
// kernel itself for users without the right to BPF.
TEST(Sandbox, BpfProbesAndPacketSocketsAreThereOnlyWhereAsked) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may use them";
  const SandboxOptions none{.probes = false, .packets = false};
  const auto bpf = [](unsigned command) {
    return [command] { return ::syscall(SYS_bpf, command, nullptr, 0x7fffffff); };
  };
  for (const unsigned command : {BPF_MAP_CREATE, BPF_MAP_LOOKUP_BATCH})
    EXPECT_EQ(in_sandbox(bpf(command)), E2BIG) << command;
  for (const unsigned command : {BPF_PROG_LOAD, BPF_LINK_CREATE, BPF_RAW_TRACEPOINT_OPEN}) {
    EXPECT_EQ(in_sandbox(bpf(command)), E2BIG) << command;
    EXPECT_EQ(in_sandbox(bpf(command), none), EPERM) << command;
  }
  for (const unsigned command : {BPF_OBJ_PIN, BPF_OBJ_GET, BPF_PROG_GET_FD_BY_ID, BPF_ITER_CREATE})
    EXPECT_EQ(in_sandbox(bpf(command)), EPERM) << command;
  EXPECT_EQ(in_sandbox(bpf(200)), EPERM);
  const auto event = [] { return ::syscall(SYS_perf_event_open, nullptr, 0, -1, -1, 0); };
  EXPECT_EQ(in_sandbox(event), EFAULT);
  EXPECT_EQ(in_sandbox(event, none), EPERM);
  EXPECT_EQ(in_sandbox(event, {.probes = false}), EPERM);
  const auto packets = [] { return ::socket(AF_PACKET, SOCK_RAW, 0); };
  EXPECT_EQ(in_sandbox(packets), 0);
  EXPECT_EQ(in_sandbox(packets, none), EPERM);
  EXPECT_EQ(in_sandbox(packets, {.packets = false}), EPERM);
}

}  // namespace
}  // namespace ioc_exporter::app

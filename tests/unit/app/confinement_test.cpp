// Attempts of an intruder in the exporter, in child processes: each succeeds as
// root, which shows that it is a real one, and is refused in the confinement of the exporter that
// runs as it is delivered.
#include "app/confinement.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <functional>
#include <iterator>
#include <string>

#include "app/sandbox.h"

namespace ioc_exporter::app {
namespace {

using Attempt = std::function<bool()>;

enum Outcome { kDone = 0, kRefused = 1, kFailedOtherwise = 2, kNotConfined = 3 };

int outcome(const Attempt& attempt) {
  errno = 0;
  if (attempt()) return kDone;
  return errno == EPERM || errno == EACCES ? kRefused : kFailedOtherwise;
}

int in_child(bool confined, const Attempt& attempt) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (confined && (!confine(Options()) || !refuse_listening())) ::_exit(kNotConfined);
    ::_exit(outcome(attempt));
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

class Confinement : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root has rights to give up";
    victim_ = ::fork();  // root's
    if (victim_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      while (true) ::pause();
    }
  }
  void TearDown() override {
    if (victim_ <= 0) return;
    ::kill(victim_, SIGKILL);
    ::waitpid(victim_, nullptr, 0);
  }
  void refuses(const char* what, const Attempt& attempt) const {
    EXPECT_EQ(in_child(false, attempt), kDone) << what << ": is no attack that works";
    EXPECT_EQ(in_child(true, attempt), kRefused) << what;
  }
  static void still_does(const char* what, const Attempt& attempt) {
    EXPECT_EQ(in_child(true, attempt), kDone) << what;
  }
  pid_t victim_ = -1;
};

// The shell of somebody who is root.
TEST_F(Confinement, PushesNothingIntoATerminal) {
  const int master = ::posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_TRUE(master >= 0 && ::grantpt(master) == 0 && ::unlockpt(master) == 0);
  const int terminal = ::open(::ptsname(master), O_RDWR | O_NOCTTY);
  ASSERT_GE(terminal, 0);
  refuses("TIOCSTI", [=] { return ::ioctl(terminal, TIOCSTI, "\n") == 0; });
  refuses("TIOCSTI on one that is opened", [name = std::string(::ptsname(master))] {
    const int own = ::open(name.c_str(), O_RDONLY | O_NOCTTY);
    return own >= 0 && ::ioctl(own, TIOCSTI, "\n") == 0;
  });
  ::close(terminal);
  ::close(master);
}

long load(std::uint32_t type) {
  const bpf_insn program[] = {{BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, XDP_DROP},
                              {BPF_JMP | BPF_EXIT, 0, 0, 0, 0}};
  bpf_attr attr{};
  attr.prog_type = type;
  attr.insns = reinterpret_cast<std::uintptr_t>(program);
  attr.insn_cnt = std::size(program);
  attr.license = reinterpret_cast<std::uintptr_t>("GPL");
  return ::syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof attr);
}

TEST_F(Confinement, LoadsNoPrograms) {
  refuses("XDP that drops all packets", [] { return load(BPF_PROG_TYPE_XDP) >= 0; });
  refuses("traffic control", [] { return load(BPF_PROG_TYPE_SCHED_CLS) >= 0; });
  refuses("kprobe", [] { return load(BPF_PROG_TYPE_KPROBE) >= 0; });
  refuses("socket filter", [] { return load(BPF_PROG_TYPE_SOCKET_FILTER) >= 0; });
}

// A probe on any address of any file is a way to write into all processes that map it.
TEST_F(Confinement, OpensNoEvents) {
  refuses("perf_event_open", [] {
    perf_event_attr attr{};
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_CPU_CLOCK;
    attr.size = sizeof attr;
    return ::syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC) >= 0;
  });
}

TEST_F(Confinement, TouchesNoOtherProcess) {
  static char word[8] = "here";
  const pid_t victim = victim_;
  refuses("ptrace", [=] { return ::ptrace(PTRACE_SEIZE, victim, nullptr, nullptr) == 0; });
  refuses("process_vm_writev", [=] {
    iovec here{word, sizeof word}, there{word, sizeof word};
    return ::process_vm_writev(victim, &here, 1, &there, 1, 0) == sizeof word;
  });
  refuses("/proc/PID/mem to write", [=] {
    const std::string path = "/proc/" + std::to_string(victim) + "/mem";
    return ::open(path.c_str(), O_RDWR) >= 0;
  });
  refuses("pidfd_getfd", [=] {
    const long pidfd = ::syscall(SYS_pidfd_open, victim, 0);
    return pidfd >= 0 && ::syscall(SYS_pidfd_getfd, pidfd, 0, 0) >= 0;
  });
  refuses("a signal", [=] { return ::kill(victim, SIGCONT) == 0; });
  refuses("its limits", [=] {
    const rlimit limit{1, 1};
    return ::prlimit(victim, RLIMIT_CORE, &limit, nullptr) == 0;
  });
  refuses("its priority",
          [=] { return ::setpriority(PRIO_PROCESS, static_cast<id_t>(victim), 1) == 0; });
}

TEST_F(Confinement, NothingIsWrittenOrRun) {
  refuses("a file", [] { return ::open("/tmp", O_TMPFILE | O_WRONLY, 0600) >= 0; });
  refuses("a device", [] { return ::open("/dev/null", O_WRONLY) >= 0; });
  refuses("the kernel's settings", [] { return ::open("/proc/sys/kernel/panic", O_WRONLY) >= 0; });
  refuses("a program", [] { return ::execl("/bin/true", "true", nullptr) == 0 || errno == 0; });
  refuses("a process", [] {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    return child > 0;
  });
  refuses("code", [] {
    return ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
           MAP_FAILED;
  });
}

TEST_F(Confinement, SendsNoForgedPackets) {
  refuses("a packet socket", [] { return ::socket(AF_PACKET, SOCK_RAW, 0) >= 0; });
  refuses("a raw socket", [] { return ::socket(AF_INET, SOCK_RAW, IPPROTO_RAW) >= 0; });
}

bool takes_address(const sockaddr& address, socklen_t size) {
  const int fd = ::socket(address.sa_family, SOCK_STREAM, 0);
  return fd >= 0 && ::bind(fd, &address, size) == 0;
}

TEST_F(Confinement, TakesNoAddress) {
  refuses("a port", [] {
    const sockaddr_in any{AF_INET, 0, {}, {}};
    return takes_address(reinterpret_cast<const sockaddr&>(any), sizeof any);
  });
  refuses("any port that is free",
          [] { return ::listen(::socket(AF_INET, SOCK_STREAM, 0), 1) == 0; });
  refuses("a socket file", [] {
    sockaddr_un file{AF_UNIX, {}};
    std::snprintf(file.sun_path, sizeof file.sun_path, "/tmp/confinement.%d", ::getpid());
    const bool made = takes_address(reinterpret_cast<const sockaddr&>(file), sizeof file);
    if (made) ::unlink(file.sun_path);
    return made;
  });
}

// The rights that docs/security.md says are left. Landlock cannot refuse them: a process in a
// domain of Landlock may not look into others, which is the exporter's work.
TEST_F(Confinement, RemainingRights) {
  const std::string own = "/proc/" + std::to_string(::getpid()) + "/fd/";
  char byte = 'x';
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  ASSERT_EQ(::write(pipe[1], &byte, 1), 1);
  const auto takes = [&byte](const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_NOCTTY);
    return fd >= 0 && ::read(fd, &byte, 1) == 1;
  };
  still_does("bytes of another's pipe", [&] { return takes(own + std::to_string(pipe[0])); });
  const int master = ::posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_TRUE(master >= 0 && ::grantpt(master) == 0 && ::unlockpt(master) == 0);
  const int terminal = ::open(::ptsname(master), O_RDWR | O_NOCTTY);
  ASSERT_EQ(::write(master, "x\n", 2), 2);
  still_does("what another types",
             [&, name = std::string(::ptsname(master))] { return takes(name); });
  still_does("root's files", [&] { return takes("/etc/shadow"); });
  still_does("memory", [&] {
    iovec here{&byte, 1}, there{&byte, 1};
    return ::process_vm_readv(victim_, &here, 1, &there, 1, 0) == 1;
  });
  const int server = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{AF_INET, 0, {htonl(INADDR_LOOPBACK)}, {}};
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  ASSERT_TRUE(::bind(server, generic, size) == 0 && ::listen(server, 1) == 0 &&
              ::getsockname(server, generic, &size) == 0);
  still_does("puts to IOCs", [&] {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    return ::connect(fd, generic, size) == 0 && ::send(fd, &byte, 1, 0) == 1;
  });
  for (const int fd : {server, terminal, master, pipe[0], pipe[1]}) ::close(fd);
}

TEST_F(Confinement, BecomesNobodyElse) {
  refuses("setuid", [] { return ::setuid(0) == 0; });
  refuses("setgroups", [] {
    const gid_t root = 0;
    return ::syscall(SYS_setgroups, 1, &root) == 0;
  });
}

}  // namespace
}  // namespace ioc_exporter::app

#include "app/privileges.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "support/value_of.h"

namespace ioc_exporter::app {
namespace {

// Whether `holds` does so in a child process: rights do not come back.
bool in_child(const std::function<bool()>& holds) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(holds() ? 0 : 1);
  int status = -1;
  ::waitpid(child, &status, 0);
  return status == 0;
}

bool has(cap_value_t capability, cap_flag_t set) {
  cap_t caps = cap_get_proc();
  cap_flag_value_t value = CAP_CLEAR;
  cap_get_flag(caps, capability, set, &value);
  cap_free(caps);
  return value == CAP_SET;
}

TEST(Privileges, Words) {
  EXPECT_EQ(value_of(parse_capabilities({"bpf", "CAP_SYS_PTRACE", "cap_net_raw"})),
            (std::vector<cap_value_t>{CAP_BPF, CAP_SYS_PTRACE, CAP_NET_RAW}));
  EXPECT_TRUE(value_of(parse_capabilities({"none"})).empty());
  for (const std::string word : {"", "bfp", "38", "none", "all"})
    EXPECT_EQ(error_of(parse_capabilities({"bpf", word})),
              '"' + word + "\" is no capability, such as bpf or sys_ptrace");
}

TEST(Privileges, OnlyTheKeptCapabilitiesAreLeft) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root has rights to drop";
  EXPECT_TRUE(in_child([] {
    const auto text = drop_privileges({"12345", {CAP_NET_RAW, CAP_DAC_READ_SEARCH}});
    return text && *text == "runs as user 12345 with dac_read_search,net_raw" &&
           ::getuid() == 12345 && ::geteuid() == 12345 && ::getgroups(0, nullptr) == 0 &&
           has(CAP_NET_RAW, CAP_EFFECTIVE) && !has(CAP_SYS_ADMIN, CAP_PERMITTED) &&
           !has(CAP_NET_RAW, CAP_INHERITABLE) && cap_get_bound(CAP_SYS_ADMIN) == 0 &&
           ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 && ::setuid(0) != 0;
  }));
}

TEST(Privileges, SomeAreOutOfEffectForAWhile) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root has rights to put aside";
  EXPECT_TRUE(in_child([] {
    bool during = false;
    const auto done = with_only({CAP_NET_RAW}, [&during] {
      during = has(CAP_NET_RAW, CAP_EFFECTIVE) && !has(CAP_SYS_ADMIN, CAP_EFFECTIVE);
    });
    return done && during && has(CAP_SYS_ADMIN, CAP_EFFECTIVE);
  }));
}

TEST(Privileges, NoneAtAllAndRootStaysWithoutTheRest) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root has rights to drop";
  EXPECT_TRUE(in_child([] {
    const auto text = drop_privileges({"12345", {}});
    return text && *text == "runs as user 12345 without capabilities" && ::getuid() == 12345 &&
           ::getgid() == 12345 && !has(CAP_NET_RAW, CAP_PERMITTED);
  }));
  EXPECT_TRUE(in_child([] {
    const auto text = drop_privileges({"root", {CAP_NET_RAW}});
    return text && *text == "runs as user root with net_raw" && ::geteuid() == 0 &&
           has(CAP_NET_RAW, CAP_EFFECTIVE) && !has(CAP_CHOWN, CAP_PERMITTED);
  }));
  EXPECT_TRUE(in_child([] {
    Privileges all{"root", {}, true};
    return drop_privileges(all) && has(CAP_CHOWN, CAP_EFFECTIVE);
  }));
}

// Other processes of nobody could send it SIGUSR1.
TEST(Privileges, NeverAnUnknownUserOrNobody) {
  if (::geteuid() != 0) GTEST_SKIP() << "who is not root stays who he is";
  EXPECT_EQ(error_of(drop_privileges({"no-such-user", {}})),
            "become user no-such-user: there is no such user");
  for (const char* name : {"nobody", "65534"}) {
    const std::string said = error_of(drop_privileges({name, {}}));
    EXPECT_NE(said.find("other services run as it"), std::string::npos) << name << ": " << said;
  }
  EXPECT_EQ(::geteuid(), 0u);
}

// A tree in which processes run as all of these ids but one.
TEST(Privileges, AnIdThatNobodyElseHas) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root has rights to drop";
  if (::getpwnam("ioc_exporter") != nullptr) GTEST_SKIP() << "there is the user ioc_exporter";
  constexpr unsigned kFree = 62000;
  const std::filesystem::path root = testing::TempDir() + "ids." + std::to_string(::getpid());
  const auto add_process = [&root](const char* pid, const std::string& status) {
    std::filesystem::create_directories(root / "proc" / pid);
    std::ofstream(root / "proc" / pid / "status") << status;
  };
  std::string groups;
  for (unsigned id = 61184; id <= 65519; ++id)
    if (id != kFree && id != 61500) groups += " " + std::to_string(id);
  add_process("77", "Name:\tmany\nUid:\t0\t0\t61500\t0\nGroups:\t" + groups + "\n");
  EXPECT_TRUE(in_child([&] {
    const auto text = drop_privileges({"", {}}, RootedFs(root));
    return text && ::getuid() == kFree && ::getgid() == kFree && ::getgroups(0, nullptr) == 0;
  }));
  add_process("78", "Gid:\t0\t0\t62000\t0\n");
  EXPECT_EQ(error_of(drop_privileges({"", {}}, RootedFs(root))),
            "become a user of its own: all ids from 61184 to 65519 are in use");
  std::filesystem::remove_all(root);
}

// Neither pushes characters into a terminal nor reads from it any more.
TEST(Privileges, LeavesItsTerminal) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root has rights to drop";
  const int master = ::posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_GE(master, 0);
  ASSERT_EQ(::grantpt(master), 0);
  ASSERT_EQ(::unlockpt(master), 0);
  const std::string name = ::ptsname(master);
  EXPECT_TRUE(in_child([&name] {  // the shell; its child is the exporter
    ::setsid();
    const int terminal = ::open(name.c_str(), O_RDWR);
    return terminal >= 0 && ::ioctl(terminal, TIOCSCTTY, 0) >= 0 && in_child([] {
             const int before = ::open("/dev/tty", O_RDONLY);
             return before >= 0 && drop_privileges({"12345", {}}) &&
                    ::open("/dev/tty", O_RDONLY) < 0 && errno == ENXIO;
           });
  }));
  ::close(master);
}

// A thread keeps what it has.
TEST(Privileges, OnlyBeforeThreads) {
  std::latch over(1);
  std::thread other([&over] { over.wait(); });
  EXPECT_EQ(error_of(drop_privileges({"", {}})), "drop privileges: 2 threads run already");
  over.count_down();
  other.join();
}

}  // namespace
}  // namespace ioc_exporter::app

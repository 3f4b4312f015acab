// What operators are told where a probe cannot be loaded.
#include "kernel/load_error.h"

#include <gtest/gtest.h>

#include "support/temporary_folder.h"

namespace ioc_exporter::kernel {
namespace {

constexpr const char* kLockdown = "/sys/kernel/security/lockdown";

// `capabilities`: of the exporter, as the kernel shows them.
std::string explained(std::errc cause, const char* capabilities, const char* lockdown) {
  const TemporaryFolder root;
  root.write("/proc/self/status", std::string("Name:\tx\nCapEff:\t") + capabilities + "\nX:\t1\n");
  root.write(kLockdown, lockdown);
  return explain_load_error(Error{std::make_error_code(cause), "load object it"},
                            RootedFs(root.path()));
}

TEST(LoadError, ARightIsMissing) {
  for (const char* capabilities : {"0000008000082004", "000000c000000000"})
    EXPECT_EQ(explained(std::errc::operation_not_permitted, capabilities, "[none] integrity"),
              "load object it: Operation not permitted: a capability is missing (CAP_BPF, "
              "CAP_PERFMON, CAP_NET_RAW; CAP_SYS_ADMIN where probes are perf events)");
}

TEST(LoadError, AUserWithTheRightIsNotToldThatItIsMissing) {
  EXPECT_EQ(explained(std::errc::operation_not_permitted, "000001c000282004", "[none] integrity"),
            "load object it: Operation not permitted");
}

TEST(LoadError, TheKernelIsLockedDown) {
  const auto refused = [](const char* lockdown) {
    return explained(std::errc::invalid_argument, "000001ffffffffff", lockdown);
  };
  EXPECT_EQ(refused("none [integrity] confidentiality\n"), "load object it: Invalid argument");
  EXPECT_EQ(
      refused("none integrity [confidentiality]\n"),
      "load object it: Invalid argument: the kernel is locked down (confidentiality) and lets "
      "no BPF program read memory");
}

}  // namespace
}  // namespace ioc_exporter::kernel

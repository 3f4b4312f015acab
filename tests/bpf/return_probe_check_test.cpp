// Return probes and seccomp: what the running kernel does, and that the trial would see it.
#include "records/return_probe_check.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>

#include "records/hit_target.h"

namespace ioc_exporter::records {
namespace {

// Linux 6.11 to 6.13 may say either: releases of 6.12 and 6.13 have the mending or not.
bool may_lack_the_mending() {
  utsname name{};
  int major = 0, minor = 0;
  ::uname(&name);
  return std::sscanf(name.release, "%d.%d", &major, &minor) == 2 && major == 6 && minor >= 11 &&
         minor <= 13;
}

TEST(ReturnProbeCheck, SaysWhatThisKernelDoes) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to load BPF programs";
  const auto pass = return_probes_pass_filters();
  ASSERT_TRUE(pass) << pass.error().message();
  if (!may_lack_the_mending()) {
    EXPECT_TRUE(*pass);
  }
}

TEST(ReturnProbeCheck, AChildIsEndedByTheSystemCallThatItMayNotMake) {
  auto free = HitTarget::start();
  ASSERT_TRUE(free) << free.error().message();
  EXPECT_TRUE(free->call(1));
  auto bound = HitTarget::start(SYS_write);  // which it answers by
  ASSERT_TRUE(bound) << bound.error().message();
  EXPECT_FALSE(bound->call(1));
}

}  // namespace
}  // namespace ioc_exporter::records

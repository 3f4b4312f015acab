// What threads of IOCs used that have ended.
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <thread>
#include <utility>

#include "iocs/health/exit_watch.h"
#include "kernel/load_error.h"
#include "support/value_of.h"

namespace ioc_exporter::iocs {
namespace {

class IocExits : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to load BPF programs";
    if (!kernel::has_btf()) GTEST_SKIP() << "this kernel has no BTF";
    object_.emplace(value_of(ExitObject::load()));
  }

  CpuByClass cpu(std::uint32_t pid) {
    const auto exit = value_of(object_->exits().lookup(pid));
    CpuByClass cpu{};
    if (exit) std::ranges::copy(exit->cpu_ns, cpu.begin());
    return cpu;
  }
  // What a thread of that name used by its own clock, which has ended then.
  static std::uint64_t run_thread(const char* name) {
    std::uint64_t used = 0;
    std::thread([&] {
      ::prctl(PR_SET_NAME, name);
      while (used < 3'000'000) {
        timespec now{};
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        used = static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
               static_cast<std::uint64_t>(now.tv_nsec);
      }
    }).join();
    return used;
  }

  std::optional<ExitObject> object_;
};

// By the thread's last name; the first thread has a class of its own.
TEST_F(IocExits, TimeOfThreadsThatEndIsTold) {
  const auto self = static_cast<std::uint32_t>(::getpid());
  ASSERT_TRUE(object_->exits().update(self, {}));
  CpuByClass before{};
  for (const auto& [name, thread_class] : {std::pair{"CAS-client", ThreadClass::ca},
                                           {"scan-0.1", ThreadClass::scan},
                                           {"scan", ThreadClass::other},
                                           {"cbMedium-3", ThreadClass::callback},
                                           {"scanOnce", ThreadClass::once},
                                           {"PVXTCP", ThreadClass::pva},
                                           {"motorSimThread", ThreadClass::other},
                                           {"dbCaLink", ThreadClass::ca}}) {
    SCOPED_TRACE(name);
    const std::uint64_t used = run_thread(name);
    const auto i = static_cast<std::size_t>(thread_class);
    CpuByClass now = cpu(self);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (now[i] < before[i] + used && std::chrono::steady_clock::now() < end) now = cpu(self);
    EXPECT_GE(now[i], before[i] + used);
    before[i] = now[i];
    EXPECT_EQ(now, before) << "and nothing else";
  }
  EXPECT_TRUE(object_->exits().erase(self));
}

}  // namespace
}  // namespace ioc_exporter::iocs

// A tap whose tables are kept in a bpffs, which each test mounts for itself.
#pragma once

#include <gtest/gtest.h>

#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "bpf/ca_tap_fixture.h"

namespace ioc_exporter::testing {

class CaTapPinTest : public CaTapTest {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root: mounts a bpffs, loads BPF programs";
    mount_point_ = (std::filesystem::temp_directory_path() / "ca_pin_XXXXXX").string();
    ASSERT_NE(::mkdtemp(mount_point_.data()), nullptr);
    if (::mount("bpf", mount_point_.c_str(), "bpf", 0, nullptr) != 0)
      GTEST_SKIP() << "cannot mount a bpffs: " << std::strerror(errno);
    mounted_ = true;
    pin_directory_ = mount_point_ + "/ioc_exporter";
    start({});
  }
  void TearDown() override {
    tap_.reset();
    if (mounted_) {
      EXPECT_EQ(::umount(mount_point_.c_str()), 0) << std::strerror(errno);
    }
    if (!mount_point_.empty()) std::filesystem::remove_all(mount_point_);
  }
  void stop() {
    ASSERT_TRUE(tap_->reap());  // as each second: what the next run must know is noted
    tap_.reset();
  }
  std::uint64_t puts_of_anna(const std::string& pv) {
    const ca::CaPutLabels wanted{kIoc, pv, "127.0.0.1", "anna", "h1"};
    std::uint64_t sum = 0;
    for (const auto& one : collect().puts)
      if (one.labels == wanted) sum += one.count;
    return sum;
  }

  std::string mount_point_;
  bool mounted_ = false;
};

}  // namespace ioc_exporter::testing

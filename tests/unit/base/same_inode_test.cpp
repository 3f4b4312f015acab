#include "base/same_inode.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>

#include "base/unique_fd.h"

namespace ioc_exporter {
namespace {

constexpr std::uint64_t kSize = 3 * 4096;

UniqueFd memory(const char* name) {
  UniqueFd fd(::memfd_create(name, MFD_CLOEXEC));
  EXPECT_EQ(::ftruncate(fd.get(), kSize), 0);
  return fd;
}

UniqueFd again(const UniqueFd& file) {
  return UniqueFd(
      ::open(("/proc/self/fd/" + std::to_string(file.get())).c_str(), O_RDONLY | O_CLOEXEC));
}

TEST(SameInode, IsFoundAmongFilesOfTheSameContent) {
  const UniqueFd file = memory("a"), copy = memory("b"), other = memory("c");
  const UniqueFd face = again(file);
  for (const std::uint64_t offset : {0u, 4097u, 12287u}) {
    const std::array files{copy.get(), face.get(), other.get()};
    const auto found = find_same_inode(file.get(), files, offset);
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_EQ(*found, 1u);
  }
  const std::array files{copy.get(), other.get()};
  const auto none = find_same_inode(file.get(), files, 100);
  ASSERT_TRUE(none) << none.error().message();
  EXPECT_FALSE(*none);
}

// A thread that has just started is woken for no reason now and then.
TEST(SameInode, IsTheSameAnswerEachTime) {
  const UniqueFd file = memory("a"), copy = memory("b"), face = again(file);
  const std::array files{copy.get(), face.get()};
  const std::array others{copy.get()};
  for (int i = 0; i < 1000; ++i) {
    const auto found = find_same_inode(file.get(), files, 0);
    const auto none = find_same_inode(file.get(), others, 0);
    ASSERT_TRUE(found && none);
    ASSERT_EQ(*found, 1u);
    ASSERT_FALSE(*none);
  }
}

// Another process may wait on a page of any file that it can read.
TEST(SameInode, SomebodyElseWhoSleepsThereIsNotTakenForAMatch) {
  const UniqueFd file = memory("a"), copy = memory("b");
  void* const page = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, copy.get(), 0);
  ASSERT_NE(page, MAP_FAILED);
  std::atomic<bool> over = false;
  std::thread sleeper([&] {
    const timespec tick{0, 1'000'000};
    while (!over) ::syscall(SYS_futex, page, FUTEX_WAIT, 0, &tick, nullptr, 0);
  });
  const std::array files{copy.get()};
  for (int i = 0; i < 5; ++i) {
    const auto found = find_same_inode(file.get(), files, 0);
    EXPECT_TRUE(found && !*found);
  }
  over = true;
  sleeper.join();
  ::munmap(page, 4096);
}

TEST(SameInode, WhatCannotBeMappedIsNoMatchAndNoHang) {
  const UniqueFd file = memory("a"), face = again(file);
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]), writer(ends[1]);
  const std::array files{reader.get(), -1, face.get()};
  const auto found = find_same_inode(file.get(), files, 0);
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(*found, 2u);
  EXPECT_FALSE(find_same_inode(reader.get(), files, 0));
}

TEST(SameInode, BehindTheEndOfAFileThatWasCutIsAnError) {
  const UniqueFd file = memory("a"), face = again(file);
  const std::array files{face.get()};
  ASSERT_EQ(::ftruncate(file.get(), 4096), 0);
  EXPECT_FALSE(find_same_inode(file.get(), files, 8192));
}

}  // namespace
}  // namespace ioc_exporter

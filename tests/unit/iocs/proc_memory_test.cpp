#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "database_image.h"
#include "iocs/find/process_stat.h"
#include "iocs/memory/memory.h"

namespace ioc_exporter::iocs {
namespace {

TEST(ProcMemory, ReadsUpToTheEndOfWhatIsMapped) {
  const auto memory = own_memory();
  ASSERT_NE(memory, nullptr);
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  auto* const pages = static_cast<char*>(
      ::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  ASSERT_EQ(::munmap(pages + page, page), 0);
  std::memset(pages, 'x', page);
  const std::uint64_t end = DatabaseImage::address(pages) + page;
  std::byte bytes[32];
  const auto some = memory->read_some(end - 8, bytes);
  ASSERT_TRUE(some);
  EXPECT_EQ(*some, 8u);
  EXPECT_EQ(bytes[7], std::byte{'x'});
  EXPECT_TRUE(memory->read(end - 32, bytes));
  const auto cut = memory->read(end - 8, bytes);
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().message(), "read memory at " + hex_address(end) + " (pid " +
                                       std::to_string(::getpid()) + "): not mapped");
  EXPECT_FALSE(memory->value<int>(0));
  EXPECT_FALSE(memory->value<int>(~0ull - 2));
  EXPECT_FALSE(memory->value<int>(1ull << 63));
  ::munmap(pages, page);
}

TEST(ProcMemory, AnotherProcessWithThePidIsRefused) {
  const RootedFs host("/");
  auto id = iocs::read_process_stat(host, ::getpid())->id;
  ++id.start_ticks;
  const auto memory = ProcMemory::open(host, id);
  ASSERT_FALSE(memory);
  EXPECT_NE(memory.error().message().find("the process has ended"), std::string::npos);
  EXPECT_FALSE(ProcMemory::open(host, {0x7FFFFFF0, 1}));
}

TEST(ProcMemory, AfterTheProcessEndedNothingIsRead) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  const RootedFs host("/");
  static const int value = 4711;
  const auto address = DatabaseImage::address(&value);
  const auto stat = iocs::read_process_stat(host, child);
  ASSERT_TRUE(stat);
  const auto memory = ProcMemory::open(host, stat->id);
  if (memory) {
    const auto alive = (*memory)->value<int>(address);
    EXPECT_TRUE(alive && *alive == 4711);
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ASSERT_TRUE(memory) << memory.error().message();
  const auto dead = (*memory)->value<int>(address);
  ASSERT_FALSE(dead);
  EXPECT_NE(dead.error().message().find("the process has ended"), std::string::npos);
}

}  // namespace
}  // namespace ioc_exporter::iocs

#include "iocs/process_stat.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace ioc_exporter::iocs {
namespace {

const std::string kRest =
    " S 11 22 22 0 -1 4194560 5 0 0 0 1 2 0 0 20 0 7 0 987654 1232896 3 18446744073709551615 "
    "94000 95000 140700 0 0 0 0 4096 65536 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n";

TEST(ProcessStat, CommWithSpacesAndParentheses) {
  const auto stat = parse_process_stat("812 (a) (b c) )" + kRest);
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->comm, "a) (b c) ");
  EXPECT_EQ(stat->id, (IocId{812, 987654}));
  EXPECT_EQ(stat->state, 'S');
  EXPECT_EQ(stat->parent, 11);
  EXPECT_EQ(stat->threads, 7u);
  EXPECT_EQ(stat->vsize, 1232896u);
  EXPECT_EQ(stat->start_code, 94000u);
  EXPECT_EQ(stat->start_stack, 140700u);
  EXPECT_FALSE(stat->kernel_thread());
  EXPECT_FALSE(stat->dead());
}

TEST(ProcessStat, KernelThreadsAndZombies) {
  const std::string counts = " 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0 0 0 0 0 0\n";
  const auto kernel_thread = parse_process_stat("2 (kthreadd) S 0 0 0 0 -1 2129984" + counts);
  ASSERT_TRUE(kernel_thread);
  EXPECT_TRUE(kernel_thread->kernel_thread());
  const auto zombie = parse_process_stat("3 (x) Z 0 0 0 0 -1 0" + counts);
  ASSERT_TRUE(zombie);
  EXPECT_TRUE(zombie->dead());
}

TEST(ProcessStat, CutOrForeignTextIsNothing) {
  const std::string whole = "812 (x)" + kRest;
  EXPECT_TRUE(parse_process_stat(whole));
  for (std::size_t size = 0; size < 100; ++size)
    EXPECT_FALSE(parse_process_stat(whole.substr(0, size))) << size;
  EXPECT_FALSE(parse_process_stat("no parentheses"));
  EXPECT_FALSE(parse_process_stat(")(" + kRest));
}

TEST(ProcessStat, OfThisProcess) {
  const auto stat = read_process_stat(RootedFs("/"), ::getpid());
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->id.pid, ::getpid());
  EXPECT_EQ(stat->parent, ::getppid());
  EXPECT_GT(stat->vsize, 1000000u);
  EXPECT_FALSE(read_process_stat(RootedFs("/"), 0x7FFFFFF0));
}

}  // namespace
}  // namespace ioc_exporter::iocs

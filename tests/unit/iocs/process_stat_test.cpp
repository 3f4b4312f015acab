#include "iocs/find/process_stat.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "target_process.h"

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

// pthread_exit(3) in main: the process is no zombie, though its main thread is.
TEST(ProcessStat, AProcessWhoseMainThreadHasEnded) {
  const std::string main_thread =
      "7 (x) Z 1 0 0 0 -1 4227084 0 0 0 0 3 4 0 0 20 0 5 0 100 0 0 0 0 0 0\n";
  auto stat = parse_process_stat(main_thread);
  ASSERT_TRUE(stat);
  EXPECT_TRUE(stat->main_thread_ended());
  EXPECT_FALSE(stat->dead());
  const TemporaryFolder folder;
  const RootedFs fs(folder.path());
  EXPECT_FALSE(choose_thread(fs, *stat)) << "none of the others is there any more";

  const auto thread = [&](int tid, const std::string& rest) {
    const std::string task = "/proc/7/task/" + std::to_string(tid);
    folder.write(task + "/stat", std::to_string(tid) + " (y) " + rest);
    folder.link(task + "/exe", "/bin/x");
  };
  thread(9, "S 1 0 0 0 -1 64 0 0 0 0 9 9 0 0 20 0 5 0 200 5000 12 0 94 95 140\n");
  ASSERT_TRUE(choose_thread(fs, *stat));
  EXPECT_EQ(stat->thread, 9);
  EXPECT_EQ(stat->id, (IocId{7, 100})) << "it is the same process";
  EXPECT_EQ(stat->comm, "x");
  EXPECT_EQ(stat->cpu_ticks, 7u);
  EXPECT_EQ(stat->threads, 5u);
  EXPECT_EQ(stat->vsize, 5000u);
  EXPECT_EQ(stat->resident_pages, 12u);
  EXPECT_EQ(stat->start_code, 94u);
  EXPECT_EQ(stat->start_stack, 140u);
  EXPECT_FALSE(stat->forked()) << "all threads are, by their flags";
  EXPECT_TRUE(stat->main_thread_ended());

  // The one that was chosen, as long as it lives.
  thread(8, "S 1 0 0 0 -1 64 0 0 0 0 9 9 0 0 20 0 5 0 200 6000 12 0 94 95 140\n");
  stat = parse_process_stat(main_thread);
  EXPECT_TRUE(choose_thread(fs, *stat, 9));
  EXPECT_EQ(stat->thread, 9);
  thread(9, "Z 1 0 0 0 -1 64 0 0 0 0 9 9 0 0 20 0 5 0 200 0 0 0 0 0 0\n");
  std::filesystem::remove(folder.path("/proc/7/task/9/exe"));
  stat = parse_process_stat(main_thread);
  EXPECT_TRUE(choose_thread(fs, *stat, 9));
  EXPECT_EQ(stat->thread, 8);
}

// Between the two, a main thread that ends has no memory and is no zombie yet. That is no exec.
TEST(ProcessStat, AMainThreadThatIsEnding) {
  const auto before =
      parse_process_stat("7 (x) S 1 0 0 0 -1 0 0 0 0 0 3 4 0 0 20 0 5 0 100 5000 9 0 94 95 140\n");
  const auto now =
      parse_process_stat("7 (x) R 1 0 0 0 -1 0 0 0 0 0 3 4 0 0 20 0 5 0 100 0 0 0 0 0 0\n");
  ASSERT_TRUE(before && now);
  EXPECT_FALSE(before->main_thread_ended());
  EXPECT_TRUE(now->main_thread_ended());
  EXPECT_FALSE(now->dead());
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

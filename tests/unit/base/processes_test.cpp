// Processes: their statistics, helpers, and work that several share.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <latch>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/helper.h"
#include "base/process_stats.h"
#include "base/shared_work.h"
#include "support/temporary_folder.h"
#include "support/value_of.h"

namespace ioc_exporter {
namespace {

constexpr ProcessUnits kUnits{100, 4096};

class ProcessStatsTest : public testing::Test {
 protected:
  ProcessStatsTest() {
    write("proc/self/stat",
          "812 (ioc) exporter) S 1 812 812 0 -1 4194560 900 0 0 0 125 75 0 0 20 0 9 0 50025 "
          "268435456 4096 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0\n");
    write("proc/self/limits",
          "Limit                     Soft Limit           Hard Limit           Units     \n"
          "Max processes             63432                63432                processes \n"
          "Max open files            1024                 1048576              files     \n");
    write("proc/stat", "cpu  1 2 3\nintr 5 0 0\nbtime 1790000000\nprocesses 9\n");
    for (const char* fd : {"0", "1", "2"}) write(std::string("proc/self/fd/") + fd, "");
  }
  void write(const std::string& path, const std::string& content) {
    folder_.write("/" + path, content);
  }
  Result<ProcessStats> read() const { return read_process_stats(RootedFs(root_), kUnits); }

  const TemporaryFolder folder_;
  const std::string root_ = folder_.path();
};

TEST_F(ProcessStatsTest, ReadsAll) {
  const auto stats = value_of(read());
  EXPECT_EQ(stats.cpu_seconds, 2.0);
  EXPECT_EQ(stats.boot_time_seconds, 1790000000);
  EXPECT_EQ(stats.start_time_seconds, 1790000500.25);
  EXPECT_EQ(stats.virtual_memory_bytes, 268435456u);
  EXPECT_EQ(stats.resident_memory_bytes, 4096u * 4096u);
  EXPECT_EQ(stats.max_fds, 1024u);
  EXPECT_EQ(stats.open_fds, 3u);
}

TEST_F(ProcessStatsTest, UnlimitedFilesAndClosedDirectory) {
  write("proc/self/limits",
        "Max open files            unlimited            unlimited            files\n");
  std::filesystem::remove_all(root_ + "/proc/self/fd");
  const auto stats = value_of(read());
  EXPECT_EQ(stats.max_fds, UINT64_MAX);
  EXPECT_FALSE(stats.open_fds.has_value());
}

TEST_F(ProcessStatsTest, NamesTheFileThatIsMissingOrOdd) {
  write("proc/stat", "cpu 1\n");
  EXPECT_EQ(error_of(read()), "read " + root_ + "/proc/stat: not in the form of proc(5)");
  write("proc/self/stat", "812 (x) S 1 2\n");
  EXPECT_EQ(error_of(read()), "read " + root_ + "/proc/self/stat: not in the form of proc(5)");
  std::filesystem::remove(root_ + "/proc/self/stat");
  EXPECT_EQ(error_of(read()), "open " + root_ + "/proc/self/stat: No such file or directory");
}

TEST(ProcessStats, StatsOfThisProcessArePlausible) {
  const auto stats = value_of(read_process_stats(RootedFs()));
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  EXPECT_NEAR(stats.start_time_seconds, now, 60);
  EXPECT_GT(stats.resident_memory_bytes, 100'000u);
  EXPECT_GT(stats.virtual_memory_bytes, stats.resident_memory_bytes);
  EXPECT_GE(value_of(stats.open_fds), 3u);
  EXPECT_GE(stats.max_fds, *stats.open_fds);
}

constexpr std::uint32_t kOpen = 1, kRefuse = 2, kNothing = 3, kReadOne = 4;

Result<UniqueFd> serve(const HelperRequest& request, const UniqueFd& file) {
  if (request.what == kNothing) return UniqueFd();
  if (request.what == kRefuse)
    return error_from_errno(ESRCH, "look for " + std::to_string(request.pid));
  char byte = 0;
  // Whoever holds the other end of the pipe decides when this is answered.
  if (request.what == kReadOne && ::read(file.get(), &byte, 1) < 0) return last_error("read");
  if (request.what == kReadOne) return UniqueFd(::fcntl(file.get(), F_DUPFD_CLOEXEC, 0));
  return UniqueFd(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
}

std::shared_ptr<Helper> started() {
  return value_of(Helper::start({"test-helper", [] { return Result<void>(); }, serve}));
}

struct Pipe {
  UniqueFd out, in;

  Pipe() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    out.reset(ends[0]);
    in.reset(ends[1]);
  }
};

bool has_ended(pid_t pid) {
  return ::waitpid(pid, nullptr, 0) == pid || ::kill(pid, 0) != 0;
}

TEST(Helper, AnswersWithADescriptorNothingOrAnError) {
  const auto helper = started();
  const auto opened = helper->ask({.what = kOpen});
  ASSERT_TRUE(opened && *opened);
  char byte = 1;
  EXPECT_EQ(::read(opened->get(), &byte, 1), 1);
  EXPECT_EQ(byte, 0);
  const auto nothing = helper->ask({.what = kNothing});
  EXPECT_TRUE(nothing && !*nothing);
  const auto refused = helper->ask({.what = kRefuse, .pid = 812});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, std::errc::no_such_process);
  EXPECT_EQ(refused.error().context, "look for 812");
}

TEST(Helper, LeavesTheLastQuarterOfTheDescriptors) {
  const auto helper = started();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{128, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  std::vector<UniqueFd> taken;
  auto next = helper->ask({.what = kOpen});
  for (; next; next = helper->ask({.what = kOpen})) taken.push_back(std::move(*next));
  EXPECT_EQ(next.error().code, std::errc::too_many_files_open);
  EXPECT_EQ(taken.back().get(), 95);
  while (taken.back().get() < 127) taken.emplace_back(::dup(taken.back().get()));
  // The kernel finds no room.
  EXPECT_EQ(helper->ask({.what = kOpen}).error().code, std::errc::too_many_files_open);
  EXPECT_TRUE(helper->ask({.what = kNothing}));
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(Helper, GivesUpAHangingRequestAndGoesOnWhenItIsDone) {
  const auto helper = started();
  const Pipe pipe;
  const auto late = helper->ask({.what = kReadOne}, pipe.out.get(), std::chrono::milliseconds(50));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, std::errc::timed_out);
  const auto meanwhile = helper->ask({.what = kOpen});
  ASSERT_FALSE(meanwhile);
  EXPECT_EQ(meanwhile.error().code, std::errc::timed_out);
  ASSERT_EQ(::write(pipe.in.get(), "x", 1), 1);
  Result<UniqueFd> after = helper->ask({.what = kNothing});
  while (!after) after = helper->ask({.what = kNothing});
  EXPECT_FALSE(*after);  // its own answer, not the late one
}

// Nobody asks again.
TEST(Helper, ClosesALateAnswer) {
  const auto helper = started();
  Pipe pipe;
  EXPECT_FALSE(helper->ask({.what = kReadOne}, pipe.out.get(), std::chrono::milliseconds(50)));
  pipe.out.reset();
  ASSERT_EQ(::write(pipe.in.get(), "x", 1), 1);
  pollfd has_no_reader{pipe.in.get(), 0, 0};
  for (int i = 0; i < 1200 && has_no_reader.revents == 0; ++i) {
    helper->close_late_answer();
    ::poll(&has_no_reader, 1, 50);
  }
  EXPECT_EQ(has_no_reader.revents, POLLERR);
}

TEST(Helper, ARequestThatHangsDelaysNoOtherChannel) {
  const auto helper =
      *Helper::start({"test-helper", [] { return Result<void>(); }, serve,
                      [](const HelperRequest& one) { return one.what == kReadOne; }});
  const auto other = *helper->open_channel();
  const Pipe pipe;
  EXPECT_FALSE(helper->ask({.what = kReadOne}, pipe.out.get(), std::chrono::milliseconds(50)));
  const auto opened = other->ask({.what = kOpen});
  EXPECT_TRUE(opened && *opened);
  ASSERT_EQ(::write(pipe.in.get(), "x", 1), 1);
  Result<UniqueFd> after = helper->ask({.what = kNothing});
  while (!after) after = helper->ask({.what = kNothing});
  EXPECT_FALSE(*after);
}

TEST(Helper, EndsWithItsOwnerAndIsMissedWhenItEnds) {
  auto helper = started();
  EXPECT_FALSE(helper->is_gone());
  const pid_t pid = helper->pid();
  helper.reset();
  EXPECT_TRUE(has_ended(pid));
  const auto killed = started();
  ::kill(killed->pid(), SIGKILL);
  EXPECT_TRUE(has_ended(killed->pid()));
  EXPECT_TRUE(killed->is_gone());
  EXPECT_FALSE(killed->ask({.what = kNothing}));
}

TEST(Helper, DoesNotRunUnconfined) {
  EXPECT_EQ(error_of(Helper::start(
                {"test-helper", [] { return Result<void>(error_in_words("give up rights: no")); },
                 serve})),
            "start the helper process test-helper: give up rights: no");
}

// Tells how many threads have looked for one: they do it under the lock, so whoever has looked
// while the work is under way has found it.
struct Key {
  int number = 0;
  static inline std::atomic<int> looked = 0;

  bool operator<(const Key& other) const {
    thread_local bool counted = false;
    if (!counted) ++looked;
    counted = true;
    return number < other.number;
  }
};

TEST(SharedWork, CallersDuringTheWorkShareItsResult) {
  constexpr int kOthers = 7;
  SharedWork<Key, std::string> work;
  std::latch begun(1), go_on(1);
  std::vector<SharedWork<Key, std::string>::Shared> got(kOthers + 1);
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    got[0] = work.get({1}, [&] {
      begun.count_down();
      go_on.wait();
      return std::string("answer");
    });
  });
  begun.wait();
  Key::looked = 0;
  for (std::size_t i = 1; i <= kOthers; ++i)
    threads.emplace_back(
        [&, i] { got[i] = work.get({1}, [] { return std::string("made again"); }); });
  while (Key::looked < kOthers) std::this_thread::yield();
  EXPECT_EQ(*work.get({2}, [] { return std::string("another key"); }), "another key");
  go_on.count_down();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(*got[0], "answer");
  for (const auto& one : got) EXPECT_EQ(one, got[0]);
}

TEST(SharedWork, NothingIsKeptNorIsAFailure) {
  SharedWork<int, int> work;
  int made = 0;
  EXPECT_EQ(*work.get(1, [&] { return ++made; }), 1);
  EXPECT_EQ(*work.get(1, [&] { return ++made; }), 2);
  EXPECT_THROW(work.get(1, []() -> int { throw std::runtime_error("no"); }), std::runtime_error);
  EXPECT_EQ(*work.get(1, [&] { return ++made; }), 3);
}

}  // namespace
}  // namespace ioc_exporter

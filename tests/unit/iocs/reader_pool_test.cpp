// Readers, and the pauses of what they read.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "iocs/find/process_stat.h"
#include "iocs/memory/reader_pool.h"
#include "iocs/memory/reader_wire.h"
#include "iocs/memory/reading_pauses.h"
#include "support/value_of.h"
#include "target_process.h"

namespace ioc_exporter::iocs {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr pid_t kPid = 4711;
constexpr ReadingPauses::Clock::time_point kStart{seconds(100'000)};

// How long the process pauses after a hang at `now`, to the second above.
seconds rest_after_hang(ReadingPauses& pauses, ReadingPauses::Clock::time_point now) {
  pauses.note_hang(kPid, now);
  seconds rested{0};
  while (pauses.is_paused(kPid, now + rested)) rested += seconds(1);
  return rested;
}

TEST(ReadingPauses, ASilentReaderRestsForASecondThenForTwiceAsLong) {
  ReadingPauses pauses;
  auto now = kStart;
  EXPECT_FALSE(pauses.is_paused(kPid, now));
  for (const int expected : {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 3600, 3600}) {
    EXPECT_EQ(rest_after_hang(pauses, now), seconds(expected));
    now += seconds(expected);
  }
}

TEST(ReadingPauses, AReaderThatAnsweredForLongIsForgiven) {
  ReadingPauses pauses;
  auto now = kStart;
  for (int i = 0; i < 8; ++i) now += rest_after_hang(pauses, now);
  // The last rest was 128 s, the next would be 256 s.
  EXPECT_EQ(rest_after_hang(pauses, now + seconds(255)), seconds(256));
  now += seconds(255 + 256);
  EXPECT_EQ(rest_after_hang(pauses, now + seconds(513)), seconds(1));
}

TEST(ReadingPauses, OthersGoOnWhileOneRests) {
  ReadingPauses pauses;
  pauses.note_hang(kPid, kStart);
  EXPECT_TRUE(pauses.is_paused(kPid, kStart));
  EXPECT_FALSE(pauses.is_paused(kPid + 1, kStart));
  EXPECT_EQ(pauses.paused(kStart), 1u);
  EXPECT_EQ(pauses.paused(kStart + seconds(1)), 0u);
  pauses.forget(kPid);
  EXPECT_FALSE(pauses.is_paused(kPid, kStart)) << "another process has its number";
}

// Readers that get no CPU, and readers that hang, as real processes.

constexpr pid_t kOwner = 4711;

class ReaderPoolOfSlowReaders : public testing::Test {
 protected:
  ReaderPoolOfSlowReaders() : pool_(RootedFs(tree_.path())) { pool_.use_helper(helper_); }

  Result<elf::ElfSymbols> symbols(const UniqueFd& file) {
    return pool_.symbols(kOwner, file.get(), "a file");
  }
  // A child of the helper: those of an earlier test's may still be ending.
  pid_t reader_named(std::string_view comm) const {
    const RootedFs host("/");
    for (const pid_t pid : Folder::open(host, "/proc")->numbers()) {
      const auto stat = read_process_stat(host, pid);
      if (stat && stat->comm == comm && stat->parent == helper_->pid()) return pid;
    }
    return 0;
  }
  // Returns once the reader is stopped; a signal alone may still be on its way.
  static void stop(pid_t reader) {
    ASSERT_GT(reader, 0);
    ASSERT_EQ(::kill(reader, SIGSTOP), 0);
    const RootedFs host("/");
    const auto is_stopped = [&] {
      const auto stat = read_process_stat(host, reader);
      return !stat || stat->state == 'T';
    };
    while (!is_stopped()) ::poll(nullptr, 0, 1);
  }
  static pid_t pid_of(const UniqueFd& process) {
    const auto info = RootedFs().read("/proc/self/fdinfo/" + std::to_string(process.get()), 4096);
    const auto at = info ? info->find("Pid:") : std::string::npos;
    return at == std::string::npos ? 0 : std::atoi(info->c_str() + at + 4);
  }
  // The state that the tree gives the reader: from its start on it runs, or waits for a CPU.
  void say(pid_t reader, char state) {
    tree_.write("/proc/" + std::to_string(reader) + "/stat",
                std::to_string(reader) + " (r) " + state +
                    " 1 0 0 0 0 0 0 0 0 0 0 0 0 0 20 0 1 0 1 1 1 1 1 1 1 1\n");
  }
  // A reader that is runnable and gets no CPU: it is stopped, and the tree says otherwise.
  void starve(pid_t reader) {
    stop(reader);
    say(reader, 'R');
  }

  TemporaryFolder tree_;
  const std::shared_ptr<Helper> helper_ =
      *Helper::start({"test-helper", [] { return Result<void>(); },
                      [this](const HelperRequest& request, const UniqueFd& file) {
                        auto reader = serve_reader_request(request, file, nullptr);
                        if (reader && *reader) say(pid_of(*reader), 'R');
                        return reader;
                      }});
  ReaderPool pool_;
  const UniqueFd library_{::open(TARGET_LIB, O_RDONLY)};
  const UniqueFd other_{::open(TARGET_IOC, O_RDONLY)};
};

TEST_F(ReaderPoolOfSlowReaders, OneThatTakesLongGoesOnWhileOthersAreRead) {
  ASSERT_TRUE(symbols(other_));  // so that there is one
  const pid_t reader = reader_named("ioc_exp-read");
  starve(reader);
  const auto is_put_off = [](const Result<elf::ElfSymbols>& found, const char* why) {
    EXPECT_EQ(error_of(found).find(why) != std::string::npos, true) << error_of(found);
    EXPECT_TRUE(!found && is_for_now(found.error()));
  };
  for (int i = 0; i < 3; ++i)
    is_put_off(symbols(library_), "it takes long, others are read meanwhile");
  is_put_off(symbols(other_), "another file of pid 4711 takes long");
  EXPECT_TRUE(pool_.symbols(kOwner + 1, library_.get(), "a file")) << "another process";
  ASSERT_EQ(::kill(reader, SIGCONT), 0);
  auto found = symbols(library_);
  for (int i = 0; i < 6000 && !found; ++i) {
    ::poll(nullptr, 0, 10);
    found = symbols(library_);
  }
  EXPECT_NE(value_of(found).find("dbProcess"), nullptr);
  EXPECT_EQ(pool_.sample().given_up, 0u);
}

TEST_F(ReaderPoolOfSlowReaders, AFewMayTakeLong) {
  constexpr pid_t kFew = ReaderPool::kMostLong;
  for (pid_t process = 1; process <= kFew + 1; ++process) {
    auto memory = value_of(pool_.memory(read_process_stat(RootedFs("/"), ::getpid())->id));
    const pid_t reader = reader_named("ioc_exp-read");
    ASSERT_GT(reader, 0);
    memory.reset();  // it is the idle one now
    starve(reader);
    const auto found = pool_.symbols(process, library_.get(), "a file");
    EXPECT_EQ(found.error().code, process <= kFew ? std::errc::resource_unavailable_try_again
                                                  : std::errc::stream_timeout)
        << found.error().message();
    ::kill(reader, SIGKILL);  // the last is gone: it was given up
    while (reader_named("ioc_exp-read") == reader) ::poll(nullptr, 0, 1);
  }
  EXPECT_EQ(pool_.sample().given_up, 1u);
}

TEST_F(ReaderPoolOfSlowReaders, OneThatSleepsIsGivenUp) {
  ASSERT_TRUE(symbols(other_));
  const pid_t reader = reader_named("ioc_exp-read");
  stop(reader);
  say(reader, 'T');
  const auto found = symbols(library_);
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message(), testing::HasSubstr("no answer within 1000 ms"));
  EXPECT_EQ(pool_.sample().given_up, 1u);
  EXPECT_EQ(pool_.sample().unwatched, 1u);
}

// A helper that is stopped, as by a debugger: nothing waits for it for ever, and no reader is left.
TEST_F(ReaderPoolOfSlowReaders, AStoppedHelperIsNotWaitedFor) {
  ASSERT_TRUE(symbols(other_));
  const pid_t reader = reader_named("ioc_exp-read");
  ASSERT_EQ(::kill(helper_->pid(), SIGSTOP), 0);
  EXPECT_TRUE(symbols(library_)) << "a reader that is there reads";
  const IocId own = read_process_stat(RootedFs("/"), ::getpid())->id;
  auto held = pool_.memory(own);
  ASSERT_TRUE(held) << held.error().message();
  const auto another = pool_.memory(own);
  ASSERT_FALSE(another);
  EXPECT_EQ(another.error().code, std::errc::timed_out) << another.error().message();
  stop(reader);
  say(reader, 'T');
  EXPECT_FALSE((*held)->value<pid_t>(reinterpret_cast<std::uintptr_t>(&reader)));
  EXPECT_EQ(pool_.sample().given_up, 1u);
  ASSERT_EQ(::kill(helper_->pid(), SIGCONT), 0);
  ASSERT_EQ(::kill(reader, SIGCONT), 0);
}

// Its reader cannot be killed: no other one is forked for the same process.
TEST(ReaderPool, AProcessWithAStuckReaderIsNotRead) {
  TemporaryFolder tree;
  constexpr std::uint32_t kKillAll = 1;
  const auto never_killed =
      *Helper::start({"test-helper", [] { return Result<void>(); },
                      [](const HelperRequest& request, const UniqueFd& file) -> Result<UniqueFd> {
                        static std::vector<UniqueFd> stopped;
                        const auto signal_to = [](const UniqueFd& process, int number) {
                          ::syscall(SYS_pidfd_send_signal, process.get(), number, nullptr, 0);
                        };
                        if (request.what == kKillAll)
                          for (const UniqueFd& process : stopped) signal_to(process, SIGKILL);
                        if (request.what != static_cast<std::uint32_t>(ReaderProcessRequest::fork))
                          return UniqueFd();
                        auto process = serve_reader_request(request, file, nullptr);
                        if (!process) return process;
                        signal_to(*process, SIGSTOP);
                        stopped.emplace_back(::fcntl(process->get(), F_DUPFD_CLOEXEC, 0));
                        return process;
                      }});
  ReaderPool pool{RootedFs(tree.path())};
  pool.use_helper(never_killed);
  const auto read = [&pool](pid_t pid) { return pool.text(pid, "/x", 1).error().message(); };
  EXPECT_THAT(read(1), testing::HasSubstr("no answer within"));
  std::string why = read(1);
  for (int i = 0; i < 6000 && why.find("not read for a while") != std::string::npos; ++i) {
    ::poll(nullptr, 0, 10);
    why = read(1);
  }
  EXPECT_THAT(why, testing::HasSubstr("never ends"));
  EXPECT_THAT(read(2), testing::HasSubstr("no answer within"));
  EXPECT_EQ(pool.sample().given_up, 2u);
  EXPECT_TRUE(never_killed->ask({.what = kKillAll}));
}

}  // namespace
}  // namespace ioc_exporter::iocs

// What readers do that others starve, with real ones.
#include "iocs/memory/reader_pool.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "iocs/find/process_stat.h"
#include "target_process.h"

namespace ioc_exporter::iocs {
namespace {

constexpr pid_t kOwner = 4711;
constexpr int kManyTimes = 2000;

// A child of a child of this process.
pid_t reader_named(std::string_view comm) {
  const RootedFs host("/");
  for (const pid_t pid : Folder::open(host, "/proc")->numbers()) {
    const auto stat = read_process_stat(host, pid);
    const auto parent = stat && stat->comm == comm ? read_process_stat(host, stat->parent)
                                                   : Result<ProcessStat>(error_in_words("none"));
    if (parent && parent->parent == ::getpid()) return pid;
  }
  return 0;
}

class ReaderPoolOfSlowReaders : public testing::Test {
 protected:
  ReaderPoolOfSlowReaders() : pool_(RootedFs(tree_.path()), *ReaderForker::start({})) {}

  Result<ElfSymbols> symbols(const UniqueFd& file) {
    return pool_.symbols(kOwner, file.get(), "a file");
  }
  // In as many looks as it takes.
  Result<ElfSymbols> symbols_at_last(const UniqueFd& file) {
    auto found = symbols(file);
    for (int i = 0; i < kManyTimes && !found && is_under_way(found.error()); ++i) {
      ::poll(nullptr, 0, 10);
      pool_.begin_look();
      found = symbols(file);
    }
    return found;
  }
  // As one that is runnable and gets no CPU: it is stopped, and what tells its state says
  // otherwise.
  void starve(pid_t reader) {
    ASSERT_GT(reader, 0);
    ASSERT_EQ(::kill(reader, SIGSTOP), 0);
    tree_.write(
        "/proc/" + std::to_string(reader) + "/stat",
        std::to_string(reader) + " (r) R 1 0 0 0 0 0 0 0 0 0 0 0 0 0 20 0 1 0 1 1 1 1 1 1 1 1\n");
  }

  TemporaryFolder tree_;
  ReaderPool pool_;
  const UniqueFd library_{::open(TARGET_LIB, O_RDONLY)};
  const UniqueFd other_{::open(TARGET_IOC, O_RDONLY)};
};

TEST_F(ReaderPoolOfSlowReaders, ALookWaitsForNoneOfThem) {
  ASSERT_TRUE(symbols(other_));  // so that there is one
  const pid_t reader = reader_named("ioc_exp-files");
  starve(reader);
  pool_.hurry();
  pool_.begin_look();
  for (int i = 0; i < 3; ++i) {
    const auto found = symbols(library_);
    ASSERT_FALSE(found);
    EXPECT_TRUE(is_under_way(found.error())) << found.error().message();
  }
  EXPECT_TRUE(symbols_at_last(other_)) << "another reader reads another file";
  EXPECT_TRUE(is_under_way(symbols(library_).error()));
  EXPECT_EQ(pool_.use().given_up, 0u);
  ASSERT_EQ(::kill(reader, SIGCONT), 0);
  const auto found = symbols_at_last(library_);
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_NE(found->find("dbProcess"), nullptr);
  EXPECT_EQ(pool_.use().given_up, 0u);
}

TEST_F(ReaderPoolOfSlowReaders, OneThatSleepsIsGivenUpByLooksThatDoNotWait) {
  ASSERT_TRUE(symbols(other_));
  const pid_t reader = reader_named("ioc_exp-files");
  ASSERT_GT(reader, 0);
  ASSERT_EQ(::kill(reader, SIGSTOP), 0);
  pool_.hurry();
  pool_.begin_look();
  const auto found = symbols_at_last(library_);
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message().find("no answer within 1000 ms"), std::string::npos)
      << found.error().message();
  EXPECT_EQ(pool_.use().given_up, 1u);
  EXPECT_EQ(pool_.use().left_alone, 1u);
}

}  // namespace
}  // namespace ioc_exporter::iocs

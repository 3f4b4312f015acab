// The finder on the host's /proc, with real processes: see target.c.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <iterator>
#include <thread>

#include "base/unique_fd.h"
#include "iocs/find/finder.h"
#include "iocs/memory/memory.h"
#include "support/value_of.h"
#include "target_process.h"

namespace ioc_exporter::iocs {
namespace {

using std::chrono::milliseconds;

class FinderOnHost : public testing::Test {
 protected:
  Changes poll() { return value_of(finder_.poll()); }
  // All changes until one of these is there. A file that takes long is read on after the look that
  // came to it, and on a busy host a look leaves processes to the next one.
  template <typename Condition>
  static Changes poll_until(Finder& finder, const Condition& is_there) {
    Changes all;
    for (int i = 0; i < 6000 && !is_there(all); ++i) {
      if (i != 0) std::this_thread::sleep_for(milliseconds(10));
      Changes changes = value_of(finder.poll());
      std::ranges::move(changes.started, std::back_inserter(all.started));
      std::ranges::move(changes.changed, std::back_inserter(all.changed));
      std::ranges::move(changes.ended, std::back_inserter(all.ended));
    }
    return all;
  }
  template <typename Condition>
  Changes poll_until(const Condition& is_there) {
    return poll_until(finder_, is_there);
  }
  static Changes poll_until_started(Finder& finder) {
    return poll_until(finder, [](const Changes& all) { return !all.started.empty(); });
  }
  Changes poll_until_ended() {
    return poll_until([](const Changes& all) { return !all.ended.empty(); });
  }
  Changes poll_until_listening() {
    return poll_until([](const Changes& all) {
      return !all.changed.empty() && !all.changed.back().listening.empty();
    });
  }
  Changes poll_until_started() { return poll_until_started(finder_); }

  Finder finder_{RootedFs("/"), only_ours()};
};

TEST_F(FinderOnHost, IocStartsListensAndIsKilled) {
  TargetProcess target(TARGET_IOC, named("a"));
  Changes changes = poll_until_started();
  const Ioc& ioc = only(changes.started);
  EXPECT_EQ(ioc.id.pid, target.pid());
  EXPECT_TRUE(ioc.own_net_namespace);
  EXPECT_NE(ioc.net_namespace, 0u);
  EXPECT_TRUE(ioc.listening.empty());
  EXPECT_NEAR(ioc.start_time_seconds, static_cast<double>(std::time(nullptr)), 3600);
  EXPECT_EQ(ioc.executable, std::filesystem::canonical(TARGET_IOC).string());
  ASSERT_TRUE(ioc.target);
  EXPECT_TRUE(std::filesystem::equivalent(ioc.target->file->attach_path(), TARGET_IOC));
  EXPECT_EQ(ioc.pdbbase.size(), 1u);
  EXPECT_EQ(ioc.ca_server_port.size(), 1u);

  const auto port = static_cast<std::uint16_t>(target.command("listen"));
  changes = poll_until_listening();
  ASSERT_FALSE(changes.changed.empty());
  EXPECT_EQ(changes.changed.back().listening,
            (std::vector{ListeningSocket{ipv4_address(127, 0, 0, 1), port}}));

  target.stop();
  changes = poll_until_ended();
  ASSERT_EQ(changes.ended.size(), 1u);
  EXPECT_TRUE(changes.changed.empty());
}

// pthread_exit() in main, as epicsThreadExitMain() does, while it is followed. What is kept open of
// it stays, and what is opened anew shows the same.
TEST_F(FinderOnHost, AnIocWhoseMainThreadEnds) {
  const RootedFs host("/");
  TargetProcess target(TARGET_IOC, named("headless"));
  Changes changes = poll_until_started();
  const Ioc before = only(changes.started);
  EXPECT_FALSE(before.main_thread_ended);
  const std::uint64_t address = before.variables.at("nPeriodic").at(0).address;
  auto opened_before = value_of(ProcMemory::open(host, before.id));

  target.command("end_main");
  changes = poll_until([](const Changes& all) { return !all.changed.empty(); });
  EXPECT_TRUE(changes.ended.empty());
  EXPECT_TRUE(changes.started.empty());
  ASSERT_EQ(changes.changed.size(), 1u);
  EXPECT_TRUE(changes.changed[0].main_thread_ended);
  EXPECT_TRUE(poll().empty());
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(value_of(opened_before->value<int>(address)), 7);
  }
  auto opened_now = value_of(ProcMemory::open(host, before.id));
  auto value = opened_now->value<int>(address);
  ASSERT_TRUE(value) << value.error().message();
  EXPECT_EQ(*value, 7);

  target.command("end_main");  // and so does the thread that has obeyed since
  // A look that comes while the thread goes may have less of what is read through it.
  for (int i = 0; i < 2; ++i) {
    const Changes while_it_goes = poll();
    EXPECT_TRUE(while_it_goes.ended.empty() && while_it_goes.started.empty());
  }
  value = opened_now->value<int>(address);
  ASSERT_TRUE(value) << value.error().message();
  EXPECT_EQ(*value, 7);

  // Another one finds it as it is.
  Finder later(RootedFs("/"), only_ours());
  Ioc alike = only(poll_until_started(later).started);
  ASSERT_TRUE(alike.target);
  alike.target->file = changes.changed[0].target->file;  // which each has opened for itself
  EXPECT_TRUE(alike == changes.changed[0]);

  const auto port = static_cast<std::uint16_t>(target.command("listen"));
  changes = poll_until_listening();
  ASSERT_FALSE(changes.changed.empty());
  EXPECT_EQ(only(changes.changed.back().listening).port, port);
  ASSERT_EQ(target.command(std::string("load ") + TARGET_LIB), 1);
  changes = poll_until([](const Changes& all) {
    return !all.changed.empty() && all.changed.back().pdbbase.size() == 2;
  });
  EXPECT_FALSE(changes.changed.empty());

  target.stop();
  EXPECT_EQ(poll_until_ended().ended.size(), 1u);
  EXPECT_FALSE(opened_now->value<int>(address));
}

TEST_F(FinderOnHost, FunctionsAndVariablesThatAreLocalToTheirSourceFiles) {
  TargetProcess target(TARGET_IOC, named("local"));
  const Ioc& ioc = only(poll_until_started().started);
  ASSERT_TRUE(ioc.target);
  std::vector<std::string> functions;
  for (const auto& [name, range] : ioc.target->functions) {
    functions.push_back(name);
    EXPECT_GT(range.file_offset, 0u) << name;
    EXPECT_GT(range.size, 0u) << name;
  }
  EXPECT_EQ(functions, (std::vector<std::string>{"dbProcess", "dbPut", "scanList"}));

  ASSERT_EQ(ioc.variables.size(), 1u);
  const std::vector<VariablePlace>& places = ioc.variables.at("nPeriodic");
  EXPECT_EQ(only(places).size, sizeof(int));
  const std::string path = "/proc/" + std::to_string(target.pid()) + "/mem";
  const UniqueFd memory(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  int value = 0;
  ASSERT_EQ(::pread(memory.get(), &value, sizeof value, static_cast<off_t>(only(places).address)),
            static_cast<ssize_t>(sizeof value));
  EXPECT_EQ(value, 7);
}

TEST_F(FinderOnHost, FileDeletedUnderTheIoc) {
  TemporaryFolder folder;
  const std::string copy = folder.path("/my ioc");
  std::filesystem::copy_file(TARGET_IOC, copy);
  TargetProcess target(copy, named("deleted"));
  std::filesystem::remove(copy);
  std::filesystem::copy_file(TARGET_PLAIN, copy);  // an upgrade puts another file there
  const Changes changes = ::geteuid() != 0 ? poll() : poll_until_started();
  if (::geteuid() != 0 && changes.started.empty())
    GTEST_SKIP() << "map_files needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE";
  ASSERT_EQ(changes.started.size(), 1u);
  ASSERT_TRUE(changes.started[0].target);
  EXPECT_TRUE(changes.started[0].target->deleted);
  EXPECT_EQ(changes.started[0].target->display_path,
            std::filesystem::canonical(folder.path()).string() + "/my ioc");
  EXPECT_EQ(changes.started[0].executable, changes.started[0].target->display_path);
  const std::string kept = changes.started[0].target->file->attach_path();
  EXPECT_EQ(::access(kept.c_str(), R_OK), 0) << kept;
  EXPECT_FALSE(std::filesystem::equivalent(kept, copy));
}

TEST_F(FinderOnHost, StrippedIocIsToldByItsThreadsWithAProblem) {
  TargetProcess target(TARGET_STRIPPED, named("stripped"));
  EXPECT_TRUE(poll().started.empty());
  target.command("threads");
  const Ioc& ioc = only(poll_until_started().started);
  EXPECT_FALSE(ioc.target);
  EXPECT_EQ(ioc.problem, "find dbProcess in " + ioc.executable + " (pid " +
                             std::to_string(target.pid()) +
                             "): no symbol table, the file is stripped");
  EXPECT_TRUE(ioc.variables.empty()) << "it has no local symbols";
  EXPECT_EQ(ioc.base_version, "3.15.9");
}

TEST_F(FinderOnHost, ForkOfAnIocIsNone) {
  TargetProcess target(TARGET_IOC, named("fork"));
  target.command("fork");
  EXPECT_EQ(only(poll_until_started().started).id.pid, target.pid());
}

TEST_F(FinderOnHost, ProcessesThatEndMeanwhileAreNoErrors) {
  for (int i = 0; i < 20; ++i) {
    TargetProcess target(TARGET_IOC, named("short"));
    std::thread killer([&] {
      std::this_thread::sleep_for(milliseconds(i / 2));
      target.stop();
    });
    poll();
    killer.join();
    (void)poll_until([&](const Changes&) { return finder_.iocs().empty(); });
    EXPECT_TRUE(finder_.iocs().empty());
  }
}

}  // namespace
}  // namespace ioc_exporter::iocs

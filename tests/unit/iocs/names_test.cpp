// Names of IOCs: found, registered, expected.
#include <gmock/gmock.h>

#include <cerrno>

#include "iocs/find/ioc_name.h"
#include "iocs/find/name_registry.h"
#include "iocs/find/start_script.h"
#include "iocs/find/supervisor.h"
#include "iocs/iocs_command.h"
#include "iocs/options.h"
#include "support/value_of.h"
#include "target_process.h"

namespace ioc_exporter::iocs {
namespace {

using namespace std::string_literals;

TEST(StartScript, NameFromItsPath) {
  EXPECT_EQ(name_from_script("/epics/ps/iocBoot/iocPS1/st.cmd"), "iocPS1");
  EXPECT_EQ(name_from_script("/epics/ps/iocBoot/iocPS1/st.cmd.linux"), "iocPS1");
  EXPECT_EQ(name_from_script("/epics/vac1/iocBoot/st.cmd"), "vac1");
  EXPECT_EQ(name_from_script("/home/op/magnets.py"), "magnets");
  EXPECT_EQ(name_from_script("/opt/ioc-rf/bin/start.sh"), "ioc-rf");
  EXPECT_EQ(name_from_script("/opt/venv/bin/my-ioc"), "my-ioc");
  EXPECT_EQ(name_from_script("/x/rf.v2.cmd"), "rf.v2");
  EXPECT_EQ(name_from_script("/st.cmd"), "");
  EXPECT_EQ(name_from_script("/home/ioc/app/src/main.py"), "");
}

TEST(ProcServ, NameOfItsChild) {
  const auto name = [](std::vector<std::string> options) {
    options.insert(options.begin(), "procServ");
    options.insert(options.end(), {"4051", "./softIoc", "-n", "no", "st.cmd"});
    return procserv_name(options);
  };
  EXPECT_EQ(name({"-n", "vacuum"}), "vacuum");
  EXPECT_EQ(name({"-nvacuum"}), "vacuum");
  EXPECT_EQ(name({"-fqn", "vacuum"}), "vacuum");
  EXPECT_EQ(name({"--name=Vacuum 1"}), "Vacuum 1");
  EXPECT_EQ(name({"--name", "vacuum"}), "vacuum");
  EXPECT_EQ(
      name({"-c", "-n", "--holdoff", "-n", "-P", "4052", "-L-", "--logstamp", "-n", "vacuum"}),
      "vacuum");
  EXPECT_EQ(name({"-i", "^D^C", "--coresize=9", "--noautorestart", "-n", "vacuum"}), "vacuum");
  EXPECT_EQ(name({}), "");
  EXPECT_EQ(name({"--"}), "") << "what follows is the child's";
  EXPECT_EQ(name({"-in"}), "") << "it ignores n";
  EXPECT_EQ(procserv_name({"procServ", "-n"}), "");
  EXPECT_EQ(procserv_name({"procServ", "--name"}), "");
}

class NameOfAProcess : public testing::Test {
 protected:
  NameOfAProcess() { folder_.link("/proc/7/root", "../.."); }

  void started_as(const std::string& command, const std::string& environment,
                  const std::string& cwd) {
    folder_.write("/proc/7/cmdline", command);
    folder_.write("/proc/7/environ", environment);
    folder_.link("/proc/7/cwd", cwd);
  }
  std::string name(const std::string& executable) {
    const RootedFs fs(folder_.path());
    ProcessReader reader(fs);
    return *ioc_name(fs, reader, 7, 7, executable, default_name_sources());
  }

  TemporaryFolder folder_;
};

TEST_F(NameOfAProcess, ProcServTellsWhenNothingBetterDoes) {
  const auto process = [&](int pid, const std::string& comm, int parent) {
    folder_.write("/proc/" + std::to_string(pid) + "/stat",
                  std::to_string(pid) + " (" + comm + ") S " + std::to_string(parent) +
                      " 0 0 0 0 0 0 0 0 0 1 1 0 0 20 0 1 0 " + std::to_string(100 + pid) +
                      " 1 1 1 1 1 1\n");
  };
  const auto supervisor = [&] { return find_supervisor(RootedFs(folder_.path()), 7, 7); };
  started_as("softIoc\0"s, "", "/");
  process(7, "softIoc", 6);
  process(6, "sh", 5);
  process(5, "procServ", 1);
  process(1, "systemd", 0);
  folder_.write("/proc/5/cmdline", "procServ\0-n\0vacuum\0004051\0./run.sh\0"s);
  folder_.write("/proc/7/cgroup", "0::/system.slice/vacuum.service\n");
  EXPECT_EQ(name("/usr/bin/softIoc"), "vacuum");
  EXPECT_EQ(supervisor(), (Supervisor{"procServ", {5, 105}}));
  started_as("softIoc\0"s, "IOC=itself\0"s, "/");
  EXPECT_EQ(name("/usr/bin/softIoc"), "itself");
  process(5, "bash", 1);
  EXPECT_EQ(supervisor(), Supervisor()) << "a shell in a service";
  process(6, "sh", 1);
  EXPECT_EQ(supervisor(), (Supervisor{"systemd", {}}));
  folder_.write("/proc/7/cgroup", "0::/user.slice/user-1000.slice/session-3.scope\n");
  EXPECT_EQ(supervisor(), Supervisor());
  folder_.write("/proc/7/cgroup", "0::/docker/" + std::string(64, 'a') + "\n");
  const auto session = [&](const std::string& ids) {
    folder_.write("/proc/7/status",
                  "Name:\tsoftIoc\nNSpid:\t7\t12\nNSsid:\t" + ids + "\nVmPeak:\t1\n");
  };
  EXPECT_EQ(supervisor(), Supervisor()) << "it has ended";
  session("4\t1");
  EXPECT_EQ(supervisor(), (Supervisor{"container", {}}));
  session("2\t4\t1");
  EXPECT_EQ(supervisor(), (Supervisor{"container", {}})) << "a container in a container";
  for (const char* ids : {"6\t11", "6\t0", "1", "21"}) {
    session(ids);
    EXPECT_EQ(supervisor(), Supervisor()) << "docker exec, --pid=host: " << ids;
  }
}

TEST_F(NameOfAProcess, EnvironmentFirstInItsOrder) {
  started_as("softIoc\0"s, "XIOC=no\0IOC=three\0IOC_NAME=two\0IOCNAME=one\0"s, "/");
  EXPECT_EQ(name("/usr/bin/softIoc"), "one");
  started_as("softIoc\0"s, "IOC=three\0IOC_NAME=two\0IOCNAME=\0"s, "/");
  EXPECT_EQ(name("/usr/bin/softIoc"), "two") << "an empty one says nothing";
  started_as("softIoc\0"s, "IOC=bad\n\xFFname\0"s, "/");
  EXPECT_EQ(name("/usr/bin/softIoc"), "bad__name");
  started_as("softIoc\0"s, "IOC=" + std::string(1000, 'x'), "/");
  EXPECT_EQ(name("/usr/bin/softIoc").size(), 128u);
}

TEST_F(NameOfAProcess, StartScriptRelativeToWhereItWasStarted) {
  folder_.write("/top/iocBoot/iocPS1/st.cmd", "");
  // The script went to its top folder, as st.cmd of makeBaseApp does.
  started_as("../../bin/linux-x86_64/ps\0./st.cmd\0"s, "PWD=/top/iocBoot/iocPS1\0"s, "/top");
  EXPECT_EQ(name("/top/bin/linux-x86_64/ps"), "iocPS1");
  started_as("ps\0iocBoot/iocPS1/st.cmd\0"s, "PWD=/elsewhere\0"s, "/top");
  EXPECT_EQ(name("/top/bin/linux-x86_64/ps"), "iocPS1");
  started_as("ps\0/top/iocBoot/../iocBoot/iocPS1/st.cmd\0"s, "", "/");
  EXPECT_EQ(name("/top/bin/linux-x86_64/ps"), "iocPS1");
}

TEST_F(NameOfAProcess, InterpretersTakeAnyFileOthersOnlyScriptsAndDatabases) {
  folder_.write("/opt/magnets", "");
  folder_.write("/opt/vac.db", "");
  folder_.write("/opt/settings.conf", "");
  started_as("python\0-u\0/opt/magnets\0/opt/vac.db\0"s, "", "/");
  EXPECT_EQ(name("/usr/bin/python3.11"), "magnets");
  started_as("softIoc\0-D\0/opt/settings.conf\0-d\0/opt/vac.db\0"s, "", "/");
  EXPECT_EQ(name("/usr/bin/softIoc"), "vac");
  started_as("driver\0/opt/settings.conf\0missing.cmd\0"s, "", "/");
  EXPECT_EQ(name("/opt/bin/driver"), "driver");
  started_as("python\0-m\0mylab.rfioc\0"s, "", "/");
  EXPECT_EQ(name("/usr/bin/python3.11"), "mylab.rfioc");
}

TEST_F(NameOfAProcess, FallsBackToTheExecutable) {
  EXPECT_EQ(name("/opt/bin/rf"), "rf") << "nothing can be read";
  EXPECT_EQ(name("/"), "ioc");
  const std::string executable = "/opt/bin/rf";
  const RootedFs fs(folder_.path());
  ProcessReader reader(fs);
  EXPECT_EQ(*ioc_name(fs, reader, 7, 7, executable, {}), "rf");
}

// A name that is only a guess would stay for as long as the process lives.
TEST_F(NameOfAProcess, NoneWhileItCannotBeRead) {
  started_as("softIoc\0"s, "IOC=three\0"s, "/");
  class Later : public ProcessReader {
   public:
    using ProcessReader::ProcessReader;
    Result<std::string> text(pid_t, const std::string& path, std::size_t) override {
      return error_from_errno(error, "read " + path);
    }
    int error = ETIME;
  };
  const RootedFs fs(folder_.path());
  Later reader(fs);
  EXPECT_EQ(error_of(ioc_name(fs, reader, 7, 7, "/usr/bin/softIoc", default_name_sources())),
            "read /proc/7/environ: Timer expired");
  reader.error = EACCES;
  EXPECT_EQ(*ioc_name(fs, reader, 7, 7, "/usr/bin/softIoc", default_name_sources()), "softIoc");
}

TEST(NameSource, Words) {
  EXPECT_EQ(parse_name_source("env:HOST_IOC")->variable, "HOST_IOC");
  EXPECT_EQ(parse_name_source("exe")->kind, NameSource::Kind::executable);
  EXPECT_EQ(parse_name_source("script")->kind, NameSource::Kind::script);
  for (const char* word : {"env:HOST_IOC", "exe", "script", "container", "pod"})
    EXPECT_EQ(parse_name_source(word)->text(), word);
  EXPECT_EQ(error_of(parse_name_source("env:")),
            "\"env:\" is none of env:VARIABLE, script, procserv, exe, container and pod");
}

class Names : public testing::Test {
 protected:
  std::string take(const std::string& name, pid_t pid, const std::string& user = "alice") {
    taken_ = names_.take(name, claim(pid, user));
    return taken_.name;
  }
  static NameClaim claim(pid_t pid, const std::string& user) {
    return {{pid, 1}, static_cast<uid_t>(user.front()), user};
  }
  void release(const std::string& name) { names_.release(name); }

  NameRegistry names_;
  NameRegistry::Name taken_;
};

TEST_F(Names, HolderKeepsItAndALaterOneGetsItsPid) {
  EXPECT_EQ(take("ps", 7), "ps");
  EXPECT_EQ(taken_.contested_with, "");
  EXPECT_EQ(take("ps", 8), "ps-8");
  EXPECT_EQ(taken_.contested_with, "alice") << "two of one user";
  EXPECT_EQ(take("ps", 9), "ps-9");
  release("ps");
  EXPECT_EQ(take("ps", 10), "ps");
  EXPECT_EQ(taken_.contested_with, "");
  release("ps-8");
  EXPECT_EQ(take("ps", 8), "ps-8");
}

TEST_F(Names, NamesThatLookLikeUniqueOnes) {
  EXPECT_EQ(take("ps-8", 7), "ps-8");
  EXPECT_EQ(take("ps", 3), "ps");
  EXPECT_EQ(take("ps", 8), "ps-8-8");
  EXPECT_EQ(take("ps-mallory", 4), "ps-mallory");
  EXPECT_EQ(take("ps", 9, "mallory"), "ps-mallory-9");
}

TEST_F(Names, AnotherUserIsToldApartByHisName) {
  EXPECT_EQ(take("ps", 7), "ps");
  EXPECT_EQ(take("ps", 8, "mallory"), "ps-mallory");
  EXPECT_EQ(taken_.contested_with, "alice");
  EXPECT_EQ(take("ps", 9, "mallory"), "ps-mallory-9");
  release("ps");  // while an IOC restarts its name is its user's
  EXPECT_EQ(take("ps", 10, "mallory"), "ps-mallory-10");
  EXPECT_EQ(taken_.contested_with, "alice");
  EXPECT_EQ(take("ps", 11), "ps");
  EXPECT_EQ(taken_.contested_with, "");
}

// A dead IOC's name is not had by another user, to make it look alive.
TEST_F(Names, AReservedNameIsItsUsersOnly) {
  names_.reserve({{"ps", claim(0, "alice")}});
  EXPECT_EQ(take("ps", 8, "mallory"), "ps-mallory");
  EXPECT_EQ(taken_.contested_with, "alice");
  release("ps-mallory");
  EXPECT_EQ(take("ps", 9, "mallory"), "ps-mallory");
  EXPECT_EQ(take("ps", 7), "ps");
  EXPECT_EQ(taken_.contested_with, "");
  release("ps");
  names_.reserve({});
  EXPECT_EQ(take("ps", 10, "mallory"), "ps") << "it was forgotten";
}

// The IOCs that a site expects, and the list of those that run.

TEST(Expected, NamesOfOptionAndFile) {
  TemporaryFolder folder;
  folder.write("/expected", "# of this beam line\n ps  # power supplies\n\nvac\r\nother-1\nps\n");
  ExpectedOptions options{{"rf", "vac"}, folder.path("/expected"), *Pattern::compile("[pv].*")};
  EXPECT_EQ(value_of(read_expected(options)), (std::vector<std::string>{"ps", "rf", "vac"}));
  folder.write("/expected", "\xEF\xBB\xBFps\r\n");  // as Windows' editors write it
  EXPECT_EQ(value_of(read_expected(options)), (std::vector<std::string>{"ps", "rf", "vac"}));
  folder.write("/expected", "ps\na\x01z\n");
  EXPECT_NE(read_expected(options).error().message().find("line 2"), std::string::npos);
  options.file = folder.path("/none");
  EXPECT_FALSE(read_expected(options));
}

TEST(IocList, IsTheSectionOfAFileOrNames) {
  const IocList list = {{"vac", "epics", true, 1.5, "", true},
                        {"a \"b\"", "epics", true, 1.5, "", true},
                        {"gone", "epics", false, 0, "", false},
                        {"ps-eve", "eve", true, 0, "epics", false}};
  const std::string text = value_of(expected_text(list, "", false, 2));
  EXPECT_THAT(text,
              ::testing::MatchesRegex(
                  "# IOCs that run, .*\niocs:\n  expected:\n    - \"a .\"b.\"\"  # of user "
                  "epics, runs since .*\n# left out: ps-eve of user eve, which takes a name of "
                  "epics\n    - \"vac\"  # of user epics, runs since .*\n"));
  EXPECT_EQ(value_of(expected_text(list, "epics", true, 2)), "a \"b\"\nvac\n");
  EXPECT_EQ(expected_text(list, "ada", true, 2).error().message(), "no IOC runs as ada");
}

}  // namespace
}  // namespace ioc_exporter::iocs

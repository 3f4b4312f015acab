#include "iocs/find/ioc_name.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "iocs/find/start_script.h"
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
  const auto later = ioc_name(fs, reader, 7, 7, "/usr/bin/softIoc", default_name_sources());
  ASSERT_FALSE(later);
  EXPECT_EQ(later.error().message(), "read /proc/7/environ: Timer expired");
  reader.error = EACCES;
  EXPECT_EQ(*ioc_name(fs, reader, 7, 7, "/usr/bin/softIoc", default_name_sources()), "softIoc");
}

TEST(NameSource, Words) {
  EXPECT_EQ(parse_name_source("env:HOST_IOC")->variable, "HOST_IOC");
  EXPECT_EQ(parse_name_source("exe")->kind, NameSource::Kind::executable);
  EXPECT_EQ(parse_name_source("script")->kind, NameSource::Kind::script);
  for (const char* word : {"env:HOST_IOC", "exe", "script", "container", "pod"})
    EXPECT_EQ(parse_name_source(word)->text(), word);
  const auto bad = parse_name_source("env:");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message(),
            "\"env:\" is none of env:VARIABLE, script, exe, container and pod");
}

}  // namespace
}  // namespace ioc_exporter::iocs

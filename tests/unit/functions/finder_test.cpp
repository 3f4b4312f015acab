// Files with described functions in the mappings of an IOC, which here is a text.
#include "functions/finder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <sstream>
#include <string>

#include "support/temporary_folder.h"
#include "support/value_of.h"

namespace ioc_exporter::functions {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Files by the address where they are mapped.
class MappedFiles : public iocs::ProcessReader {
 public:
  MappedFiles() : ProcessReader(RootedFs("/")) {}
  void map(std::uint64_t at, const std::string& path, const std::string& file) {
    std::ostringstream range;
    range << std::hex << at << "-" << at + 0x10000;
    maps += range.str() + " r-xp 00000000 fe:00 " + std::to_string(at) + "    " + path + "\n";
    files["/proc/8/map_files/" + range.str()] = file;
  }
  Result<std::string> text(pid_t, const std::string&, std::size_t) override { return maps; }
  Result<std::vector<iocs::FileStatus>> statuses(pid_t,
                                                 std::span<const std::string> paths) override {
    std::vector<iocs::FileStatus> all;
    for (const std::string& path : paths) {
      struct stat status {};
      all.push_back(::stat(files[path].c_str(), &status) == 0 ? iocs::FileStatus(status)
                                                              : std::nullopt);
    }
    return all;
  }
  Result<UniqueFd> open(pid_t, const std::string& path) override {
    ++opened;
    return UniqueFd(::open(files[path].c_str(), O_RDONLY | O_CLOEXEC));
  }
  Result<elf::FoundFunctions> functions(pid_t pid, int fd, const std::string& path,
                                        std::span<const elf::FunctionWish> wishes) override {
    if (path.ends_with("/hangs.so"))
      return Error{std::make_error_code(std::errc::stream_timeout), "read " + path};
    return ProcessReader::functions(pid, fd, path, wishes);
  }
  std::string maps;
  std::map<std::string, std::string> files;
  int opened = 0;
};

class Finder : public ::testing::Test {
 protected:
  FunctionsFound look(const std::string& descriptions,
                      const std::vector<PointerSeen>& pointers = {}) {
    auto all = std::make_shared<const Descriptions>(
        value_of(parse_functions("functions:\n" + descriptions, "test.yml")));
    return value_of(FunctionFinder(reader, all).find({8, 1}, pointers));
  }
  std::shared_ptr<MappedFiles> reader = std::make_shared<MappedFiles>();
};

TEST(CommonLibrary, IsOneThatProgramsShareWhichAreNoIocs) {
  for (const char* path :
       {"/lib64/ld-linux-x86-64.so.2", "/lib/x86_64-linux-gnu/libc.so.6", "/lib/libc-2.28.so",
        "/usr/lib/libstdc++.so.6.0.30", "/usr/lib/libgcc_s.so.1", "/usr/lib/libm.so.6",
        "/opt/epics/base/lib/linux-x86_64/libCom.so.3.22.0", "/opt/e/lib/libdbCore.so",
        "/opt/e/lib/libca.so.4.14.2", "/py/epicscorelibs/lib/libdbCore.so.7.0.7.99.1"})
    EXPECT_TRUE(is_common_library(path)) << path;
  for (const char* path :
       {"/opt/asyn/lib/libasyn.so", "/opt/ioc/bin/myioc", "/opt/lib/libcalc.so",
        "/opt/libmodbus.so", "/opt/lib/libcaPutLog.so", "/opt/lib/libdbCoreExtra.so", "libc.so.6"})
    EXPECT_FALSE(is_common_library(path)) << path;
}

TEST_F(Finder, APointerLeadsIntoNoCommonLibrary) {
  reader->map(0x10000, "/lib/x86_64-linux-gnu/libc.so.6", TEST_DRIVER);
  const std::string text =
      "  - {name: submit, file: '.*', symbol: driver_submit}\n"
      "  - {name: process, file: '.*', symbol: {pointer: '[arg0+32]', of: submit}}";
  const FunctionsFound found = look(text, {{0x11000, 1}, {0x90000, 1}});
  EXPECT_THAT(found.files, SizeIs(1));  // by the symbol
  EXPECT_THAT(found.problems,
              ::testing::ElementsAre(
                  "process: 0x11000 is in /lib/x86_64-linux-gnu/libc.so.6, which other programs "
                  "use, too",
                  "process: 0x90000 is no code of a file that is asked for"));
}

TEST_F(Finder, AFileThatCannotBeReadTakesNoFunctionsOfOthers) {
  reader->map(0x10000, "/opt/hangs.so", TEST_DRIVER);
  reader->map(0x30000, "/opt/there.so", TEST_DRIVER);
  reader->map(0x50000, "/opt/gone.so", "/no/such/file");
  const FunctionsFound found = look("  - {name: sum, file: '.*', symbol: driver_sum}");
  ASSERT_THAT(found.files, SizeIs(1));
  EXPECT_EQ(found.files[0].file->path, "/opt/there.so");
  ASSERT_THAT(found.unread, SizeIs(2));
  EXPECT_EQ(found.unread[0].mapped.path, "/opt/hangs.so");
  EXPECT_EQ(found.unread[0].names, "sum");
  EXPECT_THAT(found.unread[0].problem, HasSubstr("read /opt/hangs.so"));
  EXPECT_EQ(found.unread[1].mapped.path, "/opt/gone.so");
}

TEST_F(Finder, ManyCopiesOfALibraryAreNotAllLookedAt) {
  for (std::uint64_t i = 1; i <= 300; ++i)
    reader->map(i << 20, "/tmp/" + std::to_string(i) + "/libtest_driver.so", TEST_DRIVER);
  for (const auto& [symbol, most] : {std::pair("driver_sum", FunctionFinder::kMostFilesOfIoc),
                                     {"driver_add", FunctionFinder::kMostSearched}}) {
    SCOPED_TRACE(symbol);  // the second is in none of them
    const FunctionsFound found =
        look("  - {name: sum, file: '.*', symbol: " + std::string(symbol) + "}");
    EXPECT_THAT(found.files, SizeIs(most));
    EXPECT_EQ(found.files_over, 300 - most);
    EXPECT_THAT(found.unread, IsEmpty());
  }
}

TEST_F(Finder, FilesThatStayOpenAreBounded) {
  const TemporaryFolder folder;
  const auto map_copies = [&](int first, int count) {
    reader->maps.clear();
    for (int i = first; i < first + count; ++i) {
      const std::string copy = folder.path() + "/" + std::to_string(i) + ".so";
      std::filesystem::copy_file(TEST_DRIVER, copy,
                                 std::filesystem::copy_options::overwrite_existing);
      // Else it is the same file, mounted twice.
      std::filesystem::last_write_time(
          copy, std::filesystem::file_time_type(std::chrono::seconds(1'000'000 + i)));
      reader->map(static_cast<std::uint64_t>(i + 1) << 20, "/lib/" + std::to_string(i) + ".so",
                  copy);
    }
  };
  auto all = std::make_shared<const Descriptions>(value_of(
      parse_functions("functions:\n  - {name: sum, file: '.*', symbol: driver_sum}", "test.yml")));
  FunctionFinder finder(reader, all, nullptr, 16);
  map_copies(0, 20);
  auto many = value_of(finder.find({8, 1}, {}));
  EXPECT_THAT(many.files, SizeIs(16));
  EXPECT_EQ(many.files_over, 4u);
  EXPECT_THAT(many.unread.at(0).problem, HasSubstr("there are too many files"));
  many = {};  // they have ended
  map_copies(30, 5);
  EXPECT_THAT(value_of(finder.find({8, 1}, {})).files, SizeIs(5));
}

// The kernel puts a probe into each mapping, one after the other.
TEST_F(Finder, AFileThatAnIocMapsVeryOftenIsNotProbed) {
  reader->map(1 << 20, "/tmp/1/libtest_driver.so", TEST_DRIVER);
  const std::string data =
      "r--p 00001000 fe:00 " + std::to_string(1 << 20) + "    /tmp/1/libtest_driver.so\n";
  for (int i = 0; i < 63; ++i) reader->maps += "200000-201000 " + data;
  EXPECT_THAT(look("  - {name: sum, file: '.*', symbol: driver_sum}").files, SizeIs(1));
  reader->maps += "200000-201000 " + data;
  const FunctionsFound found = look("  - {name: sum, file: '.*', symbol: driver_sum}");
  EXPECT_THAT(found.files, IsEmpty());
  ASSERT_THAT(found.unread, SizeIs(1));
  EXPECT_EQ(found.unread[0].problem, "mapped more than 64 times");
}

}  // namespace
}  // namespace ioc_exporter::functions

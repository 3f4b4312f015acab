#include "elf/rsrv_functions.h"

#include <elf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "base/rooted_fs.h"
#include "base/unique_fd.h"
#include "elf/elf_symbols.h"
#include "support/value_of.h"

namespace ioc_exporter::elf {
namespace {

const std::vector<std::string> kNames{"pCaBucket",    "clientQ",
                                      "write_action", "write_notify_action",
                                      "send_err",     "write_notify_done_callback"};

UniqueFd open_file(const std::string& path) {
  return UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

ElfSymbols symbols_of(const std::string& path) {
  const UniqueFd fd = open_file(path);
  return value_of(ElfSymbols::read(fd.get(), path, kNames));
}

std::string content_of(const std::string& path) {
  return value_of(RootedFs().read(path));
}

UniqueFd file_of(const std::string& bytes) {
  UniqueFd fd(::memfd_create("elf", MFD_CLOEXEC));
  EXPECT_EQ(::write(fd.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  return fd;
}

// The functions of `stripped` are those that `named` names.
void expect_same(const std::string& named, const std::string& stripped) {
  const ElfSymbols names = symbols_of(named), found = symbols_of(stripped);
  const UniqueFd fd = open_file(stripped);
  for (const std::string& name : kNames) {
    const ElfSymbol* const right = names.find(name);
    const ElfSymbol* const symbol = found.find(name);
    ASSERT_NE(right, nullptr) << name;
    ASSERT_NE(symbol, nullptr) << name << " in " << stripped;
    EXPECT_EQ(symbol->value, right->value) << name;
    EXPECT_EQ(symbol->file_offset, right->file_offset) << name;
    EXPECT_EQ(symbol->function, right->function) << name;
    if (!right->function) continue;
    EXPECT_TRUE(is_rsrv_function(fd.get(), *symbol->file_offset)) << name;
    EXPECT_FALSE(is_rsrv_function(fd.get(), *symbol->file_offset + 1)) << name;
  }
}

TEST(RsrvFunctions, AStrippedLibraryIsReadByItsTableOfCommands) {
  expect_same(RSRV_NAMED, RSRV_STRIPPED);
  EXPECT_TRUE(symbols_of(RSRV_STRIPPED).stripped());
}

TEST(RsrvFunctions, RealLibrariesGiveTheSameAfterStrip) {
  const std::filesystem::path bases(TEST_BASES);
  if (!std::filesystem::exists(bases)) GTEST_SKIP() << "needs the libraries of EPICS Base";
  if (std::system("strip --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "needs strip";
  int libraries = 0;
  for (const auto& base : std::filesystem::directory_iterator(bases))
    for (const auto& file :
         std::filesystem::directory_iterator(base.path() / "epicscorelibs/lib")) {
      const std::string name = file.path().filename();
      if (!name.starts_with("libdbCore.so.")) continue;
      const std::string stripped = ::testing::TempDir() + "stripped." + name;
      const std::string command =
          "strip --strip-unneeded -o " + stripped + " " + file.path().string();
      ASSERT_EQ(std::system(command.c_str()), 0);
      expect_same(file.path(), stripped);
      std::filesystem::remove(stripped);
      ++libraries;
    }
  EXPECT_GE(libraries, 2);
}

TEST(RsrvFunctions, TwoTablesAreNone) {
  const UniqueFd fd = open_file(RSRV_TWO_TABLES);
  EXPECT_FALSE(find_rsrv_functions(fd.get()));
  EXPECT_EQ(symbols_of(RSRV_TWO_TABLES).find("write_action"), nullptr);
}

TEST(RsrvFunctions, AFileWithoutATableHasNone) {
  for (const char* const path : {TARGET_LIB, TARGET_IOC, "/dev/null", "/proc/self/exe"}) {
    const UniqueFd fd = open_file(path);
    EXPECT_FALSE(find_rsrv_functions(fd.get())) << path;
  }
}

TEST(RsrvFunctions, CutAndDamagedFilesNeverCrash) {
  const std::string whole = content_of(RSRV_STRIPPED);
  for (std::size_t size = 0; size < whole.size(); size += 97)
    find_rsrv_functions(file_of(whole.substr(0, size)).get());
  std::uint32_t random = 12345;
  const auto next = [&] { return random = random * 1664525u + 1013904223u; };
  std::size_t none = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = whole;
    for (int i = 0; i < 4; ++i) bytes[next() % 700] = static_cast<char>(next() >> 16);
    if (!find_rsrv_functions(file_of(bytes).get())) ++none;
  }
  EXPECT_GT(none, 100u);
}

// Program headers of a few KiB that tell of more than anybody wants to read.
TEST(RsrvFunctions, SegmentsInAHugeHoleAreNotReadToTheEnd) {
  constexpr std::uint64_t kHole = 1ull << 40;
  Elf64_Ehdr header{};
  std::memcpy(&header, content_of(RSRV_STRIPPED).data(), sizeof header);
  header.e_phoff = sizeof header;
  header.e_phnum = 3;
  Elf64_Phdr segments[3]{};
  segments[0] = {PT_LOAD, PF_R | PF_X, 0, 0, 0, kHole, kHole, 4096};
  segments[1] = {PT_LOAD, PF_R | PF_W, 0, kHole, kHole, kHole, kHole, 4096};
  segments[2] = {PT_DYNAMIC, PF_R | PF_W, 0, 0, 0, kHole, kHole, 8};
  const UniqueFd fd(::memfd_create("elf", MFD_CLOEXEC));
  ASSERT_EQ(::pwrite(fd.get(), &header, sizeof header, 0), static_cast<ssize_t>(sizeof header));
  ASSERT_EQ(::pwrite(fd.get(), segments, sizeof segments, sizeof header),
            static_cast<ssize_t>(sizeof segments));
  ASSERT_EQ(::ftruncate(fd.get(), kHole), 0);
  EXPECT_FALSE(find_rsrv_functions(fd.get()));
}

}  // namespace
}  // namespace ioc_exporter::elf

#include "elf/elf_symbols.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <link.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

#include "base/rooted_fs.h"
#include "base/unique_fd.h"
#include "support/value_of.h"

extern "C" __attribute__((noinline, used)) int iocx_test_function(int value) {
  return value + 1;
}

namespace ioc_exporter::elf {
namespace {

constexpr std::array kNames{"dbProcess", "iocx_test_function"};
constexpr std::array kOthers{"dbProcess", "iocx_test_func"};

// In the file of this program.
std::uint64_t offset_of_function() {
  const UniqueFd own(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  const std::vector<std::string> wanted{kNames[1]};
  const auto symbols = value_of(ElfSymbols::read(own.get(), "itself", wanted));
  return symbols.find(kNames[1])->file_offset.value();
}

bool is_at(int fd, std::uint64_t offset) {
  return size_of_function_at(fd, offset, kNames).ok();
}

UniqueFd copy_of(const std::string& bytes) {
  std::string name = testing::TempDir() + "function_symbol.XXXXXX";
  UniqueFd fd(::mkstemp(name.data()));
  ::unlink(name.c_str());
  EXPECT_EQ(::pwrite(fd.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  return fd;
}

TEST(FunctionSymbol, OnlyTheFirstByteOfANamedFunction) {
  const UniqueFd own(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  const std::uint64_t offset = offset_of_function();
  EXPECT_TRUE(is_at(own.get(), offset));
  for (const std::uint64_t other : {offset + 1, offset - 1, std::uint64_t{0}, ~std::uint64_t{0}})
    EXPECT_FALSE(is_at(own.get(), other)) << other;
  EXPECT_FALSE(size_of_function_at(own.get(), offset, kOthers));
}

// libc is mapped by all processes, root's too.
TEST(FunctionSymbol, NowhereInLibc) {
  std::string path;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        if (std::string(info->dlpi_name).find("libc.so") != std::string::npos)
          *static_cast<std::string*>(data) = info->dlpi_name;
        return 0;
      },
      &path);
  const UniqueFd libc(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(libc) << path;
  for (std::uint64_t offset = 0; offset < (1u << 20); offset += 4093)
    EXPECT_FALSE(is_at(libc.get(), offset));
}

TEST(FunctionSymbol, FilesThatAreNotElfAreErrors) {
  int pipe[2];
  ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
  const UniqueFd out(pipe[0]), in(pipe[1]), text(::open("/etc/passwd", O_RDONLY | O_CLOEXEC)),
      folder(::open("/", O_RDONLY | O_CLOEXEC));
  for (const int fd : {out.get(), text.get(), folder.get(), -1}) EXPECT_FALSE(is_at(fd, 64));
}

// Cut off anywhere, and with any byte of its headers changed: an answer, and never a wrong place.
TEST(FunctionSymbol, AFileThatLies) {
  const auto whole = value_of(RootedFs().read("/proc/self/exe"));
  const std::uint64_t offset = offset_of_function();
  for (std::size_t size = 0; size < 4096; size += 61)
    EXPECT_FALSE(is_at(copy_of(whole.substr(0, size)).get(), offset));
  const UniqueFd copy = copy_of(whole);
  for (off_t at = 0; at < 64; ++at) {
    const char good = whole[static_cast<std::size_t>(at)], bad = static_cast<char>(good ^ 0xff);
    ASSERT_EQ(::pwrite(copy.get(), &bad, 1, at), 1);
    EXPECT_FALSE(is_at(copy.get(), offset + 1)) << at;
    ASSERT_EQ(::pwrite(copy.get(), &good, 1, at), 1);
  }
  EXPECT_TRUE(is_at(copy.get(), offset));
}

}  // namespace
}  // namespace ioc_exporter::elf

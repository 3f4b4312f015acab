#include "iocs/file_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "target_process.h"

namespace ioc_exporter::iocs {
namespace {

constexpr pid_t kAny = 1;
ProcessReader reader{RootedFs("/")};

TEST(FileCache, ReadsAFileOnceWhateverItsPath) {
  TemporaryFolder folder;
  folder.link("/other.so", TARGET_LIB);
  FileCache cache(reader);
  const auto first = cache.look(kAny, TARGET_LIB);
  const auto second = cache.look(kAny, folder.path("/other.so"));
  ASSERT_TRUE(first);
  ASSERT_TRUE(second);
  EXPECT_EQ(first->get(), second->get());
  EXPECT_EQ(cache.files_read(), 1u);
  ASSERT_TRUE((*first)->elf);
  EXPECT_NE((*first)->elf->find("dbProcess"), nullptr);
  EXPECT_EQ(cache.base_version(kAny, TARGET_LIB, **first), "7.0.8.1");
}

TEST(FileCache, NegativeVerdictsAreKeptAndAChangedFileIsReadAgain) {
  TemporaryFolder folder;
  folder.write("/text", "no library");
  FileCache cache(reader);
  for (int i = 0; i < 3; ++i) {
    const auto facts = cache.look(kAny, folder.path("/text"));
    ASSERT_TRUE(facts);
    EXPECT_FALSE((*facts)->elf);
    EXPECT_FALSE((*facts)->retry);
    EXPECT_NE((*facts)->problem.find("not an ELF file"), std::string::npos);
  }
  EXPECT_EQ(cache.files_read(), 1u);
  std::filesystem::copy_file(TARGET_LIB, folder.path("/text"),
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_TRUE((*cache.look(kAny, folder.path("/text")))->elf);
  EXPECT_EQ(cache.files_read(), 2u);
}

TEST(FileCache, NeverOpensWhatIsNoRegularFile) {
  TemporaryFolder folder;
  ASSERT_EQ(::mkfifo(folder.path("/fifo").c_str(), 0600), 0);
  FileCache cache(reader);
  const auto facts = cache.look(kAny, folder.path("/fifo"));
  ASSERT_TRUE(facts);
  EXPECT_EQ((*facts)->problem, "not a regular file");
  EXPECT_EQ(cache.files_read(), 0u);
  EXPECT_FALSE(cache.look(kAny, folder.path("/missing")));
}

TEST(FileCache, IsBoundedAndForgetsTheOldestFirst) {
  TemporaryFolder folder;
  FileCache cache(reader, 8);
  folder.write("/kept", "kept");
  for (int i = 0; i < 40; ++i) {
    const std::string name = "/f" + std::to_string(i);
    folder.write(name, name);
    ASSERT_TRUE(cache.look(kAny, folder.path(name)));
    ASSERT_TRUE(cache.look(kAny, folder.path("/kept")));
  }
  EXPECT_EQ(cache.files_read(), 41u) << "the one that is in use stays";
  ASSERT_TRUE(cache.look(kAny, folder.path("/f0")));
  EXPECT_EQ(cache.files_read(), 42u) << "the oldest went";
}

}  // namespace
}  // namespace ioc_exporter::iocs

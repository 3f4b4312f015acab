#include "iocs/elf/file_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <vector>

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
  FileCache cache(reader, {.capacity = 8});
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

// A user with many libraries of his own.
TEST(FileCache, OneUsersOpenFilesTakeNoDescriptorsFromOthers) {
  constexpr pid_t kAnna = 1001, kBen = 1002;
  TemporaryFolder folder;
  FileCache cache(reader,
                  {.most_open = 32, .user_of = [](pid_t pid) { return static_cast<uid_t>(pid); }});
  std::vector<std::shared_ptr<const CodeFile>> used;
  const auto library = [&](const std::string& name) {
    std::filesystem::copy_file(TARGET_LIB, folder.path(name));
    return folder.path(name);
  };
  const auto opens = [&](pid_t pid, const std::string& path) {
    const auto facts = cache.look(pid, path);
    EXPECT_TRUE(facts);
    if ((*facts)->code) used.push_back((*facts)->code);
    return (*facts)->code != nullptr;
  };
  for (int round = 0; round < 2; ++round) {
    const std::string number = std::to_string(round) + ".so";
    int annas = 0;
    for (int i = 0; i < 40; ++i) annas += opens(kAnna, library("/a" + std::to_string(i) + number));
    EXPECT_EQ(annas, 16);
    const std::string shared = library("/shared" + number);
    EXPECT_FALSE(opens(kAnna, shared));
    EXPECT_TRUE(opens(kBen, shared)) << "what one is refused another gets";
    EXPECT_TRUE(opens(kAnna, shared)) << "it is open";
    EXPECT_TRUE(opens(kBen, library("/b" + number)));
    used.clear();
    cache.close_unused();
  }
}

}  // namespace
}  // namespace ioc_exporter::iocs

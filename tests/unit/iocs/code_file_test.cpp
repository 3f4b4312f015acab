// Files with code, and the cache of what was found in them.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "elf/code_file.h"
#include "iocs/find/file_cache.h"
#include "support/value_of.h"
#include "target_process.h"

namespace ioc_exporter::iocs {
namespace {

class CodeFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::copy_file(TARGET_LIB, path_);
    facts_ = look();
    ASSERT_TRUE(facts_->code);
    process_ = *facts_->elf->find("dbProcess")->file_offset;
  }
  std::shared_ptr<const FileFacts> look() { return value_of(cache_.facts_of(::getpid(), path_)); }
  void write(std::uint64_t at, char byte) const {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(at)).put(byte);
  }
  std::string refusal(std::uint64_t offset) const {
    return error_of(facts_->code->may_probe(offset));
  }

  TemporaryFolder folder_;
  std::string path_ = folder_.path("/library.so");
  ProcessReader reader_{RootedFs("/")};
  FileCache cache_{reader_};
  std::shared_ptr<const FileFacts> facts_;
  std::uint64_t process_ = 0;
};

TEST_F(CodeFileTest, OnlyTheFirstByteOfAFunctionMayBeProbed) {
  EXPECT_EQ(refusal(process_), "");
  for (const std::uint64_t offset : {process_ + 1, process_ - 1, std::uint64_t{0}})
    EXPECT_NE(refusal(offset).find("names no function that begins at"), std::string::npos);
}

TEST_F(CodeFileTest, StaysTheSameWhenAnotherFileTakesItsName) {
  std::filesystem::remove(path_);
  std::filesystem::copy_file(TARGET_PLAIN, path_);
  EXPECT_EQ(refusal(process_), "");
  EXPECT_FALSE(std::filesystem::equivalent(facts_->code->attach_path(), path_));
  EXPECT_FALSE(look()->code) << "the new one has no dbProcess";
}

TEST_F(CodeFileTest, AFileRewrittenInPlaceIsRefusedEvenWithItsOldTimes) {
  struct stat status;
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  write(process_, '\x0f');
  const timespec times[] = {status.st_atim, status.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, path_.c_str(), times, 0), 0);
  EXPECT_NE(refusal(process_).find("the file was changed since"), std::string::npos);
  EXPECT_NE(look(), facts_) << "who maps it now is judged by what is in it now";
}

TEST_F(CodeFileTest, AFileWrittenThroughAMappingIsRefused) {
  const UniqueFd fd(::open(path_.c_str(), O_RDWR | O_CLOEXEC));
  const std::size_t size = facts_->code->id().size;
  void* const at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  ASSERT_NE(at, MAP_FAILED);
  static_cast<char*>(at)[process_] ^= 1;
  EXPECT_NE(refusal(process_).find("the file was changed since"), std::string::npos);
  static_cast<char*>(at)[process_] ^= 1;
  ::munmap(at, size);
  EXPECT_EQ(refusal(process_), "") << "its content is as it was";
}

TEST_F(CodeFileTest, ACutFileIsRefused) {
  std::filesystem::resize_file(path_, facts_->code->id().size - 1);
  EXPECT_NE(refusal(process_), "");
  std::filesystem::resize_file(path_, 0);
  EXPECT_NE(refusal(process_), "");
}

TEST_F(CodeFileTest, ATouchAndALostNameDoNotMatter) {
  std::filesystem::last_write_time(path_, std::filesystem::file_time_type::clock::now());
  ASSERT_EQ(::chmod(path_.c_str(), 0711), 0);
  EXPECT_EQ(refusal(process_), "");
  std::filesystem::remove(path_);
  EXPECT_EQ(refusal(process_), "");
}

TEST_F(CodeFileTest, ACopyResemblesItAndAnotherFileDoesNot) {
  std::filesystem::copy_file(path_, folder_.path("/copy.so"));
  std::filesystem::last_write_time(folder_.path("/copy.so"),
                                   std::filesystem::last_write_time(path_));
  const auto copy = cache_.facts_of(::getpid(), folder_.path("/copy.so"));
  const auto other = cache_.facts_of(::getpid(), TARGET_IOC);
  ASSERT_TRUE(copy && (*copy)->code && other && (*other)->code);
  EXPECT_TRUE((*copy)->code->resembles(*facts_->code));
  EXPECT_FALSE((*other)->code->resembles(*facts_->code));
}

TEST_F(CodeFileTest, IsClosedWhenNobodyKnowsItAnyMore) {
  auto target = facts_->code;
  const std::weak_ptr<const elf::CodeFile> code = target;
  facts_.reset();
  cache_.close_unused();
  EXPECT_EQ(look()->code, target);
  EXPECT_EQ(cache_.files_read(), 1u);
  target.reset();
  cache_.close_unused();
  EXPECT_TRUE(code.expired());
  EXPECT_TRUE(look()->code);
  EXPECT_EQ(cache_.files_read(), 2u);
}

constexpr pid_t kAny = 1;
ProcessReader reader{RootedFs("/")};

TEST(FileCache, ReadsAFileOnceWhateverItsPath) {
  TemporaryFolder folder;
  folder.link("/other.so", TARGET_LIB);
  FileCache cache(reader);
  const auto first = cache.facts_of(kAny, TARGET_LIB);
  const auto second = cache.facts_of(kAny, folder.path("/other.so"));
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
    const auto facts = value_of(cache.facts_of(kAny, folder.path("/text")));
    EXPECT_FALSE(facts->elf);
    EXPECT_FALSE(facts->retry);
    EXPECT_NE(facts->problem.find("not an ELF file"), std::string::npos);
  }
  EXPECT_EQ(cache.files_read(), 1u);
  std::filesystem::copy_file(TARGET_LIB, folder.path("/text"),
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_TRUE((*cache.facts_of(kAny, folder.path("/text")))->elf);
  EXPECT_EQ(cache.files_read(), 2u);
}

TEST(FileCache, OpensRegularFilesOnly) {
  TemporaryFolder folder;
  ASSERT_EQ(::mkfifo(folder.path("/fifo").c_str(), 0600), 0);
  FileCache cache(reader);
  EXPECT_EQ(value_of(cache.facts_of(kAny, folder.path("/fifo")))->problem, "not a regular file");
  EXPECT_EQ(cache.files_read(), 0u);
  EXPECT_FALSE(cache.facts_of(kAny, folder.path("/missing")));
}

TEST(FileCache, IsBoundedAndForgetsTheOldestFirst) {
  TemporaryFolder folder;
  FileCache cache(reader, {.capacity = 8});
  folder.write("/kept", "kept");
  for (int i = 0; i < 40; ++i) {
    const std::string name = "/f" + std::to_string(i);
    folder.write(name, name);
    ASSERT_TRUE(cache.facts_of(kAny, folder.path(name)));
    ASSERT_TRUE(cache.facts_of(kAny, folder.path("/kept")));
  }
  EXPECT_EQ(cache.files_read(), 41u) << "the one that is in use stays";
  ASSERT_TRUE(cache.facts_of(kAny, folder.path("/f0")));
  EXPECT_EQ(cache.files_read(), 42u) << "the oldest went";
}

TEST(FileCache, FilesThatStayOpenAreBounded) {
  TemporaryFolder folder;
  FileCache cache(reader, {.most_open = 16});
  std::vector<std::shared_ptr<const elf::CodeFile>> used;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 20; ++i) {
      const std::string name = std::to_string(round) + "." + std::to_string(i) + ".so";
      std::filesystem::copy_file(TARGET_LIB, folder.path(name));
      const auto facts = cache.facts_of(kAny, folder.path(name));
      ASSERT_TRUE(facts);
      if ((*facts)->code) used.push_back((*facts)->code);
    }
    EXPECT_EQ(used.size(), 16u);
    used.clear();
    cache.close_unused();
  }
}

}  // namespace
}  // namespace ioc_exporter::iocs

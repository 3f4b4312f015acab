// Probes that a helper process attaches: it does what it is asked, and only that.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "fake_ioc.h"
#include "records/probe/process.h"
#include "support/value_of.h"

namespace ioc_exporter::records {
namespace {

using test::FakeIoc;

class AttachHelperTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to load BPF programs";
    process_.emplace(value_of(RecordProcess::start({})));
    auto helper = Helper::start({"ioc_exp-attach", [] { return Result<void>(); },
                                 [this](const HelperRequest& request, const UniqueFd& file) {
                                   return process_->attacher().serve(request, file);
                                 }});
    ASSERT_TRUE(helper) << helper.error().message();
    helper_ = *helper;
    process_->attacher().use_helper(helper_);
  }
  std::string why_not(const RecordTarget& target) { return error_of(process_->watch(target)); }
  // Whoever asks says that a function begins there.
  static std::shared_ptr<const elf::CodeFile> claiming(std::uint64_t offset,
                                                       const std::string& path) {
    return value_of(elf::CodeFile::open(UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), path,
                                        {{offset, 16}}));
  }
  std::optional<RecordProcess> process_;
  std::shared_ptr<Helper> helper_;
};

// A breakpoint in the middle of an instruction, in a file that other processes map too, would be a
// way to change what they do.
TEST_F(AttachHelperTest, AttachesWhereAFunctionThatIsMeantBeginsAndNowhereElse) {
  FakeIoc ioc;
  const RecordTarget good = ioc.target(128, true);
  for (const std::uint64_t offset : {good.offset + 1, good.offset - 1, std::uint64_t{64}}) {
    RecordTarget bad = good;
    bad.code = claiming(offset, good.path);
    bad.offset = offset;
    EXPECT_NE(why_not(bad).find("the file's symbols name no function there"), std::string::npos);
  }
  RecordTarget other = good;
  other.code = claiming(other.offset, "/bin/sh");
  other.ending = nullptr;
  EXPECT_NE(why_not(other).find("the file's symbols name no function there"), std::string::npos);
  EXPECT_TRUE(process_->watch(good));
}

TEST_F(AttachHelperTest, TakesNoOtherRequest) {
  for (const HelperRequest request :
       {HelperRequest{.what = 77, .pid = -1}, HelperRequest{.number = 77, .pid = -1},
        HelperRequest{.pid = 0}, HelperRequest{.pid = -7}, HelperRequest{.pid = -1}})
    EXPECT_FALSE(helper_->ask(request));
}

// Whoever asks says where a function begins; where it ends the helper finds out by itself.
TEST_F(AttachHelperTest, AttachesWhereAFunctionThatIsMeantEndsAndNowhereElse) {
  constexpr std::uint32_t kAtEnd = 1;
  FakeIoc ioc;
  const RecordTarget good = ioc.target(128, true);
  const auto ask = [&](std::uint64_t offset, std::uint64_t function, RecordProgram program,
                       std::uint64_t cold = 0) {
    HelperRequest request{.what = kAtEnd,
                          .number = static_cast<std::uint32_t>(program),
                          .pid = ioc.pid(),
                          .offset = offset};
    request.more[0] = function;
    request.more[1] = cold;
    return helper_->ask(request, good.code->fd()).ok();
  };
  std::vector<std::uint64_t> ends, taken;
  for (const elf::FunctionEnd& end : good.ending->ends()) ends.push_back(end.offset);
  ASSERT_GE(ends.size(), 2u);
  const std::uint64_t size = good.ending->parts()[0].size;
  for (std::uint64_t offset = good.offset - 16; offset < good.offset + size + 16; ++offset)
    if (ask(offset, good.offset, RecordProgram::process)) taken.push_back(offset);
  EXPECT_EQ(taken, ends);
  EXPECT_FALSE(ask(ends[0], good.offset + 1, RecordProgram::process)) << "no function begins there";
  EXPECT_FALSE(ask(ends[0], good.offset, RecordProgram::scan_list)) << "it has another name";
  EXPECT_FALSE(ask(ends[0], FakeIoc::offset_of("scanList"), RecordProgram::process));
  EXPECT_FALSE(ask(ends[0], good.offset, RecordProgram::process, FakeIoc::offset_of("scanList")))
      << "that is no part of it";
  EXPECT_FALSE(ask(ends[0], good.offset, RecordProgram::put)) << "its end tells nothing";
}

// Code that was changed after it was looked at: the places were right once.
TEST_F(AttachHelperTest, AFileThatWasChangedIsRefusedByBoth) {
  const std::string copy = testing::TempDir() + "fake_ioc." + std::to_string(::getpid());
  std::filesystem::copy_file(FAKE_IOC, copy, std::filesystem::copy_options::overwrite_existing);
  FakeIoc ioc;  // of the file that is left alone: one that runs cannot be written
  RecordTarget target = ioc.target(128, true);
  target.path = copy;
  auto code = elf::CodeFile::open(UniqueFd(::open(copy.c_str(), O_RDONLY | O_CLOEXEC)), copy,
                                  {{target.offset, 16}});
  ASSERT_TRUE(code);
  target.code = *code;
  const elf::FunctionEnd last = target.ending->ends().back();
  const UniqueFd file(::open(copy.c_str(), O_RDWR | O_CLOEXEC));
  const char other = '\x90';  // shorter than what was there
  ASSERT_EQ(::pwrite(file.get(), &other, 1, static_cast<off_t>(last.offset)), 1);
  EXPECT_NE(why_not(target).find("the file was changed since the ends"), std::string::npos);

  HelperRequest request{.what = 1, .pid = ioc.pid(), .offset = last.offset};
  request.more[0] = target.offset;
  EXPECT_FALSE(helper_->ask(request, file.get()));
  std::filesystem::remove(copy);
}

}  // namespace
}  // namespace ioc_exporter::records

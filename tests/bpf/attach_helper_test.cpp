// Probes that a helper process attaches: it does what it is asked, and only that.
#include <gtest/gtest.h>
#include <unistd.h>

#include "fake_ioc.h"
#include "records/process.h"

namespace ioc_exporter::records {
namespace {

using test::FakeIoc;

class AttachHelperTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to load BPF programs";
    auto process = RecordProcess::start({.session = GetParam()});
    ASSERT_TRUE(process) << process.error().message();
    process_.emplace(std::move(*process));
    auto helper = Helper::start({"ioc_exp-attach", [] { return Result<void>(); },
                                 [this](const HelperRequest& request, const UniqueFd& file) {
                                   return process_->serve(request, file);
                                 }});
    ASSERT_TRUE(helper) << helper.error().message();
    helper_ = *helper;
    process_->use_helper(helper_);
  }
  std::uint64_t processed(std::uint32_t slot) const {
    std::uint64_t sum = 0;
    const auto records = process_->collect(slot);
    EXPECT_TRUE(records);
    for (const RawRecord& record : *records) sum += record.stats.processed;
    return sum;
  }
  std::string why_not(const RecordTarget& target) {
    const auto slot = process_->watch(target);
    EXPECT_FALSE(slot);
    return slot ? "" : slot.error().message();
  }
  // Whoever asks says that a function begins there.
  static std::shared_ptr<const iocs::CodeFile> claiming(std::uint64_t offset,
                                                        const std::string& path) {
    auto code = iocs::CodeFile::open(UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), path,
                                     {{offset, 16}});
    EXPECT_TRUE(code);
    return *code;
  }
  std::optional<RecordProcess> process_;
  std::shared_ptr<Helper> helper_;
};

TEST_P(AttachHelperTest, CountsExactlyAndDetaches) {
  FakeIoc ioc;
  const auto slot = process_->watch(ioc.target(128, true));
  ASSERT_TRUE(slot) << slot.error().message();
  ioc.ask("call 1 23");
  EXPECT_EQ(processed(*slot), 23u);
  ASSERT_TRUE(process_->pause(*slot));
  ioc.ask("call 1 5");
  EXPECT_EQ(processed(*slot), 23u);
  ASSERT_TRUE(process_->resume(*slot));
  ioc.ask("call 1 19");
  EXPECT_EQ(processed(*slot), 42u);
  process_->unwatch(*slot);
  EXPECT_EQ(process_->use()->attachments, 0u);
}

// A breakpoint in the middle of an instruction, in a file that other processes map too, would be a
// way to change what they do.
TEST_P(AttachHelperTest, AttachesWhereAFunctionThatIsMeantBeginsAndNowhereElse) {
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
  EXPECT_NE(why_not(other).find("the file's symbols name no function there"), std::string::npos);
  EXPECT_TRUE(process_->watch(good));
}

TEST_P(AttachHelperTest, TakesNoOtherRequest) {
  for (const HelperRequest request :
       {HelperRequest{.what = 77, .pid = -1}, HelperRequest{.number = 77, .pid = -1},
        HelperRequest{.pid = 0}, HelperRequest{.pid = -7}, HelperRequest{.pid = -1}})
    EXPECT_FALSE(helper_->ask(request));
}

INSTANTIATE_TEST_SUITE_P(Modes, AttachHelperTest, ::testing::Bool());

}  // namespace
}  // namespace ioc_exporter::records
